"""A query log on its own: a file of any format of `ingest` in, a view of checked result pages out.

Queries and URLs are taken as they stand, but that a query is NFC with single spaces: nothing is
folded or made canonical. Times are not looked at. Records that are no result page are counted by
the rule they break, never kept.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import DataError, FormatError, UsageError
from builder.ingest.lists import is_text
from builder.ingest.logs import detect_format, inspect_log, read_impressions
from builder.ingest.parquet_bounds import is_list
from builder.io import parquet
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress

SHOWN_EXAMPLES = 3
MOST_RESULTS = 2**16 - 1
AS_THEY_STAND = LogParameters(
    max_query_chars=2**16, max_results=MOST_RESULTS, max_line_bytes=16 * 2**20
)
"""Rules of `[log]` that leave out no page for its size."""


def read_as(params: LogParameters) -> LogParameters:
    """How a log alone is read under a section `[log]`: what it sets, and nothing for its size."""
    return AS_THEY_STAND.model_copy(update={n: getattr(params, n) for n in params.model_fields_set})


PAGES = pa.schema(
    {
        "user": pa.string(),
        "query": pa.string(),
        "results": pa.list_(pa.string()),
        "clicks": pa.list_(pa.uint16()),
    }
)
NEEDED = {name: PAGES.field(name).type for name in ("query", "results", "clicks")}

RULES = """
CREATE VIEW ruled AS
SELECT file_row_number AS impression, "user", query, results, clicks,
       CASE WHEN query IS NULL THEN 'bad_query'
            WHEN query = '' THEN 'empty_query'
            WHEN results IS NULL OR list_count(results) < len(results)
                 OR list_contains(results, '') THEN 'bad_results'
            WHEN len(results) = 0 THEN 'no_results'
            WHEN len(results) > 65535 THEN 'too_many_results'
            WHEN clicks IS NULL OR list_count(clicks) < len(clicks) THEN 'bad_clicks'
            WHEN list_min(clicks) < 1 OR list_max(clicks) > len(results) THEN 'click_not_shown'
       END AS reason
FROM offered
"""

KEPT = """
CREATE VIEW used_impressions AS
SELECT impression, "user", query, results, clicks::USMALLINT[] AS clicks
FROM ruled WHERE reason IS NULL
"""

REJECTED = """
SELECT reason, count(*) FROM ruled WHERE reason IS NOT NULL GROUP BY reason ORDER BY reason
"""


@dataclass
class LogAccount:
    """What a log held.

    Args:
        file: The log.
        impressions: Records offered.
        rejected: Records that are no result page, by the rule they break.
        lines: First records at fault for each rule; of a Parquet file that is read as it is, none.
        notes: What the user should confirm, such as a detected encoding.
    """

    file: str
    impressions: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    lines: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def reject(self, reason: str, line: int) -> None:
        """Account for one bad line."""
        self.rejected[reason] += 1
        examples = self.lines.setdefault(reason, [])
        if len(examples) < SHOWN_EXAMPLES:
            examples.append(line)

    @property
    def used(self) -> int:
        """Records that are result pages."""
        return self.impressions - sum(self.rejected.values())


def open_log(
    connection: duckdb.DuckDBPyConnection,
    log: Path,
    limits: Limits,
    progress: Progress,
    reading: LogParameters = AS_THEY_STAND,
) -> LogAccount:
    """Make a log the view `used_impressions` of a connection.

    A Parquet file whose columns are those of the view is read where it lies, any other log is
    decoded first.

    Args:
        connection: Receives the views `offered`, `ruled` and `used_impressions` (impression,
            user, query, results, clicks), the latter with valid rows only.
        log: JSON lines, Parquet, CSV or TSV, or the actions of Yandex's challenge, plain, gzip or
            zstd; told by its first bytes, see `read_impressions`.
        limits: Threads, memory, and scratch space for the decoded records.
        progress: Told how many records were read.
        reading: What its fields are called, and what they look like; see `read_as`.

    Raises:
        UsageError: no such file.
        FormatError: the file lacks what a log must have, or cannot be read.
    """
    if not log.is_file():
        raise UsageError(f"{log}: no such log; give a file of JSON lines, Parquet, CSV or TSV")
    account = LogAccount(str(log))
    rows = _rows_as_they_are(log) if reading == AS_THEY_STAND else None
    if rows is not None:
        account.impressions = rows
        _offer(connection, log)
    else:
        decoded = limits.scratch / "decoded.parquet"
        _decode(log, decoded, account, limits, progress, reading)
        _offer(connection, decoded)
    connection.execute(RULES)
    connection.execute(KEPT)
    return account


def account_for_rejects(
    connection: duckdb.DuckDBPyConnection, account: LogAccount, used: int
) -> None:
    """Find why rows of a Parquet log were left out, where any were.

    Args:
        connection: Has the view `ruled`.
        account: The account to complete.
        used: Rows that were used.

    Raises:
        DataError: there were rows, and none of them is an impression.
    """
    if account.used != used:
        account.rejected.update(dict(connection.execute(REJECTED).fetchall()))
    if account.impressions and account.rejected.total() == account.impressions:
        reasons = ", ".join(f"{name} {rows:,}" for name, rows in sorted(account.rejected.items()))
        raise DataError(
            f"expected impressions, found {account.impressions:,} records and none that can be "
            f"used ({reasons}); an impression has a query, a list of results and a list of "
            "clicks; a definition tells other names by [log.fields], clicks that are no ranks by "
            "log.click_form, ids of documents by log.address"
        )


def _rows_as_they_are(log: Path) -> int | None:
    """Rows of a Parquet file that needs no decoding; None for any other file."""
    if detect_format(Source(log, str(log))) != "parquet":
        return None
    try:
        with pq.ParquetFile(log) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"expected a Parquet file: {error}", log) from None
    kinds = [schema.field(name).type for name in NEEDED if name in schema.names]
    fits = len(kinds) == len(NEEDED) and all(map(_fits, kinds, NEEDED.values()))
    return int(rows) if fits else None


def _offer(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    rows = parquet.rows(connection, path, file_row_number=True)
    if "user" not in rows.columns:
        rows = rows.project('NULL::VARCHAR AS "user", *')
    rows.create_view("offered")


def _fits(kind: pa.DataType, needed: pa.DataType) -> bool:
    """Whether a column can be taken for one of texts, of lists of texts or of lists of ranks."""
    if pa.types.is_list(needed):
        return is_list(kind) and _fits(kind.value_type, needed.value_type)
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(needed):
        return bool(pa.types.is_integer(kind))
    return is_text(kind)


def _decode(
    log: Path,
    out: Path,
    account: LogAccount,
    limits: Limits,
    progress: Progress,
    reading: LogParameters,
) -> None:
    """Write a log's result pages to Parquet and count the records that are none."""
    progress.start(f"read {log.name}", None, "records")
    source = Source(log, str(log))
    if note := inspect_log(source, reading).note:
        account.notes.append(note)
    batches = read_impressions(source, None, reading, limits)
    with pq.ParquetWriter(out, PAGES, compression="zstd", compression_level=1) as writer:
        for records in batches:
            account.impressions += len(records)
            for number, reason in sorted(records.rejects):
                account.reject(reason, number)
            writer.write_table(records.impressions.select(PAGES.names).cast(PAGES))
            progress.advance(len(records))
    progress.finish()
