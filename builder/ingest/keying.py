"""Impressions as logged -> impressions in keys, and those that have none.

In: batches of `columns.LOGGED`. Out: batches of the columns that impressions have in scratch space
(see `conduct`), in the order of their records.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.columns import Mask, Records, Rows, compacted, lengths, lists_of
from builder.ingest.dictionary import Dictionary, Looked

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
    """The texts that occur in a column, each once, and which of them each value is."""

    texts: pa.Array
    places: pa.Array


class Hashed(NamedTuple):
    """The texts of a batch and their hashes.

    Args:
        users: Users that occur.
        user_of: Which of them each row has; null without one.
        queries: Texts of queries.
        query_of: Which of them each row has.
        urls: Addresses that were shown.
        url_of: Which of them each result is.
    """

    users: Looked
    user_of: pa.Array
    queries: Looked
    query_of: Rows
    urls: Looked
    url_of: Rows


class Prepared(NamedTuple):
    """Records, and what each of their batches says."""

    records: Records
    hashed: list[Hashed]


def prepare(records: Records, dictionary: Dictionary) -> Prepared:
    """What can be found out of some records beside others, in any thread."""
    return Prepared(records, [_hashed(batch, dictionary) for batch in records.impressions])


def _hashed(batch: pa.RecordBatch, dictionary: Dictionary) -> Hashed:
    users, queries = occurring(batch["user"]), occurring(batch["query"])
    urls = occurring(pc.list_flatten(batch["results"]))
    return Hashed(
        dictionary.look_up_users(users.texts),
        users.places,
        dictionary.look_up_queries(queries.texts),
        queries.places.to_numpy(),
        dictionary.look_up_urls(urls.texts),
        urls.places.to_numpy(),
    )


def key_records(prepared: Prepared, dictionary: Dictionary) -> tuple[pa.Table, Rejects]:
    """The impressions of some records in keys, by their number; rejects as number and reason."""
    keyed, rejects = [], list(prepared.records.rejects)
    for batch, hashed in zip(prepared.records.impressions, prepared.hashed, strict=True):
        found_keys, left = _keyed(batch, hashed, dictionary)
        keyed.append(found_keys)
        rejects += left
    table = pa.Table.from_batches(keyed, KEYED)
    return (table.sort_by("record") if len(keyed) > 1 else table), rejects


def _keyed(
    batch: pa.RecordBatch, hashed: Hashed, dictionary: Dictionary
) -> tuple[pa.RecordBatch, Rejects]:
    shown = lengths(batch["results"])
    docs = dictionary.urls(hashed.urls)[hashed.url_of]
    surfaces, queries = (keys[hashed.query_of] for keys in dictionary.queries(hashed.queries))
    columns = {
        "user": pa.array(dictionary.users(hashed.users)).take(hashed.user_of),
        "query": pa.array(queries),
        "surface": pa.array(surfaces),
        "results": lists_of(shown, pa.array(docs)),
        "clicks": batch["clicks"],
        "seconds": batch["time"],
        "record": batch["record"],
    }
    keyed = pa.record_batch(columns, schema=KEYED)
    wordless = queries == 0
    misled = np.zeros(len(keyed), dtype=bool)
    missing = docs == 0
    if missing.any():
        misled[np.repeat(np.arange(len(keyed)), shown)[missing]] = True
    return _without(keyed, wordless, misled & ~wordless)


def occurring(values: pa.DictionaryArray) -> Occurring:
    """The texts of a column that occur in it."""
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
