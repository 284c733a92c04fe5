"""Impressions as logged -> impressions in keys, and those that have none.

In: batches of `columns.LOGGED`. Out: batches of the columns that impressions have in scratch space
(see `conduct`), in the order of their records.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.columns import Mask, Records, lengths, lists_of
from builder.ingest.dictionary import Dictionary, HashedUrls

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


class Prepared(NamedTuple):
    """Records, and of each of their batches the addresses that were shown."""

    records: Records
    urls: list[tuple[Occurring, HashedUrls]]


def prepare(records: Records, dictionary: Dictionary) -> Prepared:
    """What can be found out of some records beside others, in any thread."""
    shown = [occurring(pc.list_flatten(batch["results"])) for batch in records.impressions]
    return Prepared(records, [(found, dictionary.hashed(found.texts)) for found in shown])


def key_records(prepared: Prepared, dictionary: Dictionary) -> tuple[pa.Table, Rejects]:
    """The impressions of some records in keys, by their number; rejects as number and reason."""
    keyed, rejects = [], list(prepared.records.rejects)
    for batch, (found, hashed) in zip(prepared.records.impressions, prepared.urls, strict=True):
        docs = dictionary.urls(found.texts, hashed).take(found.places)
        found_keys, left = _keyed(batch, docs, dictionary)
        keyed.append(found_keys)
        rejects += left
    table = pa.Table.from_batches(keyed, KEYED)
    return (table.sort_by("record") if len(keyed) > 1 else table), rejects


def _keyed(
    batch: pa.RecordBatch, docs: pa.Array, dictionary: Dictionary
) -> tuple[pa.RecordBatch, Rejects]:
    shown = lengths(batch["results"])
    forms = _keys(batch["query"], dictionary.queries)
    columns = {
        "user": _keys(batch["user"], dictionary.users),
        "query": pc.struct_field(forms, "query"),
        "surface": pc.struct_field(forms, "surface"),
        "results": lists_of(shown, docs),
        "clicks": batch["clicks"],
        "seconds": batch["time"],
        "record": batch["record"],
    }
    keyed = pa.record_batch(columns, schema=KEYED)
    wordless = keyed["query"].is_null().to_numpy(zero_copy_only=False)
    misled = np.zeros(len(keyed), dtype=bool)
    if docs.null_count:
        missing = docs.is_null().to_numpy(zero_copy_only=False)
        misled[np.repeat(np.arange(len(keyed)), shown)[missing]] = True
    return _without(keyed, wordless, misled & ~wordless)


def _keys(values: pa.DictionaryArray, keys_of: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The keys of texts, of which only those that occur are looked up."""
    found = occurring(values)
    return keys_of(found.texts).take(found.places)


def occurring(values: pa.DictionaryArray) -> Occurring:
    """The texts of a column that occur in it."""
    occurs = np.zeros(len(values.dictionary), dtype=bool)
    occurs[values.indices.drop_null().to_numpy()] = True
    places = pa.array(np.where(occurs, np.cumsum(occurs) - 1, 0)).take(values.indices)
    return Occurring(values.dictionary.filter(pa.array(occurs)), places)


def _without(keyed: pa.RecordBatch, wordless: Mask, misled: Mask) -> tuple[pa.RecordBatch, Rejects]:
    """The rows that have all their keys, and a reason for each other one."""
    rejects: Rejects = []
    for mask, reason in ((wordless, "query_without_letters"), (misled, "bad_url")):
        rejects += [
            (number, reason) for number in keyed["record"].filter(pa.array(mask)).to_pylist()
        ]
    return (keyed.filter(pa.array(~(wordless | misled))) if rejects else keyed), rejects
