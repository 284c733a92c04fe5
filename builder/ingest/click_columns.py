"""Results and clicks that are objects, in columns -> our names; clicks -> ranks in click order.

In: lists of structs, with `rank` and times where they are clicks. Out: lists of ranks.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.fields import are_own
from builder.ingest.lists import Mask, Rows, lengths, lists_of, parents
from builder.ingest.times import unix_seconds
from builder.parameters import TimeParameters


def under_own_names(lists: pa.Array, names: Mapping[str, str]) -> pa.Array:
    """Lists of structs with some of their fields, under our own names; other lists as they are.

    Where there is no list, there is an empty one then.

    Args:
        lists: The lists.
        names: Our names of the fields with those that they have; fields that are not there are
            left out.
    """
    kind = lists.type.value_type
    if not pa.types.is_struct(kind) or are_own(names):
        return lists
    items = pc.list_flatten(lists)
    found = {own: name for own, name in names.items() if kind.get_field_index(name) >= 0}
    columns = [pc.struct_field(items, name) for name in found.values()]
    gone = pa.array(~items.is_valid().to_numpy(zero_copy_only=False))
    named = pa.StructArray.from_arrays(columns, list(found), mask=gone)
    return lists_of(lengths(lists), named)


def ranks_of(clicks: pa.Array, times: pa.Array | None, params: TimeParameters) -> pa.Array:
    """Ranks of clicks, int64; 0, which no result has, where a row must be looked at singly.

    That is where a click has no rank, and where times do not rise from each click to the next.

    Args:
        clicks: Lists of structs with `rank`, an integer.
        times: Of all their items, see `unix_seconds`; None: they have none.
        params: How times are written.
    """
    ranks = pc.struct_field(pc.list_flatten(clicks), "rank").cast(pa.int64()).fill_null(0)
    if times is not None:
        doubtful = _not_rising(times, unix_seconds(times, params), clicks)
        ranks = pa.array(np.where(doubtful[parents(clicks)], 0, ranks.to_numpy()))
    return lists_of(lengths(clicks), ranks)


def ranks_of_flags(flags: pa.Array, shown: Rows) -> pa.Array:
    """Ranks of the results that were clicked, int64; 0 where a row must be looked at singly.

    That is where there are fewer flags than results, or one is missing or negative. Those beyond
    the results are clicks on ranks that no result has.

    Args:
        flags: Lists of integers or booleans; null where nothing is told.
        shown: Results of each row.

    Raises:
        TypeError: they are something else.
    """
    kind = flags.type.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise TypeError(kind)
    sizes, rows = lengths(flags), parents(flags)
    values = pc.list_flatten(flags).cast(pa.int64()).fill_null(-1).to_numpy()
    doubtful = (sizes < shown) & flags.is_valid().to_numpy(zero_copy_only=False)
    doubtful[rows[values < 0]] = True
    clicked = (values > 0) & ~doubtful[rows]
    counts = np.where(doubtful, 1, np.bincount(rows[clicked], minlength=len(flags)))
    ranks = np.zeros(counts.sum(), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    ranks[~np.repeat(doubtful, counts)] = (np.arange(len(rows)) - starts[rows] + 1)[clicked]
    return lists_of(counts, pa.array(ranks))


def _not_rising(times: pa.Array, seconds: pa.Array, clicks: pa.Array) -> Mask:
    """Rows with times that are not all told, not all sure, or do not rise by whole seconds."""
    rows, told = parents(clicks), times.is_valid().to_numpy(zero_copy_only=False)
    sure = seconds.is_valid().to_numpy(zero_copy_only=False)
    some = np.bincount(rows[told], minlength=len(clicks)) > 0
    known = seconds.fill_null(0).to_numpy()
    doubtful = np.zeros(len(clicks), dtype=bool)
    doubtful[rows[~sure]] = True
    falling = (rows[1:] == rows[:-1]) & (known[1:] <= known[:-1])
    doubtful[rows[1:][falling]] = True
    return doubtful & some
