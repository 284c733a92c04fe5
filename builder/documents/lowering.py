"""Texts in lower case, most of them by their bytes.

In: a column of texts in UTF-8. Out: what `str.to_lowercase` of Polars makes of them, which looks at
texts with any accent character by character. Letters of ASCII, accented Latin ones up to U+00FF and
`Œ` are a number away from their small ones, in as many bytes; texts with other letters that may
have two cases are left to Polars.
"""

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builder.replacing import replaced
from builder.text_bytes import bytes_of

BLOCK = 2**20
"""Bytes that are looked at together and stay in the processor's cache."""
CAPITAL_A, LETTERS, STEP = 0x41, 26, 0x20
ACCENTED, TIMES, LAST_CAPITAL = 0xC3, 0x97, 0x9E
"""The first byte of U+00C0 to U+00FF, and the second ones of the sign that is no letter among the
capitals, and of the last of these."""
FAR = 0xC4
"""The first byte of characters from U+0100 on; no second one is as large."""
LIGATURE, SMALL_LIGATURE = 0xC592, 0x93
CASELESS = np.zeros(2**16, dtype=np.bool_)
"""Whether characters that begin with two bytes have no other case, or are `Œ`."""
for _first, _last in (
    (LIGATURE, LIGATURE + 1),
    (0xE280, 0xE280),  # punctuation
    (0xE282, 0xE282),  # small digits, currencies
    (0xE380, 0xE9BF),  # kana, ideographs
    (0xF09F, 0xF09F),  # emoji
):
    CASELESS[_first : _last + 1] = True


def lowered(texts: pl.Series) -> pl.Series:
    """Texts in lower case, under the name that they have.

    Args:
        texts: A column of strings.
    """
    if texts.null_count() or texts.is_empty():
        return texts.str.to_lowercase()
    data, ends = bytes_of(texts)
    small, ends = data[ends[0] : ends[-1]].copy(), ends - ends[0]
    others = np.zeros(len(texts), dtype=np.bool_)
    for start in range(0, len(small), BLOCK):
        others[np.searchsorted(ends, _lower(small, start), side="right") - 1] = True
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(small)]
    found = pl.Series(pl.from_arrow(pa.Array.from_buffers(pa.large_string(), len(texts), buffers)))
    where = pl.Series(others)
    return replaced(found, where, texts.filter(where).str.to_lowercase()).alias(texts.name)


def _lower(data: npt.NDArray[np.uint8], start: int) -> npt.NDArray[np.int64]:
    """Lower a block of bytes in place; where characters stand in it that are left to Polars."""
    block = data[start : start + BLOCK]
    capital = (block - CAPITAL_A) < LETTERS
    block += capital.view(np.uint8) * np.uint8(STEP)
    seconds = start + 1 + np.flatnonzero(block == ACCENTED)
    values = data[seconds]
    data[seconds[(values <= LAST_CAPITAL) & (values != TIMES)]] += STEP
    far = start + np.flatnonzero(block >= FAR)
    pairs = data[far].astype(np.uint16) << 8 | data[far + 1]
    data[far[pairs == LIGATURE] + 1] = SMALL_LIGATURE
    return np.asarray(far[~CASELESS[pairs]], dtype=np.int64)
