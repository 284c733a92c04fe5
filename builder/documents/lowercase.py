"""Lowercases a column of texts with lookup tables, faster than Polars.

Input: a column of texts. Output: the lowercased texts. They equal the result of `str.to_lowercase`
in Polars, which is slow for non-ASCII texts. Polars lowercases only columns with null values, and
texts with characters that are not in `case_tables`.
"""

import numpy as np
import polars as pl

from builder.documents.case_tables import NON_ASCII, NOT_IN_TABLE, lowercase_non_ascii_in_place
from builder.text.replacement import replace_where
from builder.text.text_bytes import TextBytes, to_text_bytes

BLOCK = 2**20
"""Number of bytes looked up at a time, chosen so that intermediate results fit in the CPU cache."""


def to_lowercase(texts: pl.Series) -> pl.Series:
    """Lowercase each string of a series, and keep the name of the series."""
    if texts.null_count() or texts.is_empty():
        return texts.str.to_lowercase()
    data, ends = to_text_bytes(texts)
    lower = np.frombuffer(bytearray(data[ends[0] : ends[-1]]).lower(), np.uint8)
    ends = ends - ends[0]
    is_unknown = np.zeros(len(texts), dtype=np.bool_)
    for start in range(0, len(lower), BLOCK):
        offsets = start + np.flatnonzero(lower[start : start + BLOCK] >= NON_ASCII)
        kinds, _ = lowercase_non_ascii_in_place(lower, offsets)
        unknown = offsets[kinds == NOT_IN_TABLE]
        is_unknown[np.searchsorted(ends, unknown, side="right") - 1] = True
    where = pl.Series(is_unknown)
    lowercased = TextBytes(lower, ends).to_series()
    return replace_where(lowercased, where, texts.filter(where).str.to_lowercase()).alias(
        texts.name
    )
