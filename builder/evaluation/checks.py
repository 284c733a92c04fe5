"""Checks of parameters: what holds, or an error that says what was expected."""

from collections.abc import Collection

from builder.errors import UsageError


def require(holds: bool, expected: str, found: object) -> None:
    """Refuse a parameter.

    Raises:
        UsageError: `holds` is false.
    """
    if not holds:
        raise UsageError(f"expected {expected}, found {found!r}")


def require_one_of(name: str, found: object, choices: Collection[object]) -> None:
    """Refuse a parameter that is none of its choices.

    Raises:
        UsageError: `found` is not among `choices`.
    """
    require(found in choices, f"{name} to be one of {', '.join(map(str, choices))}", found)
