"""How logs spell numbers and flags: `1`, `1.0`, `"1"`, `true`, or the order of the click."""

import math
from typing import Any

from builder.ingest.rejects import RejectError

CLICKED = frozenset({"true", "yes", "t", "y"})
NOT_CLICKED = frozenset(
    {"", "false", "no", "f", "n", "null", "none", "nan", "na", "-", "\\n"}  # `\n`: NULL of MySQL
)
MAX_DIGITS = 18


def parse_integer(value: Any) -> int | None:
    """The whole number that a value stands for, such as 3, 3.0, "3" or "3.0"; None if it does not.

    Booleans are not numbers.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return _parsed(value.strip())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _parsed(text: str) -> int | None:
    digits, _, fraction = text.partition(".")
    if len(digits) > MAX_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) if not fraction.strip("0") else None


def click_order(value: Any) -> float:
    """Order of a click as a result states it: 0 where it was not clicked, 1 for a plain flag.

    A number above 0 is the order (or count) of the click: any result that has one was clicked.

    Raises:
        RejectError: the value is neither a number from 0 on nor a known spelling of yes and no.
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
