"""Columns of lists and of texts, as Arrow has them, by their sizes and items."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def lengths(lists: pa.Array) -> Rows:
    """The number of items of each row; 0 where there is no list."""
    return np.asarray(lists.value_lengths().fill_null(0), dtype=np.int64)


def parents(lists: pa.Array) -> Rows:
    """The row of each item."""
    return np.repeat(np.arange(len(lists)), lengths(lists))


def lists_of(sizes: Rows, items: pa.Array) -> pa.Array:
    """Lists of these sizes, of items that follow each other."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), items)


def without_nulls(lists: pa.Array) -> pa.Array:
    """Lists, empty where there is none."""
    return lists_of(lengths(lists), pc.list_flatten(lists))


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts of any width."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in kinds)


def text_lengths(texts: pa.Array) -> NDArray[np.int64]:
    """Bytes of each text; 0 where there is none."""
    if not pa.types.is_dictionary(texts.type):
        return np.asarray(pc.binary_length(texts).fill_null(0).to_numpy(), dtype=np.int64)
    lengths = np.append(pc.binary_length(texts.dictionary).fill_null(0).to_numpy(), 0)
    places = texts.indices.fill_null(len(lengths) - 1).to_numpy()
    return np.asarray(lengths[places], dtype=np.int64)


def compacted(texts: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same texts, with a dictionary of those that occur."""
    occurs = np.zeros(len(texts.dictionary) + 1, dtype=bool)
    occurs[texts.indices.fill_null(len(texts.dictionary)).to_numpy()] = True
    if occurs[:-1].all() and texts.type.index_type == pa.int32():
        return texts
    numbers = pa.array((np.cumsum(occurs) - 1).astype(np.int32))
    known = texts.dictionary.filter(pa.array(occurs[:-1]))
    return pa.DictionaryArray.from_arrays(numbers.take(texts.indices), known)
