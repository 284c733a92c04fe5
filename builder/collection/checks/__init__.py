"""The checks of `longeval validate`, in the order in which they run.

A check is a function from what was read of a collection to findings. Each finding carries the id
of its check; ids are never reused. `LB0xx` are about files, `LB1xx` about tables and what they
refer to, `LB2xx` about the defects that published collections had.
"""

from builder.collection.checks import (
    contents,
    defects,
    files,
    labels,
    references,
    releases,
    tables,
)
from builder.collection.checks.finding import Check, Finding, Severity
from builder.collection.checks.reading import Reading

_ROOMS = (files, tables, references, releases, defects, labels, contents)
CHECKS: tuple[Check, ...] = tuple(
    sorted((check for room in _ROOMS for check in room.CHECKS), key=lambda check: check.id)
)

__all__ = ["CHECKS", "Check", "Finding", "Reading", "Severity"]
