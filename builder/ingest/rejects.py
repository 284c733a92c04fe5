"""Reject reasons shared by several readers, and the error that is raised to reject a record."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

FILE_TRUNCATED, FILE_DAMAGED = "file_truncated", "file_damaged"
DECOMPRESSION_BOMB = "decompression_bomb"
LINE_TOO_LONG, RECORD_TOO_LARGE = "line_too_long", "record_too_large"
UNREADABLE = "unreadable_page"
"""Reject reason of a record for which a parser raised an unexpected exception."""
PROCESS_ERRORS: tuple[type[BaseException], ...] = (
    MemoryError,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
)
"""Exceptions that are never converted to a reject, because they must end the process."""


class RejectError(ValueError):
    """Error raised to reject a record; its message is the reject reason."""


def value_or_reject_reason(
    read: Callable[[], Value], reraise: tuple[type[BaseException], ...] = ()
) -> Value | str:
    """Call a function that reads a record; return its result or, on an error, the reject reason.

    Unexpected exceptions also cause the record to be rejected, so that a single record cannot stop
    a stage.

    Args:
        read: Function that reads a record.
        reraise: Exception types that are raised unchanged.
    """
    try:
        return read()
    except RejectError as reject:
        return str(reject)
    except (*PROCESS_ERRORS, *reraise):
        raise
    except BaseException:
        return UNREADABLE
