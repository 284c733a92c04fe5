"""Which of many keys were added, and where each stands: a hash table of arrays.

In: keys of one or more columns of 64 bits, of which the first is spread evenly. Out: the place of
each, in the order of adding. Entries are never changed, so one thread may add while others look for
what was there before.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from builder.sorting import Flags, Integers, Keys

SLOTS = 3
"""Slots of a table for each entry, at least."""
LEAST_ROOM = 16
GROWTH = 2
"""How many times as many entries as there are to be find room in a larger table."""


class HashTable:
    """Keys with their places, by open addressing.

    Entries are complete before they are counted, and slots that lead to later ones are passed over:
    what is not counted yet is not found.

    Args:
        columns: Columns of a key.
        room: Entries that find room at least.
    """

    def __init__(self, columns: int = 1, room: int = 0) -> None:
        size = 1 << (SLOTS * max(room, LEAST_ROOM) - 1).bit_length()
        self.room = size // SLOTS
        self._mask = size - 1
        self._slots = np.zeros(size, dtype=np.int32)  # the place of an entry, from 1 on; 0: none
        self._count = 0
        self._columns = [np.zeros(self.room + 1, dtype=np.uint64) for _ in range(columns)]

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """The memory that it has reserved."""
        return self._slots.nbytes + sum(column.nbytes for column in self._columns)

    def with_room(self, more: int) -> Self:
        """A table of the same entries with room for more: itself where it has room."""
        if self._count + more <= self.room:
            return self
        table = type(self)(len(self._columns), GROWTH * (self._count + more))
        table.add([column[1 : self._count + 1] for column in self._columns])
        return table

    def add(self, keys: Sequence[Keys]) -> None:
        """Add keys that are not there, each once, and for which there is room."""
        first, last = self._count + 1, self._count + len(keys[0])
        for column, values in zip(self._columns, keys, strict=True):
            column[first : last + 1] = values
        places, slots = np.arange(first, last + 1), self._first_slots(keys[0])
        while len(places):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = places[free]
            others = self._slots[slots] != places
            places, slots = places[others], self._next(slots[others])
        self._count = last

    def find(self, keys: Sequence[Keys]) -> Integers:
        """The place of each key, from 0 on; -1: not there."""
        count, slots = self._count, self._first_slots(keys[0])
        found, is_other = self._compare(keys, slots, count)
        rows = np.flatnonzero(is_other)
        while len(rows):
            slots = self._next(slots[is_other])
            places, is_other = self._compare([column[rows] for column in keys], slots, count)
            found[rows] = places
            rows = rows[is_other]
        return found

    def _compare(self, keys: Sequence[Keys], slots: Integers, count: int) -> tuple[Integers, Flags]:
        """The places of keys that their slots lead to, else -1, and whether to look further."""
        places = self._slots.take(slots).astype(np.int64)
        same = self._columns[0].take(places) == keys[0]
        for column, wanted in zip(self._columns[1:], keys[1:], strict=True):
            same &= column.take(places) == wanted
        if same.all() and places.min(initial=1) > 0 and places.max(initial=0) <= count:
            return places - 1, ~same
        is_used = places > 0
        same &= is_used & (places <= count)
        found: npt.NDArray[np.int64] = np.where(same, places, 0) - 1
        return found, is_used & ~same

    def _first_slots(self, keys: Keys) -> Integers:
        return (keys & np.uint64(self._mask)).astype(np.int64)

    def _next(self, slots: Integers) -> Integers:
        return (slots + 1) & self._mask
