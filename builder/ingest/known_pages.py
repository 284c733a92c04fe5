"""Result pages that were seen before, by the text in which a log has them.

In: lists of results as texts. Out: which of them are new, and the keys of the documents of the
others. Of a log most impressions show what others showed: their results are neither parsed nor
looked up again. Texts are told by hashes (see `seen`); memory is bounded.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from builder.ingest.seen import Fingerprints, Halves, Places, Seen, distinct_of
from builder.sorting import Flags, Keys

KEYS_A_PAGE = 4
"""Keys for which there is room, for each page for which there is."""
BYTES_A_KEY = 20
"""What a key takes, with its part of what its page takes."""
TRIED = 200_000
"""Pages that are asked for before it is judged whether that is worth it."""
MOST_NEW = 0.9
"""Share of new ones up to which it is."""


class Asked(NamedTuple):
    """Pages that were asked for.

    Args:
        new: Which of them are new.
        keys: Of the documents of the others, lists of uint64.
        places: A place of each different one that is new.
        which: Which of these each one that is new is.
        halves: The hashes of these.
    """

    new: Flags
    keys: pa.ListArray
    places: Places
    which: Places
    halves: Halves


class KnownPages:
    """A bounded memory of result pages.

    Args:
        room: Bytes that it may take; what does not fit makes it forget all pages.
    """

    def __init__(self, room: int) -> None:
        self._fingerprints = Fingerprints()
        self._most = room // BYTES_A_KEY
        self._memory = _Memory(self._most)
        self._asked = self._new = 0

    @property
    def is_worth(self) -> bool:
        """Whether enough of the pages that were asked for were no new ones."""
        return self._asked < TRIED or self._new <= MOST_NEW * self._asked

    def ask(self, texts: pl.Series) -> Asked:
        """Look lists of results up; may be called from any thread, while another remembers."""
        memory, halves = self._memory, self._fingerprints.of_column(texts)
        new, numbers = memory.seen.find(halves)
        places, which = distinct_of(halves, new)
        self._asked, self._new = self._asked + len(new), self._new + len(places)
        keys = memory.pages(numbers[~new])
        return Asked(new, keys, places, which, halves.take(places))

    def remember(self, halves: Halves, keys: pa.ListArray) -> None:
        """Different pages that were new when asked for, and the keys of their documents."""
        new, _ = self._memory.seen.find(halves)
        if not new.any():
            return
        halves, keys = halves.take(new), keys.filter(pa.array(new))
        if not self._memory.has_room(keys):
            self._memory = _Memory(self._most)
        if self._memory.has_room(keys):
            self._memory.add(halves, keys)


class _Memory:
    """Pages one after the other; what was added is never changed."""

    def __init__(self, keys: int) -> None:
        pages = keys // KEYS_A_PAGE
        self.seen = Seen(pages)
        self._keys: Keys = np.empty(keys, dtype=np.uint64)
        self._ends = np.zeros(pages + 1, dtype=np.int32)
        self._count = 0

    def has_room(self, pages: pa.ListArray) -> bool:
        """Whether some more pages find room."""
        keys = int(self._ends[self._count]) + len(pages.values)
        return self._count + len(pages) < len(self._ends) and keys <= len(self._keys)

    def add(self, halves: Halves, pages: pa.ListArray) -> None:
        """Add pages that are new and find room."""
        count, start = self._count, int(self._ends[self._count])
        self._keys[start : start + len(pages.values)] = pages.values.to_numpy()
        self._ends[count + 1 : count + len(pages) + 1] = start + pages.offsets.to_numpy()[1:]
        self._count += len(pages)
        self.seen.remember(halves, np.arange(count, self._count, dtype=np.uint64))

    def pages(self, numbers: Keys) -> pa.ListArray:
        """The keys of pages by their numbers."""
        whole = pa.ListArray.from_arrays(pa.array(self._ends), pa.array(self._keys))
        return whole.take(pa.array(numbers))
