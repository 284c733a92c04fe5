"""A query log on its own: a JSON-lines or Parquet file in, a view of checked result pages out.

Queries and URLs are taken as they stand: nothing is folded or made canonical. Rows that are no
result page are counted by the rule they break, never kept.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from builder.clicks.log_lines import Page, read_pages
from builder.errors import DataError, FormatError, UsageError
from builder.ingest.rejects import RejectError
from builder.progress import Progress
from builder.sources import Source

LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".json.gz", ".json.zst")
ROWS_PER_BATCH = 50_000
SHOWN_EXAMPLES = 3

PAGES = pa.schema(
    [
        ("user", pa.string()),
        ("query", pa.string()),
        ("results", pa.list_(pa.string())),
        ("clicks", pa.list_(pa.uint16())),
    ]
)

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
        lines: First lines at fault for each rule; only lines of JSON have a number.
    """

    file: str
    impressions: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    lines: dict[str, list[int]] = field(default_factory=dict)

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
    connection: duckdb.DuckDBPyConnection, log: Path, scratch: Path, progress: Progress
) -> LogAccount:
    """Make a log the view `used_impressions` of a connection.

    Args:
        connection: Receives the views `offered`, `ruled` and `used_impressions` (impression,
            user, query, results, clicks), the latter with valid rows only.
        log: `.jsonl` or `.json`, plain, `.gz` or `.zst`, or `.parquet` with the columns query,
            results (list of text), clicks (list of 1-based ranks) and, optionally, user (text).
        scratch: Existing folder for the decoded lines.
        progress: Told how many lines were read.

    Raises:
        UsageError: no such file, or a kind of file that is not known.
        FormatError: the file is not what its name says.
    """
    if not log.is_file():
        raise UsageError(f"{log}: no such log; give a file of JSON lines or Parquet")
    account = LogAccount(str(log))
    if log.suffix == ".parquet":
        _offer_parquet(connection, log, account)
    elif log.name.endswith(LINES):
        decoded = scratch / f"{log.name}.parquet"
        _decode(log, decoded, account, progress)
        _offer(connection, decoded)
    else:
        raise UsageError(f"{log}: expected a log named *.parquet, {', *'.join(LINES)}")
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
            f"used ({reasons}); an impression has a query, a list of results and a list of clicks"
        )


def _offer_parquet(connection: duckdb.DuckDBPyConnection, log: Path, account: LogAccount) -> None:
    try:
        with pq.ParquetFile(log) as file:
            account.impressions = file.metadata.num_rows
            schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"expected a Parquet file: {error}", log) from None
    _check_columns(log, schema)
    _offer(connection, log)


def _offer(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    rows = connection.read_parquet(str(path), file_row_number=True)
    if "user" not in rows.columns:
        rows = rows.project('NULL::VARCHAR AS "user", *')
    rows.create_view("offered")


def _check_columns(log: Path, schema: pa.Schema) -> None:
    expected = {
        "query": ("text", _is_text),
        "results": ("a list of text", lambda kind: _is_list(kind) and _is_text(kind.value_type)),
        "clicks": (
            "a list of integers",
            lambda kind: _is_list(kind) and pa.types.is_integer(kind.value_type),
        ),
    }
    for name, (what, fits) in expected.items():
        found = schema.field(name).type if name in schema.names else None
        if found is None or not fits(found):
            raise FormatError(
                f"expected a column {name} that is {what}, found {found or 'none of that name'} "
                f"(columns: {', '.join(schema.names)})",
                log,
            )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _decode(log: Path, out: Path, account: LogAccount, progress: Progress) -> None:
    """Write the pages of a JSON-lines log as Parquet, and account for the lines that are none."""
    progress.start(f"read {log.name}", None, "lines")
    pages: list[Page] = []
    with pq.ParquetWriter(out, PAGES, compression="zstd", compression_level=1) as writer:
        for line, page in read_pages(Source(log, str(log))):
            account.impressions += 1
            if isinstance(page, RejectError):
                account.reject(str(page), line)
                continue
            pages.append(page)
            if len(pages) == ROWS_PER_BATCH:
                writer.write_batch(_batch(pages))
                progress.advance(len(pages))
                pages.clear()
        writer.write_batch(_batch(pages))
    progress.finish()


def _batch(pages: list[Page]) -> pa.RecordBatch:
    columns = list(zip(*pages, strict=True)) or [()] * len(PAGES)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, PAGES.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PAGES)
