"""Impressions as logged -> impressions in keys, and those that have none.

In: batches of `columns.LOGGED`. Out: batches of the columns that impressions have in scratch space
(see `conduct`), in the order of their records.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.columns import Mask, Records, lengths, lists_of
from builder.ingest.dictionary import Dictionary

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


def key_records(records: Records, dictionary: Dictionary) -> tuple[pa.Table, Rejects]:
    """The impressions of some records in keys, by their number; rejects as number and reason."""
    keyed, rejects = [], list(records.rejects)
    for batch in records.impressions:
        found, left = _keyed(batch, dictionary)
        keyed.append(found)
        rejects += left
    table = pa.Table.from_batches(keyed, KEYED)
    return (table.sort_by("record") if len(keyed) > 1 else table), rejects


def _keyed(batch: pa.RecordBatch, dictionary: Dictionary) -> tuple[pa.RecordBatch, Rejects]:
    shown = lengths(batch["results"])
    forms = _keys(batch["query"], dictionary.queries)
    docs = _keys(pc.list_flatten(batch["results"]), dictionary.urls)
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


def _keys(texts: pa.DictionaryArray, keys_of: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The keys of texts, of which only those that occur are looked up."""
    occurs = np.zeros(len(texts.dictionary), dtype=bool)
    occurs[texts.indices.drop_null().to_numpy()] = True
    keys = keys_of(texts.dictionary.filter(pa.array(occurs)))
    places = np.cumsum(occurs) - 1
    return keys.take(pa.array(np.where(occurs, places, 0)).take(texts.indices))


def _without(keyed: pa.RecordBatch, wordless: Mask, misled: Mask) -> tuple[pa.RecordBatch, Rejects]:
    """The rows that have all their keys, and a reason for each other one."""
    rejects: Rejects = []
    for mask, reason in ((wordless, "query_without_letters"), (misled, "bad_url")):
        rejects += [
            (number, reason) for number in keyed["record"].filter(pa.array(mask)).to_pylist()
        ]
    return (keyed.filter(pa.array(~(wordless | misled))) if rejects else keyed), rejects
