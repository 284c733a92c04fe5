"""Progress reporting of long-running operations: a progress bar on a terminal, or nothing."""

import sys
from typing import Protocol, TextIO

from tqdm import tqdm


class Progress(Protocol):
    """Receives the progress of a long-running operation."""

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Start an operation of `total` units, or None if the number is unknown."""

    def advance(self, count: int) -> None:
        """Report that `count` more units are done."""

    def finish(self) -> None:
        """End the task."""


class NoProgress:
    """Progress reporter that does nothing."""

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Do nothing."""

    def advance(self, count: int) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""


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
