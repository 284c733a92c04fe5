"""The stage `log`: converts the query logs of a snapshot to impressions.

Writes the tables `impressions` (without texts, times or user ids), `log_queries` and `log_urls`.
Every record that does not become an impression is written to the rejects, with its file and line.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.errors import DataError
from builder.ingest.advice import (
    CLICK_REASONS,
    LOG_ADVICE,
    REPEATED,
    advise_on_rejects,
    frequent_reasons,
    note_empty_files,
    note_rejected_clicks,
)
from builder.ingest.columns import note_missing_columns
from builder.ingest.logs.checks import check_records
from builder.ingest.logs.copies import check_contents_differ
from builder.ingest.logs.detection import LogFile, determine_format_and_encoding
from builder.ingest.logs.encoded_queries import note_encoded_queries
from builder.ingest.logs.formats import (
    ENGINE_SHARE,
    DeferredBatch,
    optional_column_presence,
    read_raw_batches,
)
from builder.ingest.logs.keys import EncodedRecords, KeyEncoder
from builder.ingest.logs.staging import StagedLog
from builder.ingest.logs.strings import StringTableWriter
from builder.ingest.logs.unused_fields import note_unused_fields
from builder.ingest.logs.user_rules import find_impressions_to_drop
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.plugins import plugin_packages
from builder.reporting.numbers import pluralize
from builder.runtime.executors import ordered_map
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import FileReference, SnapshotInterval
from builder.runtime.stage import stage
from schemas import Impressions, LogQueries, LogUrls

SECRET_BYTES = 2**20
"""Number of leading bytes of each log file from which the secret key is derived."""
USER_RULES_SHARE = 0.6
"""Fraction of the memory limit that DuckDB may use to sort impressions, and to find bots and
repeated impressions."""


@stage(
    "log",
    version="20",
    writes=(Impressions, LogQueries, LogUrls),
    plugins=lambda w: plugin_packages("log_readers", w.log_formats),
)
def ingest_log(
    out: Path,
    *,
    files: Annotated[Sequence[Source], FileReference(lambda w, key: w.snapshot(key).log)],
    interval: SnapshotInterval,
    params: LogParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: read the query logs of a snapshot as impressions, with keys instead of texts.

    Args:
        out: Output folder for `impressions`, `log_queries`, `log_urls` and `rejects`.
        files: Log files in reading order.
        interval: Time interval of the snapshot; impressions outside it are rejected.
        params: Section `[log]` of the definition.
        limits: Number of threads, memory limit and scratch folder.
        progress: Advances by the number of records read.

    Returns:
        Ledger, which counts the records read, kept and rejected.

    Raises:
        FormatError: a file cannot be opened, or required columns are missing.
        DataError: two files have equal content, two strings have the same key, or the log has no
            impressions or no clicks although section `[log]` requires some.
    """
    logs = [determine_format_and_encoding(file, params) for file in files]
    check_contents_differ(logs, params, limits)
    ledger = RowLedger("records", notes=[log.note for log in logs if log.note])
    if len(logs) > 1:
        columns = {log.source.name: optional_column_presence(log, params) for log in logs}
        ledger.notes.extend(note_missing_columns(columns))
    ledger.notes.extend(note_unused_fields(logs, params))
    split_notes: list[str] = []
    added = 0
    with RejectWriter(out, "log", ledger) as rejects:
        with StagedLog(limits.scratch) as staged_log, StringTableWriter(limits) as strings:
            for index, keyed in _encode_batches(logs, interval, params, limits, split_notes):
                staged_log.add(keyed.impressions, index)
                strings.add(keyed.queries, keyed.urls)
                for record, reason in keyed.rejects:
                    rejects.add(reason, file=files[index].name, line=record)
                records = len(keyed.impressions) + len(keyed.rejects)
                added += keyed.schemes_added
                ledger.rows_in += records
                progress.advance(records)
            strings.write_tables(out)
        if not staged_log.is_sorted:
            staged_log = _sort_by_time(staged_log, limits)
        dropped = _read_impressions_to_drop(staged_log, params, limits)
        for file, record, reason in dropped.select("file", "record", "reason").iter_rows():
            rejects.add(reason, file=files[file].name, line=record)
        numbers = dropped["impression"].to_numpy()
        ledger.rows_out = staged_log.write_impressions(out / "impressions", numbers, limits.threads)
    if added:
        ledger.notes.append(
            f"{added:,} results without a URL scheme were read as {params.scheme}:// (log.scheme)"
        )
    ledger.notes.extend(note_empty_files(files))
    ledger.notes.extend(note_encoded_queries(out / "log_queries.parquet"))
    ledger.notes.extend(split_notes)
    ledger.notes.extend(_note_rejects(ledger, staged_log.clicked, are_split=bool(split_notes)))
    _check_not_empty(ledger, staged_log, params, files)
    return ledger


def _note_rejects(ledger: RowLedger, clicked_count: int, *, are_split: bool) -> Iterator[str]:
    """Yield notes with advice on frequent reject reasons.

    Args:
        ledger: Ledger, which counts the records read and rejected.
        clicked_count: Number of impressions with clicks.
        are_split: Whether searches seem to have been split into several impressions. If so, these
            may be rejected as repeated, and the advice on repeated impressions does not apply.
    """
    advice = {k: v for k, v in LOG_ADVICE.items() if k != REPEATED or not are_split}
    yield from advise_on_rejects(ledger.rejected, ledger.rows_in, advice)
    yield from note_rejected_clicks(ledger.rejected, ledger.rows_in, clicked_count)


def _encode_batches(
    logs: Sequence[LogFile],
    interval: Interval,
    params: LogParameters,
    limits: ResourceLimits,
    notes: list[str],
) -> Iterator[tuple[int, EncodedRecords]]:
    """Yield the file index and the impressions of each batch, with keys instead of strings.

    Notes about split impressions are appended to `notes`.
    """
    with limits.connect_to_duckdb(ENGINE_SHARE) as connection:
        secret = _derive_secret_key([log.source for log in logs])
        encoder = KeyEncoder(secret, params.address, params.scheme, connection)
        wanted = interval if params.undated == "reject" else None

        def encode_batch(batch: tuple[int, DeferredBatch]) -> tuple[int, EncodedRecords]:
            index, parse = batch
            records = check_records(parse(connection), wanted, params, connection)
            return index, encoder.encode(records, None if wanted else interval.start)

        batches = read_raw_batches(logs, wanted, params, limits, notes)
        yield from ordered_map(encode_batch, batches, limits.threads)


def _sort_by_time(staged_log: StagedLog, limits: ResourceLimits) -> StagedLog:
    """Return a copy of a staged log, sorted by time."""
    with limits.connect_to_duckdb(USER_RULES_SHARE) as connection:
        return staged_log.sort_by_time(limits.scratch / "by-time", connection)


def _read_impressions_to_drop(
    staged_log: StagedLog, params: LogParameters, limits: ResourceLimits
) -> pl.DataFrame:
    """Return the impressions that the user rules drop, each with the reason."""
    with limits.connect_to_duckdb(USER_RULES_SHARE) as connection:
        return pl.DataFrame(find_impressions_to_drop(connection, staged_log.log, params).read_all())


def _derive_secret_key(files: Sequence[Source]) -> str:
    """Derive the secret key for pseudonymizing user ids by hashing the start of each log file."""
    digest = hashlib.sha256()
    for file in files:
        with file.path.open("rb") as raw:
            digest.update(raw.read(SECRET_BYTES))
    return digest.hexdigest()


def _check_not_empty(
    ledger: RowLedger, staged_log: StagedLog, params: LogParameters, files: Sequence[Source]
) -> None:
    """Check that a log has impressions and clicks, unless section `[log]` allows it to have none.

    Raises:
        DataError: the log has no impressions or no clicks.
    """
    others = len(files) - 1
    more = f" and {others:,} more {'file' if others == 1 else 'files'}" if others else ""
    names = f"{files[0].name}{more}"
    counts = ", ".join(f"{rows:,} {reason}" for reason, rows in ledger.rejected.most_common(5))
    if not ledger.rows_out and params.empty == "refuse":
        reasons = frequent_reasons(ledger.rejected, ledger.rows_in, LOG_ADVICE)
        remedies = "".join(f"{LOG_ADVICE[reason]}; " for reason in reasons)
        raise DataError(
            f"expected impressions, found none in {pluralize(ledger.rows_in, 'record')}"
            f"{f' ({counts})' if counts else ''} of {names}; {remedies}"
            f"{'otherwise ' if remedies else ''}check [log.fields], log.format and the interval "
            'of the snapshot, or set log.empty = "allow"'
        )
    if ledger.rows_out and not staged_log.clicked and params.clickless == "refuse":
        rejected = [(ledger.rejected[reason], reason) for reason in CLICK_REASONS]
        lost = ", ".join(f"{rows:,} {reason}" for rows, reason in rejected if rows)
        raise DataError(
            f"expected clicks, found none in {pluralize(ledger.rows_out, 'impression')} of {names}"
            f"{f' (rejected: {lost})' if lost else ''}; check "
            f"log.fields.clicks (now {params.fields.clicks!r}), log.fields.clicked and "
            'log.click_form, or set log.clickless = "allow"'
        )
