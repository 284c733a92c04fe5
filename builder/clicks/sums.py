"""Sums of counts by one or two keys, in the order of keys."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.sorting import Integers, Keys, order_of, repeats

WIDTH = 64
HALF = np.uint64(32)


def add_up_rows(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The sums of all columns but the keys of rows; see `add_up`."""
    columns = {name: rows[name].to_numpy() for name in rows.columns}
    return add_up({name: columns.pop(name) for name in keys}, columns)


def add_up(keys: Mapping[str, Keys], counts: Mapping[str, npt.NDArray[np.integer]]) -> pl.DataFrame:
    """The sums of counts of each key, in the order of keys.

    Args:
        keys: One or two keys of each row; equal first keys follow each other where possible, and
            the last key is spread evenly.
        counts: Counts of each row, 0 or more, whose sums are below 2^32.
    """
    order = _order_of_keys(*keys.values())
    ordered = {name: values[order] for name, values in keys.items()}
    first = ~np.logical_and.reduce([repeats(values) for values in ordered.values()])
    starts = np.flatnonzero(first)
    columns = {name: values[starts] for name, values in ordered.items()}
    return pl.DataFrame(columns | _sums(counts, order, starts))


def _order_of_keys(one: Keys, other: Keys | None = None) -> Integers:
    """The order of rows by one key or by two."""
    if other is None:
        return order_of(one)
    starts = np.flatnonzero(~repeats(one))
    values, place = np.unique(one[starts], return_inverse=True)
    bits = np.uint64(min(len(values).bit_length(), WIDTH - 1))
    rank = np.repeat(place.astype(np.uint64), np.diff(np.append(starts, len(one))))
    return order_of((rank << (np.uint64(WIDTH) - bits)) | (other >> bits), other)


def _sums(
    counts: Mapping[str, npt.NDArray[np.integer]], order: Integers, starts: Integers
) -> dict[str, Keys]:
    """The sums of stretches of counts in some order, two counts in one number."""
    names = list(counts)
    sums: dict[str, npt.NDArray[np.unsignedinteger]] = {}
    for low, high in zip(names[::2], [*names[1::2], None], strict=False):
        packed = counts[low].astype(np.uint64)
        if high is not None:
            packed |= counts[high].astype(np.uint64) << HALF
        added = np.add.reduceat(packed[order], starts) if len(starts) else packed
        sums[low] = added.astype(np.uint32)
        if high is not None:
            sums[high] = (added >> HALF).astype(np.uint32)
    return {name: sums[name] for name in names}
