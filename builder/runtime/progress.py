"""Progress displays for long-running operations: a progress bar, and one that shows nothing."""

import sys
from typing import Protocol, TextIO

from tqdm import tqdm


class Progress(Protocol):
    """Interface of progress displays."""

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Start an operation with `total` units of work; None if the total is unknown."""

    def advance(self, count: int) -> None:
        """Report that `count` more units of the operation are done."""

    def finish(self) -> None:
        """Report that the operation has finished."""


class NoProgress:
    """Progress display that shows nothing."""

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Ignore the start of an operation."""

    def advance(self, count: int) -> None:
        """Ignore the progress of an operation."""

    def finish(self) -> None:
        """Ignore the end of an operation."""


class ProgressBar:
    """tqdm progress bar that appears after two seconds if the stream is a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: tqdm | None = None  # type: ignore[type-arg]

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Start a progress bar."""
        self.finish()
        self._bar = tqdm(
            desc=label,
            total=total,
            unit=" " + unit,
            unit_scale=True,
            delay=2,
            leave=False,
            file=self._stream,
            disable=not self._stream.isatty(),
        )

    def advance(self, count: int) -> None:
        """Advance the progress bar by `count` units."""
        if self._bar is not None:
            self._bar.update(count)

    def finish(self) -> None:
        """Remove the progress bar from the terminal."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
