"""All checks of `longeval validate`, ordered by id.

A check takes the `ValidationContext` of a collection and yields defects. Check ids are never
reused: `LB0xx` checks files, `LB1xx` checks tables and their references, `LB2xx` checks for
defects that were found in published collections.
"""

from builder.collection.checks import (
    contents,
    defects,
    derived,
    descriptions,
    exports,
    files,
    labels,
    references,
    releases,
    splits,
    tables,
)
from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Finding, Severity

_CHECK_MODULES = (
    files,
    tables,
    references,
    splits,
    derived,
    descriptions,
    exports,
    releases,
    defects,
    labels,
    contents,
)
CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (check for module in _CHECK_MODULES for check in module.CHECKS), key=lambda check: check.id
    )
)

__all__ = ["CHECKS", "Check", "Finding", "Severity", "ValidationContext"]
