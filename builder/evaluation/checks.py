"""Checks of parameter values, which raise `UsageError`."""

from collections.abc import Collection

from builder.errors import UsageError


def require(condition: bool, expected: str, actual: object) -> None:
    """Raise an error with the expected and the actual value if a condition is false.

    Raises:
        UsageError: The condition is false.
    """
    if not condition:
        raise UsageError(f"expected {expected}, found {actual!r}")


def require_one_of(name: str, value: object, choices: Collection[object]) -> None:
    """Raise an error if a parameter does not have one of the allowed values.

    Raises:
        UsageError: The value is not one of `choices`.
    """
    require(value in choices, f"{name} to be one of {', '.join(map(str, choices))}", value)
