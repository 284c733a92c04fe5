"""The checks of `longeval validate`, in the order in which they run.

A check is a function from what was read of a collection to findings. Each finding carries the id
of its check; ids are never reused. `LB0xx` are about files, `LB1xx` about tables and what they
refer to, `LB2xx` about the defects that published collections had.
"""

from builder.collection.checks import defects, files, references, releases, tables
from builder.collection.checks.finding import Check, Finding, Severity
from builder.collection.checks.reading import Reading

CHECKS: tuple[Check, ...] = (
    *files.CHECKS,
    *tables.CHECKS,
    *references.CHECKS,
    *releases.CHECKS,
    *defects.CHECKS,
)

__all__ = ["CHECKS", "Check", "Finding", "Reading", "Severity"]
