"""Encodes the distinct result pages of a log as arrays, for training and testing click models.

Query-document pairs are numbered in ascending order of query, then of document, so that
floating-point numbers are added in the same order on every machine.
"""

from dataclasses import dataclass

import duckdb
import numpy as np

from builder.clicks.models import ResultPages
from builder.clicks.statistics import ENGINE_SHARE
from builder.errors import UsageError
from builder.runtime.limits import ResourceLimits

BYTES_PER_RESULT = 250
"""Peak memory for training the most demanding model, in bytes per result on a distinct page."""

ALL_PAGES = "SELECT query, results, clicks, weight AS train, 0 AS test FROM pages"
"""SQL query that selects all pages of the table `pages` for training."""

ENCODED_PAGES = """
CREATE OR REPLACE TEMP TABLE encoded_pages AS
WITH collapsed AS (
    SELECT query, results, clicks, sum(train)::BIGINT AS train, sum(test)::BIGINT AS test
    FROM ({pages}) GROUP BY query, results, clicks
)
SELECT *, row_number() OVER (ORDER BY query, results, clicks) AS page FROM collapsed
"""

ENCODED_PAIRS = """
CREATE OR REPLACE TEMP TABLE encoded_pairs AS
WITH shown AS (SELECT DISTINCT query, unnest(results) AS doc FROM encoded_pages)
SELECT query, doc, row_number() OVER (ORDER BY query, doc) - 1 AS pair FROM shown
"""

NUMBER_OF_RESULTS = "SELECT coalesce(sum(len(results)), 0)::BIGINT FROM encoded_pages"

NUMBER_OF_PAIRS = "SELECT count(*) FROM encoded_pairs"

PAGE_ROWS = """
SELECT len(results)::BIGINT AS length, train, test, coalesce(clicks[-1], 0)::BIGINT AS latest
FROM encoded_pages ORDER BY page
"""

RESULT_ROWS = """
WITH ranks AS (
    SELECT page, query, unnest(results) AS doc, generate_subscripts(results, 1) AS rank, clicks
    FROM encoded_pages
)
SELECT pair, list_contains(clicks, rank::USMALLINT) AS clicked
FROM ranks JOIN encoded_pairs USING (query, doc)
ORDER BY page, rank
"""


@dataclass(frozen=True)
class EncodedLog:
    """Training and test pages of a log, with a common numbering of query-document pairs.

    Args:
        train: Training pages.
        test: Test pages; empty if there is no test set.
    """

    train: ResultPages
    test: ResultPages


def encode_pages(
    connection: duckdb.DuckDBPyConnection, sql: str, limits: ResourceLimits
) -> EncodedLog:
    """Run an SQL query that returns result pages, and encode the pages as arrays.

    Args:
        connection: DuckDB connection; receives the table `encoded_pairs` (query, doc, pair).
        sql: Trusted SQL query that returns the columns query, results, clicks, train and test; the
            last two are the numbers of training and test impressions of a page.
        limits: Memory limit for arrays.

    Raises:
        UsageError: the arrays would exceed the memory limit.
    """
    connection.execute(ENCODED_PAGES.format(pages=sql))
    _check_encoded_size(connection, int(limits.memory * (1 - ENGINE_SHARE)))
    connection.execute(ENCODED_PAIRS)
    number = connection.execute(NUMBER_OF_PAIRS).fetchall()[0][0]
    rows = connection.execute(PAGE_ROWS).fetchnumpy()
    results = connection.execute(RESULT_ROWS).fetchnumpy()
    everything = ResultPages(
        pair=np.asarray(results["pair"], dtype=np.int64),
        clicked=np.asarray(results["clicked"], dtype=np.bool_),
        start=np.concatenate([[0], np.cumsum(rows["length"])]).astype(np.int64),
        weight=np.ones(len(rows["length"]), dtype=np.int64),
        latest=np.asarray(rows["latest"], dtype=np.int64),
        pairs=int(number),
    )
    return EncodedLog(
        *(everything.reweight(np.asarray(rows[name], dtype=np.int64)) for name in ("train", "test"))
    )


def _check_encoded_size(connection: duckdb.DuckDBPyConnection, available_bytes: int) -> None:
    """Raise a UsageError if the encoded pages would need more memory than is available."""
    shown = connection.execute(NUMBER_OF_RESULTS).fetchall()[0][0]
    needed = shown * BYTES_PER_RESULT
    if needed > available_bytes:
        raise UsageError(
            f"{shown:,} results on distinct result pages need about {needed // 2**20} MiB of "
            f"memory, but only {available_bytes // 2**20} MiB are available; increase --memory to "
            f"{2 * needed // 2**20 + 1} MiB, or use the model sdbn, which keeps no result pages in "
            "memory"
        )
