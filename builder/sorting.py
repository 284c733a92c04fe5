"""Numbers of 64 bits: sorting them, their order, which of them repeat, and hashes of them.

Polars sorts, on one thread: on some processors NumPy takes four times as long (80 ns a number, with
AVX-512 on Zen 4), on none is it faster by more than a few nanoseconds. Sorting is several times as
quick as finding an order, so an order is sorted out of numbers whose last bits give way to places.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


def ascending(numbers: Keys) -> Keys:
    """The numbers in their order."""
    return np.asarray(pl.Series(numbers).sort(multithreaded=False).to_numpy())


def order_of(numbers: Keys, then: Keys | None = None) -> Integers:
    """The places of numbers that are spread evenly, in the order of numbers.

    Args:
        numbers: The numbers.
        then: What orders equal numbers; without it their order is that of their places.
    """
    bits = np.uint64(max(len(numbers) - 1, 1).bit_length())
    packed = ascending((numbers >> bits << bits) | np.arange(len(numbers), dtype=np.uint64))
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


def distinct_of(numbers: Keys, then: Keys | None = None) -> tuple[Integers, Integers]:
    """A place of each different number, or pair of numbers, and which of them each one is.

    Args:
        numbers: The numbers, spread evenly; the different ones are told in their order.
        then: What tells equal numbers apart.
    """
    order = order_of(numbers, then)
    again = repeats(numbers[order])
    if then is not None:
        again &= repeats(then[order])
    which = np.empty(len(order), dtype=np.int64)
    which[order] = np.cumsum(~again) - 1
    return order[~again], which


def repeats(values: Keys | Integers) -> Flags:
    """Whether each value is the one before it."""
    found = np.zeros(len(values), dtype=np.bool_)
    found[1:] = values[1:] == values[:-1]
    return found


def mixed(values: Keys) -> Keys:
    """Numbers, each of whose bits decides about all bits: the finaliser of SplitMix64.

    Arithmetic modulo 2^64 (Steele, Lea & Flood 2014): the same on every machine.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def tallied(numbers: Keys) -> tuple[Keys, Integers]:
    """The different numbers in their order, and how often each occurs."""
    ordered = ascending(numbers)
    starts = np.flatnonzero(~repeats(ordered))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))
