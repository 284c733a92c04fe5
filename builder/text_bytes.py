"""A column of texts as its bytes."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl


class TextBytes(NamedTuple):
    """Texts as they lie in memory, one after the other in UTF-8.

    Args:
        data: Their bytes, of which some may be of other texts.
        ends: n + 1: where the first begins, and where each ends; a null is an empty text.
    """

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]


def bytes_of(texts: pl.Series) -> TextBytes:
    """The bytes of texts."""
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    found = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return TextBytes(found, ends)
