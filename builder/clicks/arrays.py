"""Arrays that grow at their end."""

from typing import Any

import numpy as np
import numpy.typing as npt

GROWTH = 1.5
"""How many times as long a larger array is, at least: what is not used takes no memory yet."""


class Growing:
    """Rows of numbers, of which more come.

    Args:
        kind: Type of the numbers.
        width: Numbers in a row; without it, one.
    """

    def __init__(self, kind: type[np.integer], width: int | None = None) -> None:
        self._held = np.zeros(0 if width is None else (0, width), dtype=kind)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> npt.NDArray[Any]:
        """The rows: a view, until more come."""
        return self._held[: self._count]

    @property
    def bytes(self) -> int:
        """The memory that it has reserved."""
        return self._held.nbytes

    def append(self, rows: npt.NDArray[np.integer]) -> None:
        """Add rows."""
        self.extend(len(rows))
        self._held[self._count - len(rows) : self._count] = rows

    def extend(self, count: int) -> None:
        """Add so many rows of zeros."""
        needed = self._count + count
        if needed > len(self._held):
            room = max(needed, int(len(self._held) * GROWTH))
            held = np.zeros((room, *self._held.shape[1:]), dtype=self._held.dtype)
            held[: self._count] = self.values
            self._held = held
        self._count = needed
