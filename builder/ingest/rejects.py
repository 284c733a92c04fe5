"""Why a record is left out."""

from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")

UNREADABLE = "unreadable_page"
"""The reason of a record on which a parser failed in a way that nobody foresaw."""
OF_THE_PROCESS: tuple[type[BaseException], ...] = (
    MemoryError,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
)
"""What ends a process, whatever record it is reading."""


class RejectError(ValueError):
    """A record is left out; the message is the reason."""


def made_or_reason(
    make: Callable[[], Made], passing: tuple[type[BaseException], ...] = ()
) -> Made | str:
    """What is made of a record, or the reason why it is left out.

    A record on which a parser fails is left out too: one record never stops a stage.

    Args:
        make: Reads the record.
        passing: Errors that are raised all the same.

    Raises:
        RejectError: never; its message is returned.
    """
    try:
        return make()
    except RejectError as reject:
        return str(reject)
    except OF_THE_PROCESS + passing:
        raise
    except BaseException:
        return UNREADABLE
