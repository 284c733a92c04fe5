"""Sums of counts by two keys, in the order of keys: a sort of single numbers, then additions."""

import numpy as np
import numpy.typing as npt
import polars as pl

Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

HIGH = 36
"""Bits of the second key by which it is sorted at once; the first has the others."""


def add_up(keys: dict[str, Keys], counts: dict[str, Integers]) -> pl.DataFrame:
    """The sums of counts of each key, in the order of keys.

    Args:
        keys: Two keys of each row, of which the second is spread evenly.
        counts: Counts of each row.
    """
    one, other = keys.values()
    # One number that orders as both keys do, but for second keys that are equal in their high bits.
    _, place = np.unique(one, return_inverse=True)
    high = other >> np.uint64(64 - HIGH)
    order = np.argsort((place.astype(np.uint64) << np.uint64(HIGH)) | high)
    one, other = one[order], other[order]
    same = one[1:] == one[:-1]
    if bool((same & (other[1:] < other[:-1])).any()) or len(one) >= 2 ** (64 - HIGH):
        again = np.lexsort((other, one))
        order, one, other = order[again], one[again], other[again]
        same = one[1:] == one[:-1]
    first = np.append(True, ~same | (other[1:] != other[:-1])) if len(one) else same
    starts = np.flatnonzero(first)
    columns = dict(zip(keys, (one[starts], other[starts]), strict=True))
    sums = {
        name: np.add.reduceat(values[order], starts) if len(starts) else values
        for name, values in counts.items()
    }
    return pl.DataFrame(columns | {name: values.astype(np.uint32) for name, values in sums.items()})
