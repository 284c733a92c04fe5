"""What a check is and what it finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from builder.collection.checks.reading import Reading

Severity = Literal["error", "warning"]
Found = tuple[str, str, int, tuple[str, ...]]
"""Where, message, count, examples."""


@dataclass(frozen=True)
class Finding:
    """One defect.

    Args:
        check: Id of the check, such as `LB101`.
        severity: Whether it makes the collection invalid.
        where: File or table, relative to the version folder.
        message: What was expected and what was found.
        count: How many rows or files it concerns.
        examples: The first of them.
        fix: What to do.
    """

    check: str
    severity: Severity
    where: str
    message: str
    count: int
    examples: tuple[str, ...]
    fix: str


@dataclass(frozen=True)
class Check:
    """One check.

    Args:
        id: Id, never reused.
        title: What it makes sure of, in a few words.
        severity: Severity of its findings.
        why: What went wrong where it did not hold.
        fix: What to do about a finding.
        find: From what was read of a collection, the defects.
    """

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    find: Callable[[Reading], Iterable[Found]]

    def run(self, reading: Reading, severity: Severity | None = None) -> list[Finding]:
        """All findings of this check, of its own severity or another."""
        return [
            Finding(self.id, severity or self.severity, where, message, count, examples, self.fix)
            for where, message, count, examples in self.find(reading)
        ]
