"""The stage `log`: query logs to impressions in keys.

In: log files of a snapshot. Out: `impressions` (no text, no time, no user identifier),
`log_queries`, `log_urls`, and a reject with file and line for every record that is no impression.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.errors import DataError
from builder.ingest.logs.checks import check_records
from builder.ingest.logs.detection import LogFile, inspect_log
from builder.ingest.logs.formats import ENGINE_SHARE, Batch, raw_batches
from builder.ingest.logs.keys import KeyedRecords, Keyer
from builder.ingest.logs.staging import Staging
from builder.ingest.logs.strings import StringTables
from builder.ingest.logs.user_rules import dropped_impressions
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.plugins import described
from builder.runtime.executors import in_order
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files, SnapshotInterval
from builder.runtime.stage import stage
from schemas import Impressions, LogQueries, LogUrls

SECRET_BYTES = 2**20
"""Bytes of each log file that the key of the pseudonyms is derived from."""
RULES_SHARE = 0.6
"""Fraction of the memory limit for the engine that applies the user rules."""


@stage(
    "log",
    version="12",
    writes=(Impressions, LogQueries, LogUrls),
    plugins=lambda w: described("log_readers", w.log_formats),
)
def ingest_log(
    out: Path,
    *,
    files: Annotated[Sequence[Source], Files(lambda w, key: w.snapshot(key).log)],
    interval: SnapshotInterval,
    params: LogParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Read the query logs of a snapshot.

    Args:
        out: Folder that receives `impressions`, `log_queries`, `log_urls` and `rejects`.
        files: Log files in the order in which they are read.
        interval: Impressions outside it are rejected.
        params: `[log]`.
        limits: Threads, memory and scratch space.
        progress: Counts the records read.

    Returns:
        The ledger, with counts in records.

    Raises:
        FormatError: a file cannot be opened, or lacks needed columns.
        DataError: two strings have one key; or, unless allowed, no record is an impression, or no
            impression has a click.
    """
    logs = [inspect_log(file, params) for file in files]
    ledger = Ledger("records", notes=[log.note for log in logs if log.note])
    completed = 0
    with RejectWriter(out, "log", ledger) as rejects:
        with Staging(limits.scratch) as staging, StringTables(limits) as strings:
            for index, keyed in _keyed(logs, interval, params, limits):
                staging.add(keyed.impressions, index)
                strings.add(keyed.queries, keyed.urls)
                for record, reason in keyed.rejects:
                    rejects.add(reason, file=files[index].name, line=record)
                records = len(keyed.impressions) + len(keyed.rejects)
                completed += keyed.completed
                ledger.rows_in += records
                progress.advance(records)
            strings.write(out)
        dropped = _dropped(staging, params, limits)
        for file, record, reason in dropped.select("file", "record", "reason").iter_rows():
            rejects.add(reason, file=files[file].name, line=record)
        numbers = dropped["impression"].to_numpy()
        ledger.rows_out = staging.write(out / "impressions", numbers, limits.threads)
    if completed:
        ledger.notes.append(
            f"{completed:,} results without a scheme were read as {params.scheme}:// (log.scheme)"
        )
    _check_not_empty(ledger, staging, params)
    return ledger


def _keyed(
    logs: Sequence[LogFile], interval: Interval, params: LogParameters, limits: Limits
) -> Iterator[tuple[int, KeyedRecords]]:
    """Yield each keyed batch with its file index, in log order."""
    with limits.connect(ENGINE_SHARE) as connection:
        secret = _secret([log.source for log in logs])
        keyer = Keyer(secret, params.address, params.scheme, connection)
        wanted = interval if params.undated == "reject" else None

        def key(batch: Batch) -> KeyedRecords:
            records = check_records(batch(connection), wanted, params, connection)
            return keyer.key(records, None if wanted else interval.start)

        for index, log in enumerate(logs):
            batches = raw_batches(log, wanted, params, limits)
            for keyed in in_order(key, batches, limits.threads):
                yield index, keyed


def _dropped(staging: Staging, params: LogParameters, limits: Limits) -> pl.DataFrame:
    """The impressions that a user rule drops; see `user_rules.dropped_impressions`."""
    with limits.connect(RULES_SHARE) as connection:
        return pl.DataFrame(dropped_impressions(connection, staging.log, params).read_all())


def _secret(files: Sequence[Source]) -> str:
    """Hexadecimal key that can be derived again from the raw logs alone."""
    digest = hashlib.sha256()
    for file in files:
        with file.path.open("rb") as raw:
            digest.update(raw.read(SECRET_BYTES))
    return digest.hexdigest()


def _check_not_empty(ledger: Ledger, staging: Staging, params: LogParameters) -> None:
    """Raise a DataError for a log without impressions or without clicks, unless it is allowed."""
    counts = ", ".join(f"{rows:,} {reason}" for reason, rows in ledger.rejected.most_common(5))
    if not ledger.rows_out and params.empty == "refuse":
        raise DataError(
            f"expected impressions, found none among {ledger.rows_in:,} records"
            f"{f' ({counts})' if counts else ''}; check [log.fields], log.format and the interval "
            'of the snapshot, or set log.empty = "allow"'
        )
    if ledger.rows_out and not staging.clicked and params.clickless == "refuse":
        raise DataError(
            f"expected clicks, found none on {ledger.rows_out:,} impressions; check "
            f"log.fields.clicks (now {params.fields.clicks!r}), log.fields.clicked and "
            'log.click_form, or set log.clickless = "allow"'
        )
