"""Texts in lower case, most of them by their bytes.

In: a column of texts in UTF-8. Out: what `str.to_lowercase` of Polars makes of them, which looks at
texts with any accent character by character. Other letters than those of ASCII go by the tables of
`letters`; texts with one that is not in them are left to Polars.
"""

import numpy as np
import polars as pl

from builder.documents.letters import BEYOND_ASCII, UNKNOWN, lower_in_place
from builder.text.replacement import replaced
from builder.text.text_bytes import TextBytes, bytes_of

BLOCK = 2**20
"""Bytes in which letters are looked for together, and what is known of them stays in the cache."""


def lowered(texts: pl.Series) -> pl.Series:
    """Texts in lower case, under the name that they have.

    Args:
        texts: A column of strings.
    """
    if texts.null_count() or texts.is_empty():
        return texts.str.to_lowercase()
    data, ends = bytes_of(texts)
    small = np.frombuffer(bytearray(data[ends[0] : ends[-1]]).lower(), np.uint8)
    ends = ends - ends[0]
    others = np.zeros(len(texts), dtype=np.bool_)
    for start in range(0, len(small), BLOCK):
        places = start + np.flatnonzero(small[start : start + BLOCK] >= BEYOND_ASCII)
        kinds, _ = lower_in_place(small, places)
        unknown = places[kinds == UNKNOWN]
        others[np.searchsorted(ends, unknown, side="right") - 1] = True
    where = pl.Series(others)
    found = TextBytes(small, ends).texts()
    return replaced(found, where, texts.filter(where).str.to_lowercase()).alias(texts.name)
