"""Query logs -> impressions in keys: the stage `log`.

In: log files of a snapshot. Out: `impressions` (no text, no time, no user identifier),
`log_queries`, `log_urls`, and a reject with file and line for every line that is no impression.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from builder.ingest.conduct import STAGED, Conduct
from builder.ingest.dictionary import Dictionary
from builder.ingest.impressions import Numbered, read_impressions
from builder.parameters import LogParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sources import Interval, Source
from builder.tables import Ledger, RejectWriter, TableWriter, arrow_schema
from schemas import Impressions

SECRET_BYTES = 2**20
STAGED_COLUMNS = pa.schema(
    [*arrow_schema(Impressions), *(pa.field(n, k) for n, k in STAGED.items())]
)


def ingest_log(
    out: Path,
    *,
    files: Sequence[Source],
    interval: Interval,
    params: LogParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: read the query logs of a snapshot.

    Args:
        out: Folder that receives `impressions`, `log_queries`, `log_urls` and `rejects`.
        files: Log files in the order in which they are read.
        interval: Impressions outside it are rejected.
        params: `[log]`.
        limits: Scratch space and memory.
        progress: Told the lines read.

    Returns:
        An account of the lines.

    Raises:
        FormatError: a file cannot be opened.
        DataError: two strings have one key.
    """
    ledger = Ledger("records")
    staged = limits.scratch / "impressions.parquet"
    with RejectWriter(out, "log", ledger) as rejects:
        with (
            pq.ParquetWriter(staged, STAGED_COLUMNS, compression="zstd") as writer,
            Dictionary(limits, _secret(files)) as dictionary,
        ):
            shown = 0
            for place, file in enumerate(files):
                for records in read_impressions(file, interval, params):
                    for line, reason in records.rejects:
                        rejects.add(reason, file=file.name, line=line)
                    kept = _key(records.impressions, file, dictionary, rejects)
                    writer.write_batch(_batch(kept, shown, place))
                    shown += len(kept)
                    offered = len(records.impressions) + len(records.rejects)
                    ledger.rows_in += offered
                    progress.advance(offered)
            dictionary.write(out)
        conduct = Conduct(staged, params, limits)
        for reason, place, record in conduct.left_out:
            rejects.add(reason, file=files[place].name, line=record)
        with TableWriter(out / "impressions.parquet", Impressions) as table:
            for batch in conduct.kept():
                table.write(batch)
    ledger.rows_out = table.rows
    return ledger


def _secret(files: Sequence[Source]) -> bytes:
    """A key that can be made again from the raw log alone."""
    digest = hashlib.sha256()
    for file in files[:1]:
        with file.path.open("rb") as raw:
            digest.update(raw.read(SECRET_BYTES))
    return digest.digest()


Keyed = tuple[int | None, int, int, list[int], list[int], int, int]
"""User, query, surface, results, clicks, seconds, number of the record."""


def _key(
    parsed: list[Numbered], file: Source, dictionary: Dictionary, rejects: RejectWriter
) -> list[Keyed]:
    """Impressions in keys; those with a query without letters or an impossible URL are left out."""
    queries = dictionary.queries({page.query for _, page in parsed})
    urls = dictionary.urls({url for _, page in parsed for url in page.results})
    users = dictionary.users({page.user for _, page in parsed if page.user is not None})
    kept: list[Keyed] = []
    for number, page in parsed:
        query = queries[page.query]
        results = [urls[url] for url in page.results]
        if query is None:
            rejects.add("query_without_letters", file=file.name, line=number)
        elif None in results:
            rejects.add("bad_url", file=file.name, line=number)
        else:
            user = None if page.user is None else users[page.user]
            docs = [doc for doc in results if doc is not None]
            kept.append((user, query[1], query[0], docs, page.clicks, page.time, number))
    return kept


def _batch(rows: list[Keyed], first: int, file: int) -> pa.RecordBatch:
    users, queries, surfaces, results, clicks, seconds, records = (
        zip(*rows, strict=True) if rows else ((),) * 7
    )
    return pa.record_batch(
        {
            "impression": pa.array(np.arange(first, first + len(rows), dtype=np.uint64)),
            "user": pa.array(users, pa.uint64()),
            "query": pa.array(queries, pa.uint64()),
            "surface": pa.array(surfaces, pa.uint64()),
            "results": _lists(results, pa.uint64()),
            "clicks": _lists(clicks, pa.uint16()),
            "seconds": pa.array(seconds, pa.int64()),
            "file": pa.array([file] * len(rows), pa.uint32()),
            "record": pa.array(records, pa.uint64()),
        },
        schema=STAGED_COLUMNS,
    )


def _lists(values: Sequence[list[int]], kind: pa.DataType) -> pa.ListArray:
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    flat = pa.array([item for value in values for item in value], kind)
    return pa.ListArray.from_arrays(pa.array(offsets), flat)
