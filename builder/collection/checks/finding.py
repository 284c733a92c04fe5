"""What a check is and what it finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from builder.collection.read import Collection

Severity = Literal["error", "warning"]


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
        fix: What to do about a finding.
        find: From a collection, `(where, message, count, examples)` for each defect.
    """

    id: str
    title: str
    severity: Severity
    fix: str
    find: Callable[[Collection], Iterable[tuple[str, str, int, tuple[str, ...]]]]

    def run(self, collection: Collection) -> list[Finding]:
        """All findings of this check."""
        return [
            Finding(self.id, self.severity, where, message, count, examples, self.fix)
            for where, message, count, examples in self.find(collection)
        ]
