"""Helper functions for Arrow list arrays and string types."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def list_lengths(lists: pa.Array) -> Rows:
    """Return the length of each list in an Arrow list array; 0 for null lists."""
    return np.asarray(lists.value_lengths().fill_null(0), dtype=np.int64)


def build_list_array(lengths: Rows, items: pa.Array) -> pa.Array:
    """Build an Arrow list array from the length of each list and the concatenated items.

    Raises:
        pyarrow.ArrowInvalid: there are more than 2**31 - 1 items, the maximum of an Arrow array.
    """
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), items)


def is_string_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type is a string type: string, large string or string view."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(dtype) for is_kind in kinds)
