"""Reject reasons that several readers share, and the error that carries a reject reason."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

FILE_TRUNCATED, FILE_DAMAGED = "file_truncated", "file_damaged"
DECOMPRESSION_BOMB = "decompression_bomb"
LINE_TOO_LONG, RECORD_TOO_LARGE = "line_too_long", "record_too_large"
UNREADABLE = "unreadable_page"
"""Reject reason of a record on which a parser failed unexpectedly."""
PROCESS_ERRORS: tuple[type[BaseException], ...] = (
    MemoryError,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
)
"""Exceptions that end the process and are never converted to a reject."""


class RejectError(ValueError):
    """Error raised for a record to be rejected; the message is the reason."""


def value_or_reason(
    read: Callable[[], Value], reraise: tuple[type[BaseException], ...] = ()
) -> Value | str:
    """Return what a function reads from a record, or the reason to reject the record.

    Unexpected errors of a parser reject the record as well, so that one record never stops a stage.

    Args:
        read: Function that reads the record.
        reraise: Exception types that are raised unchanged.
    """
    try:
        return read()
    except RejectError as reject:
        return str(reject)
    except PROCESS_ERRORS + reraise:
        raise
    except BaseException:
        return UNREADABLE
