"""Columns of a log -> the impressions that are plainly right, and what must be looked at singly.

In: a record batch with the columns `time`, `user`, `query`, `results` and `clicks`. Out: those of
its rows that every rule of `impression.make_impression` lets pass, as that would have made them;
those whose time is outside the interval; and the places of all others, which are judged one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from builder.ingest.doubtful import are_plain_lines
from builder.ingest.impression import Impression, clean_query
from builder.ingest.lists import (
    Mask,
    Rows,
    lengths,
    lists_of,
    parents,
    text_lengths,
    without_nulls,
)
from builder.ingest.paged import Paged
from builder.ingest.rejects import RejectError
from builder.ingest.times import unix_seconds
from builder.parameters import LogParameters
from builder.replacing import replaced
from builder.sources import Interval

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
        impressions: Those that are impressions, as `LOGGED`, though results may be plain strings;
            in each batch in their order.
        rejects: Those that are none: 1-based number and reason.
        paged: Further impressions, whose results are told by their text (see `paged`).
    """

    impressions: list[pa.RecordBatch] = field(default_factory=list)
    rejects: list[tuple[int, str]] = field(default_factory=list)
    paged: list[Paged] = field(default_factory=list)

    def __len__(self) -> int:
        held = (*self.impressions, *(paged.batch for paged in self.paged))
        return sum(map(len, held)) + len(self.rejects)


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
    shown: Rows | None = None,
) -> tuple[Records, Rows]:
    """Plain impressions and plain rejects of a batch, and the places of all other rows.

    Args:
        columns: `time` (a number, a moment or a text), `user` (string), `query` (string),
            `results` (lists of strings), `clicks` (lists of int64 ranks); strings may be
            dictionaries, of strings that occur.
        numbers: Number of the record of each row.
        interval: Where times must lie; None: they are not looked at, and are 0.
        params: `[log]`.
        shown: How many results each row has, where `results` are numbers of pages; 0 where they
            must be looked at.
    """
    times, dated, inside = _times(columns["time"], interval, params)
    queries, worded = _queries(columns["query"], params)
    results = columns["results"]
    if shown is None:
        results = without_nulls(results)
        shown = shown_in(results)
    sure = dated & inside & worded & _sure_clicks(columns["clicks"], shown, params)
    arrays = {
        "record": pa.array(numbers),
        "time": pa.array(times),
        "user": columns["user"].dictionary_encode(),
        "query": queries,
        "results": results,
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
    ranks = without_nulls(kept["clicks"]).cast(LOGGED.field("clicks").type)
    return pa.record_batch([*kept.columns[:-1], ranks], names=LOGGED.names)


def _queries(queries: pa.Array, params: LogParameters) -> tuple[pa.Array, Mask]:
    """Texts of queries, trimmed, and where there is no doubt about them."""
    encoded = queries.dictionary_encode()
    texts = _clean(pl.Series(pl.from_arrow(encoded.dictionary), dtype=pl.String), params)
    known = pa.array(texts.to_arrow()).cast(pa.string())
    trimmed = pa.DictionaryArray.from_arrays(encoded.indices, known)
    places = encoded.indices.fill_null(len(texts)).to_numpy()
    return trimmed, np.append(texts.is_not_null().to_numpy(), values=False)[places]


def _clean(texts: pl.Series, params: LogParameters) -> pl.Series:
    """Texts of queries, trimmed; null where there is a doubt about one."""
    plain = pl.Series(are_plain_lines(texts)) & (texts.str.len_chars() <= params.max_query_chars)
    others = [_text(text, params) for text in texts.filter(~plain).to_list()]
    return replaced(texts, ~plain, pl.Series(others, dtype=pl.String))


def _text(query: str, params: LogParameters) -> str | None:
    try:
        return clean_query(query, params)
    except RejectError:
        return None


def shown_in(results: pa.ListArray) -> Rows:
    """How many results each row has; 0 where one of them is absent."""
    shown = lengths(results)
    absent = text_lengths(pc.list_flatten(results)) == 0
    shown[parents(results)[absent]] = 0
    return shown


def _sure_clicks(clicks: pa.Array, shown: Rows, params: LogParameters) -> Mask:
    """Whether there are as many results as there may be, and clicks are on them."""
    sure = (shown >= 1) & (shown <= params.max_results)
    ranks = pc.list_flatten(clicks).fill_null(0).to_numpy()
    rows = parents(clicks)
    sure[rows[(ranks < 1) | (ranks > shown[rows])]] = False
    return sure
