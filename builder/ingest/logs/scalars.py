"""Parses integers and click flags in the notations of query logs, such as `1.0` or `true`."""

import math
from typing import Any

from builder.ingest.rejects import RejectError

CLICKED = frozenset({"true", "yes", "t", "y"})
NOT_CLICKED = frozenset(
    {"", "false", "no", "f", "n", "null", "none", "nan", "na", "-", "\\n"}  # `\n`: NULL of MySQL
)
MAX_DIGITS = 18


def parse_integer(value: Any) -> int | None:
    """Convert a value such as 3, 3.0, "3" or "3.0" to an integer.

    Return None for other values, including Booleans.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return _parse_integer_text(value.strip())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _parse_integer_text(text: str) -> int | None:
    """Parse a non-negative integer such as `3` or `3.0`; None if the text is anything else."""
    digits, _, fraction = text.partition(".")
    if len(digits) > MAX_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) if not fraction.strip("0") else None


def parse_click_order(value: Any) -> float:
    """Convert the `clicked` value of a result to its position in click order; 0 if not clicked.

    A flag such as `true` is converted to 1. A number is returned unchanged, even if it is a click
    count instead of a position.

    Raises:
        RejectError: the value is neither a non-negative number nor a known flag.
    """
    if value is None or isinstance(value, bool):
        return float(bool(value))
    text = str(value).strip().lower()
    if text in NOT_CLICKED:
        return 0.0
    if text in CLICKED:
        return 1.0
    try:
        order = float(text)
    except ValueError:
        order = math.nan
    if not 0 <= order < math.inf:
        raise RejectError("bad_clicks")
    return order
