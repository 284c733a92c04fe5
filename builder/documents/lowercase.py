"""Lowercases a column of texts, mostly by table lookup on bytes.

Input: a column of texts. Output: the same as `str.to_lowercase` of Polars, which is slow for any
non-ASCII text. Texts with characters that are missing in `case_tables` are lowercased by Polars.
"""

import numpy as np
import polars as pl

from builder.documents.case_tables import NON_ASCII, NOT_IN_TABLE, lower_in_place
from builder.text.replacement import replace_where
from builder.text.text_bytes import TextBytes, to_bytes

BLOCK = 2**20
"""Bytes per lookup block, so that intermediate results stay in the processor cache."""


def to_lowercase(texts: pl.Series) -> pl.Series:
    """Lowercase a string column, keeping its name.

    Args:
        texts: A column of strings.
    """
    if texts.null_count() or texts.is_empty():
        return texts.str.to_lowercase()
    data, ends = to_bytes(texts)
    lower = np.frombuffer(bytearray(data[ends[0] : ends[-1]]).lower(), np.uint8)
    ends = ends - ends[0]
    is_unknown = np.zeros(len(texts), dtype=np.bool_)
    for start in range(0, len(lower), BLOCK):
        offsets = start + np.flatnonzero(lower[start : start + BLOCK] >= NON_ASCII)
        kinds, _ = lower_in_place(lower, offsets)
        unknown = offsets[kinds == NOT_IN_TABLE]
        is_unknown[np.searchsorted(ends, unknown, side="right") - 1] = True
    where = pl.Series(is_unknown)
    lowercased = TextBytes(lower, ends).to_series()
    return replace_where(lowercased, where, texts.filter(where).str.to_lowercase()).alias(
        texts.name
    )
