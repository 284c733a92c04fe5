"""Query logs -> impressions in keys: the stage `log`.

In: log files of a snapshot. Out: `impressions` (no text, no time, no user identifier),
`log_queries`, `log_urls`, and a reject with file and line for every line that is no impression.
"""

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from builder.executors import in_order
from builder.ingest.conduct import STAGED, Conduct
from builder.ingest.dictionary import Dictionary
from builder.ingest.impressions import read_impressions
from builder.ingest.keying import key_records, prepare
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
            pq.ParquetWriter(
                staged, STAGED_COLUMNS, compression="none", use_dictionary=False
            ) as writer,
            Dictionary(limits, _secret(files)) as dictionary,
        ):
            shown = 0
            work = partial(prepare, dictionary=dictionary)
            for place, file in enumerate(files):
                read = read_impressions(file, interval, params, limits.threads)
                for prepared in in_order(work, read, limits.threads):
                    keyed, left = key_records(prepared, dictionary)
                    for record, reason in left:
                        rejects.add(reason, file=file.name, line=record)
                    writer.write_table(_staged(keyed, shown, place))
                    shown += len(keyed)
                    ledger.rows_in += len(keyed) + len(left)
                    progress.advance(len(prepared.records))
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


def _staged(keyed: pa.Table, first: int, file: int) -> pa.Table:
    """Keyed impressions with their running number, and that of their file."""
    numbers = np.arange(first, first + len(keyed), dtype=np.uint64)
    files = np.full(len(keyed), file, dtype=np.uint32)
    table = keyed.append_column("impression", pa.array(numbers))
    return table.append_column("file", pa.array(files)).select(STAGED_COLUMNS.names)
