"""Columns of a log -> the impressions that are plainly right, and what must be looked at singly.

In: a record batch with the columns `time`, `user`, `query`, `results` and `clicks`. Out: those of
its rows that every rule of `impression.make_impression` lets pass, as that would have made them;
those whose time is outside the interval; and the places of all others, which are judged one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from builder.ingest.impression import Impression, clean_query
from builder.ingest.rejects import RejectError
from builder.ingest.times import unix_seconds
from builder.parameters import LogParameters
from builder.sources import Interval

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

TEXT = pa.dictionary(pa.int32(), pa.string())
LOGGED = pa.schema(
    {
        "record": pa.uint64(),
        "time": pa.int64(),
        "user": TEXT,
        "query": TEXT,
        "results": pa.list_(TEXT),
        "clicks": pa.list_(pa.uint16()),
    }
)
"""Impressions as logged: number of the record, unix seconds, texts, ranks."""


@dataclass
class Records:
    """Some records of a file.

    Args:
        impressions: Those that are impressions, as `LOGGED`; in each batch in their order.
        rejects: Those that are none: 1-based number and reason.
    """

    impressions: list[pa.RecordBatch] = field(default_factory=list)
    rejects: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.impressions)) + len(self.rejects)


def as_batch(impressions: Sequence[tuple[int, Impression]]) -> pa.RecordBatch:
    """Numbered impressions as a batch of `LOGGED`."""
    rows = [(number, *impression) for number, impression in impressions]
    found = zip(*rows, strict=True) if rows else ((),) * len(LOGGED)
    records, times, users, queries, results, clicks = found
    columns = {
        "record": pa.array(records, pa.uint64()),
        "time": pa.array(times, pa.int64()),
        "user": pa.array(users, pa.string()).dictionary_encode(),
        "query": pa.array(queries, pa.string()).dictionary_encode(),
        "results": _encoded(pa.array(results, pa.list_(pa.string()))),
        "clicks": pa.array(clicks, pa.list_(pa.uint16())),
    }
    return pa.record_batch(columns, schema=LOGGED)


def _encoded(lists: pa.Array) -> pa.Array:
    """Lists of texts with each text once; empty where there is no list."""
    return lists_of(lengths(lists), pc.list_flatten(lists).dictionary_encode())


def examine(
    columns: pa.RecordBatch,
    numbers: NDArray[np.uint64],
    interval: Interval | None,
    params: LogParameters,
) -> tuple[Records, Rows]:
    """Plain impressions and plain rejects of a batch, and the places of all other rows.

    Args:
        columns: `time` (a number, a moment or a text), `user` (string), `query` (string),
            `results` (lists of strings), `clicks` (lists of int64 ranks); strings may be
            dictionaries, of strings that occur.
        numbers: Number of the record of each row.
        interval: Where times must lie; None: they are not looked at, and are 0.
        params: `[log]`.
    """
    times, dated, inside = _times(columns["time"], interval, params)
    queries, worded = _queries(columns["query"], params)
    sure = dated & inside & worded & _sure_lists(columns, params)
    arrays = {
        "record": pa.array(numbers),
        "time": pa.array(times),
        "user": columns["user"].dictionary_encode(),
        "query": queries,
        "results": _encoded(columns["results"]),
        "clicks": columns["clicks"],
    }
    batch = pa.record_batch(arrays)
    outside = numbers[dated & ~inside].tolist()
    return (
        Records([_kept(batch, sure)], [(number, "outside_interval") for number in outside]),
        np.flatnonzero(~sure & ~(dated & ~inside)),
    )


def _times(
    column: pa.Array, interval: Interval | None, params: LogParameters
) -> tuple[Rows, Mask, Mask]:
    """Unix seconds, where there is no doubt about them, and where they are inside."""
    if interval is None:
        anywhere = np.ones(len(column), dtype=bool)
        return np.zeros(len(column), dtype=np.int64), anywhere, anywhere
    seconds = unix_seconds(column, params)
    times = seconds.fill_null(0).to_numpy()
    inside = (times >= interval.start) & (times < interval.stop)
    return times, seconds.is_valid().to_numpy(zero_copy_only=False), inside


def _kept(batch: pa.RecordBatch, sure: Mask) -> pa.RecordBatch:
    """The rows that are sure, without null lists."""
    kept = batch if sure.all() else batch.filter(pa.array(sure))
    ranks = lists_of(lengths(kept["clicks"]), pc.list_flatten(kept["clicks"]).cast(pa.uint16()))
    return pa.record_batch([*kept.columns[:-1], ranks], schema=LOGGED)


def _queries(queries: pa.Array, params: LogParameters) -> tuple[pa.Array, Mask]:
    """Texts of queries, trimmed, and where there is no doubt about them."""
    encoded = queries.dictionary_encode()
    texts = [_text(text, params) for text in encoded.dictionary.to_pylist()]
    trimmed = pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.string()))
    places = encoded.indices.fill_null(len(texts)).to_numpy()
    return trimmed, np.array([text is not None for text in (*texts, None)])[places]


def _text(query: str, params: LogParameters) -> str | None:
    try:
        return clean_query(query, params)
    except RejectError:
        return None


def _sure_lists(columns: pa.RecordBatch, params: LogParameters) -> Mask:
    """Whether results are all there, and clicks are on them."""
    shown = lengths(columns["results"])
    sure = (shown >= 1) & (shown <= params.max_results)
    urls = pc.list_flatten(columns["results"])
    absent = text_lengths(urls) == 0
    if absent.any():
        sure[parents(columns["results"])[absent]] = False
    ranks = pc.list_flatten(columns["clicks"]).fill_null(0).to_numpy()
    rows = parents(columns["clicks"])
    sure[rows[(ranks < 1) | (ranks > shown[rows])]] = False
    return sure


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


def parents(lists: pa.Array) -> Rows:
    """The row of each item."""
    return np.repeat(np.arange(len(lists)), lengths(lists))


def lengths(lists: pa.Array) -> Rows:
    """The number of items of each row; 0 where there is no list."""
    return np.asarray(lists.value_lengths().fill_null(0), dtype=np.int64)


def lists_of(sizes: Rows, items: pa.Array) -> pa.Array:
    """Lists of these sizes, of items that follow each other."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), items)
