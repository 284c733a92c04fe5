"""Helper functions for Arrow list columns and string types."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def lengths(lists: pa.Array) -> Rows:
    """Return the length of each list in a list array; 0 for nulls."""
    return np.asarray(lists.value_lengths().fill_null(0), dtype=np.int64)


def build_list_array(sizes: Rows, items: pa.Array) -> pa.Array:
    """Build a list array from lengths and flattened items."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), items)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is any of the string types."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in kinds)
