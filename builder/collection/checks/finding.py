"""Defines `Check`, a validation check, and `Finding`, a defect that a check found."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from builder.collection.checks.context import ValidationContext
from builder.collection.files import describe_unreadable_file

Severity = Literal["error", "warning"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning")
Defect = tuple[str, str, int, tuple[str, ...]] | tuple[str, str, int, tuple[str, ...], str]
"""File or table, message, number of affected rows or files, examples and, if it differs from the
`fix` of the check, how to correct the defect."""


@dataclass(frozen=True)
class Finding:
    """Defect that a check found in a collection.

    Args:
        check: Id of the check, such as `LB101`.
        severity: `error` makes the collection invalid, `warning` does not.
        where: File or table, relative to the version folder.
        message: Description of the defect.
        count: Number of affected rows or files.
        examples: The first affected rows or files.
        fix: How to correct the defect.
        version: Path of the version folder.
    """

    check: str
    severity: Severity
    where: str
    message: str
    count: int
    examples: tuple[str, ...]
    fix: str
    version: str = ""


@dataclass(frozen=True)
class Check:
    """Validation check for one condition that a collection must satisfy.

    Args:
        id: Unique id, never reused.
        title: Condition that a valid collection satisfies.
        severity: Default severity of findings.
        why: Defect in a published collection that motivated the check.
        fix: How to correct the defect.
        find: Function that takes the validation context and yields defects.
    """

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    find: Callable[[ValidationContext], Iterable[Defect]]

    def run(self, context: ValidationContext, severity: Severity | None = None) -> list[Finding]:
        """Run the check and return its findings, by default with the severity of the check.

        The check stops at the first file that it has no permission to read, and reports that file.
        """
        version = str(context.collection.path)
        return [
            Finding(
                self.id,
                severity or self.severity,
                where,
                message,
                count,
                examples,
                fix[0] if fix else self.fix,
                version,
            )
            for where, message, count, examples, *fix in self._find_defects(context)
        ]

    def _find_defects(self, context: ValidationContext) -> Iterator[Defect]:
        try:
            yield from self.find(context)
        except PermissionError as error:
            where = os.path.relpath(str(error.filename), context.collection.path)
            message, fix = describe_unreadable_file(error)
            yield where, message, 1, (), fix
