"""Impressions as logged -> impressions in keys, and those that have none.

In: batches of `columns.LOGGED`. Out: batches of the columns that impressions have in scratch space
(see `conduct`), in the order of their records.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.columns import Records
from builder.ingest.dictionary import Dictionary, Looked
from builder.ingest.lists import Mask, compacted, lengths, lists_of, parents
from builder.ingest.paged import Paged

Rejects = list[tuple[int, str]]

KEYED = pa.schema(
    {
        "user": pa.uint64(),
        "query": pa.uint64(),
        "surface": pa.uint64(),
        "results": pa.list_(pa.uint64()),
        "clicks": pa.list_(pa.uint16()),
        "seconds": pa.int64(),
        "record": pa.uint64(),
    }
)


class Occurring(NamedTuple):
    """The texts that occur in a column, and which of them each value is; None: each its own."""

    texts: pa.Array
    places: pa.Array | None


class Hashed(NamedTuple):
    """The texts of a batch and their hashes.

    Args:
        users: Users that occur.
        user_of: Which of them each row has; null without one.
        queries: Texts of queries.
        query_of: Which of them each row has.
        urls: Addresses that were shown; of impressions that are paged, on new pages.
        url_of: Which of them each result is; None: each its own.
    """

    users: Looked
    user_of: pa.Array
    queries: Looked
    query_of: pa.Array
    urls: Looked
    url_of: pa.Array | None


class Prepared(NamedTuple):
    """Records, and what each of their batches says, those that are paged last."""

    records: Records
    hashed: list[Hashed]


def prepare(records: Records, dictionary: Dictionary) -> Prepared:
    """What can be found out of some records beside others, in any thread."""
    hashed = [
        _hashed(batch, pc.list_flatten(batch["results"]), dictionary)
        for batch in records.impressions
    ]
    hashed += [
        _hashed(paged.batch, pc.list_flatten(paged.new), dictionary) for paged in records.paged
    ]
    return Prepared(records, hashed)


def _hashed(batch: pa.RecordBatch, addresses: pa.Array, dictionary: Dictionary) -> Hashed:
    users, queries, urls = map(occurring, (batch["user"], batch["query"], addresses))
    return Hashed(
        dictionary.look_up_users(users.texts),
        users.places,
        dictionary.look_up_queries(queries.texts),
        queries.places,
        dictionary.look_up_urls(urls.texts),
        urls.places,
    )


def key_records(prepared: Prepared, dictionary: Dictionary) -> tuple[pa.Table, Rejects]:
    """The impressions of some records in keys, by their number; rejects as number and reason."""
    records, keyed = prepared.records, list[pa.RecordBatch]()
    rejects = list(records.rejects)
    held = (*records.impressions, *records.paged)
    for batch, hashed in zip(held, prepared.hashed, strict=True):
        found_keys, left = _keyed(batch, hashed, dictionary)
        keyed.append(found_keys)
        rejects += left
    table = pa.Table.from_batches([batch for batch in keyed if len(batch)], KEYED)
    return (table.sort_by("record") if len(table.column(0).chunks) > 1 else table), rejects


def _keyed(
    held: pa.RecordBatch | Paged, hashed: Hashed, dictionary: Dictionary
) -> tuple[pa.RecordBatch, Rejects]:
    docs = dictionary.urls(hashed.urls)
    docs = docs if hashed.url_of is None else docs[hashed.url_of.to_numpy()]
    if isinstance(held, Paged):
        batch, results = held.batch, held.results(docs)
        dictionary.pages.remember(*held.told(docs))
    else:
        batch, results = held, lists_of(lengths(held["results"]), pa.array(docs))
    places = hashed.query_of.to_numpy()
    surfaces, queries = (keys[places] for keys in dictionary.queries(hashed.queries))
    columns = {
        "user": pa.array(dictionary.users(hashed.users)).take(hashed.user_of),
        "query": pa.array(queries),
        "surface": pa.array(surfaces),
        "results": results,
        "clicks": batch["clicks"],
        "seconds": batch["time"],
        "record": batch["record"],
    }
    keyed = pa.record_batch(columns, schema=KEYED)
    wordless, misled = queries == 0, np.zeros(len(keyed), dtype=bool)
    if not docs.all():
        misled[parents(results)[results.values.to_numpy() == 0]] = True
    return _without(keyed, wordless, misled & ~wordless)


def occurring(values: pa.Array) -> Occurring:
    """The texts of a column that occur in it; of a dictionary each once."""
    if not pa.types.is_dictionary(values.type):
        return Occurring(values, None)
    known = compacted(values)
    return Occurring(known.dictionary, known.indices)


def _without(keyed: pa.RecordBatch, wordless: Mask, misled: Mask) -> tuple[pa.RecordBatch, Rejects]:
    """The rows that have all their keys, and a reason for each other one."""
    rejects: Rejects = []
    for mask, reason in ((wordless, "query_without_letters"), (misled, "bad_url")):
        rejects += [
            (number, reason) for number in keyed["record"].filter(pa.array(mask)).to_pylist()
        ]
    return (keyed.filter(pa.array(~(wordless | misled))) if rejects else keyed), rejects
