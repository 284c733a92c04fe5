"""The checks of `longeval validate`, in the order in which they run.

A check is a function from an opened collection to findings. Each finding carries the id of its
check; ids are never reused. `LB0xx` are about files, `LB1xx` about tables, `LB2xx` about texts.
"""

from builder.collection.checks import files, references, tables
from builder.collection.checks.finding import Check, Finding

CHECKS: tuple[Check, ...] = (*files.CHECKS, *tables.CHECKS, *references.CHECKS)

__all__ = ["CHECKS", "Check", "Finding"]
