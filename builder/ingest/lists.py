"""Columns of lists and of texts, as Arrow has them, by their sizes and items."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def lengths(lists: pa.Array) -> Rows:
    """The number of items of each row; 0 where there is no list."""
    return np.asarray(lists.value_lengths().fill_null(0), dtype=np.int64)


def build_list_array(sizes: Rows, items: pa.Array) -> pa.Array:
    """Lists of these sizes, of items that follow each other."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), items)


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts of any width."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in kinds)
