r"""Characters as Polars takes them: the small one of each, and whether words are made of it.

In: bytes of UTF-8 and where characters beyond ASCII begin. Out: the small ones in their place.

The tables are what Polars makes of each character by itself, so that they are never of another
Unicode than its regular expressions. Not in them: characters whose small one takes more or fewer
bytes or depends on what is around it, joiners, and those beyond the planes where scripts in use
are.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.words import JOINERS, WORD
from builder.text.text_bytes import Bytes, Places

STOP = 0x20000
"""The first character that is not in the tables."""
SURROGATES = range(0xD800, 0xE000)
SIGMA = 0x3A3
"""The capital whose small one depends on whether a word ends with it."""
BETWEEN, OF_WORD, UNKNOWN, MARK = range(4)
TWO, THREE, FOUR = 0xC2, 0xE0, 0xF0
"""The least first bytes of characters of two bytes and more."""
BEYOND_ASCII = TWO
LEADS = np.array([0, 0, 0xC0, 0xE0, 0xF0], dtype=np.uint8)
FOLLOWS, LAST_SIX, SIX = np.uint8(0x80), np.uint8(0x3F), np.uint32(6)
"""How the first byte of a character begins, by its size, and how the others do, which have six bits
of its number each."""

Numbers = npt.NDArray[np.uint32]


class Letters(NamedTuple):
    r"""What is known of the characters before `STOP`, by their numbers.

    Args:
        small: The number of the small one.
        kinds: `OF_WORD` where a word may begin with the small one, `MARK` where it may have it
            within, else `BETWEEN`; `UNKNOWN`: see above.
    """

    small: Numbers
    kinds: npt.NDArray[np.uint8]


@cache
def letters() -> Letters:
    """The tables; they are made once."""
    numbers = np.delete(np.arange(STOP, dtype="<u4"), SURROGATES)
    texts = pl.Series(list(numbers.tobytes().decode("utf-32-le")))
    lowered = texts.str.to_lowercase()
    as_long = (lowered.str.len_chars() == 1) & (lowered.str.len_bytes() == texts.str.len_bytes())
    is_joiner = texts.str.contains(JOINERS).to_numpy()
    known = as_long.to_numpy() & (numbers != SIGMA) & ~is_joiner
    small = np.arange(STOP, dtype=np.uint32)
    found = "".join(lowered.filter(pl.Series(known)).to_list()).encode("utf-32-le")
    small[numbers[known]] = np.frombuffer(found, "<u4")
    kinds = np.full(STOP, UNKNOWN, dtype=np.uint8)
    begins, of_word = (lowered.str.contains(p).to_numpy() for p in (WORD, r"\w"))
    kinds[numbers[known]] = np.where(begins, OF_WORD, np.where(of_word, MARK, BETWEEN))[known]
    return Letters(small, kinds)


def lower_in_place(data: Bytes, places: Places) -> tuple[Bytes, Places]:
    """Write the small ones of characters beyond ASCII in their place.

    Args:
        data: Bytes, which are changed.
        places: Where these characters begin.

    Returns:
        The kind and the size in bytes of each; those that are `UNKNOWN` stay as they are.
    """
    first = data[places]
    sizes = 2 + (first >= THREE) + (first >= FOUR).astype(np.int64)
    numbers = _numbers(data, places, first)
    far = numbers >= STOP
    numbers[far] = 0
    table = letters()
    kinds, small = table.kinds[numbers], table.small[numbers]
    kinds[far] = UNKNOWN
    changed = np.flatnonzero((small != numbers) & (kinds != UNKNOWN))
    _write(data, places[changed], small[changed], sizes[changed])
    return kinds, sizes


def _numbers(data: Bytes, places: Places, first: Bytes) -> Numbers:
    """The numbers of characters; `first` are their first bytes."""
    numbers = (first & 0x1F).astype(np.uint32)
    numbers = numbers << SIX | (data[places + 1] & LAST_SIX)
    longer = np.flatnonzero(first >= THREE)
    numbers[longer] = numbers[longer] << SIX | (data[places[longer] + 2] & LAST_SIX)
    longest = longer[first[longer] >= FOUR]
    numbers[longest] = (numbers[longest] & 0x7FFF) << SIX | (data[places[longest] + 3] & LAST_SIX)
    return numbers


def _write(data: Bytes, places: Places, numbers: Numbers, sizes: Places) -> None:
    """Write characters of two bytes and more over others that are as long."""
    shifts = (6 * (sizes - 1)).astype(np.uint32)
    data[places] = LEADS[sizes] | (numbers >> shifts).astype(np.uint8)
    while len(places):
        places, shifts = places + 1, shifts - SIX
        data[places] = FOLLOWS | (numbers >> shifts).astype(np.uint8) & LAST_SIX
        more = shifts > 0
        places, numbers, shifts = places[more], numbers[more], shifts[more]
