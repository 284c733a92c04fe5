"""Sums of counts by one or two keys, in the order of keys: numbers are sorted, then counts added.

Sorting numbers is several times as quick as finding their order: the last bits of a number give way
to its place. Where that leaves two different numbers equal, they are ordered afterwards.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

WIDTH = 64
HALF = np.uint64(32)


def add_up(keys: dict[str, Keys], counts: dict[str, Integers]) -> pl.DataFrame:
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


def order_of(numbers: Keys, then: Keys | None = None) -> Integers:
    """The places of numbers that are spread evenly, in the order of numbers.

    Args:
        numbers: The numbers.
        then: What orders equal numbers; without it their order is that of their places.
    """
    bits = np.uint64(max(len(numbers) - 1, 1).bit_length())
    packed = (numbers >> bits << bits) | np.arange(len(numbers), dtype=np.uint64)
    packed.sort()
    order = (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    same = repeats(packed >> bits)
    if not same.any():
        return order
    differ = same & ~repeats(numbers[order])
    if then is not None:
        differ |= same & ~repeats(then[order])
    if differ.any():
        group = np.cumsum(~same)
        found = np.zeros(group[-1] + 1, dtype=np.bool_)
        found[group[differ]] = True
        places = np.flatnonzero(found[group])
        rows = order[places]
        by = [numbers[rows], group[places]]
        order[places] = rows[np.lexsort(by if then is None else [then[rows], *by])]
    return order


def _order_of_keys(one: Keys, other: Keys | None = None) -> Integers:
    """The order of rows by one key or by two."""
    if other is None:
        return order_of(one)
    starts = np.flatnonzero(~repeats(one))
    values, place = np.unique(one[starts], return_inverse=True)
    bits = np.uint64(min(len(values).bit_length(), WIDTH - 1))
    rank = np.repeat(place.astype(np.uint64), np.diff(np.append(starts, len(one))))
    return order_of((rank << (np.uint64(WIDTH) - bits)) | (other >> bits), other)


def repeats(values: Keys | Integers) -> Flags:
    """Whether each value is the one before it."""
    found = np.zeros(len(values), dtype=np.bool_)
    found[1:] = values[1:] == values[:-1]
    return found


def _sums(counts: dict[str, Integers], order: Integers, starts: Integers) -> dict[str, Keys]:
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
