"""Counts per query-document pair, from which the sDBN model is estimated.

Chapelle & Zhang (2009), section 5: ranks up to the last click of a result page are examined; on a
page without clicks, all ranks are examined, unless such pages are skipped (`no_click`). Repeated
clicks on a rank count once; a document shown twice on a page is counted at both ranks. All counts
are integers, so they do not depend on the order of rows, threads or shards, and the statistics of
two logs add up to those of their concatenation.

The relations build on each other: `used_impressions`, `read_pages`, `pages` (see `distinct_pages`),
`shown` (one row per shown result), `counted` and `pair_counts` (one row per pair).
"""

from typing import NamedTuple

import duckdb

from builder.clicks.distinct_pages import create_distinct_pages
from builder.io.engine import set_sql_variables
from builder.parameters import ClickParameters

ENGINE_SHARE = 0.5
"""Fraction of the memory limit given to DuckDB, which also allocates memory beyond its limit."""
SDBN_ENGINE_SHARE = 0.7
"""Fraction of the memory limit given to DuckDB if the model is sDBN, which needs no arrays."""

SHOWN = """
CREATE VIEW shown AS
WITH ranks AS (
    SELECT query, unnest(results) AS doc, generate_subscripts(results, 1) AS rank,
           clicks, deepest, weight::INTEGER AS weight,
           CASE WHEN getvariable('last_by_time') THEN latest ELSE deepest END AS last
    FROM pages {where}
)
SELECT query, doc, rank, weight,
       deepest IS NOT NULL AS on_clicked_page,
       rank <= deepest AS above_last_click,
       list_contains(clicks, rank::USMALLINT) AS clicked,
       rank = last AS clicked_last
FROM ranks
"""

COUNTED_BY_IMPRESSION = """
CREATE VIEW counted AS
WITH sums AS (
    SELECT query, doc,
           sum(weight) AS shown_in_all,
           coalesce(sum(weight) FILTER (on_clicked_page), 0) AS shown_in_clicked,
           coalesce(sum(weight) FILTER (above_last_click), 0) AS examined_in_clicked,
           sum(weight) FILTER (clicked) AS clicks,
           sum(weight) FILTER (clicked_last) AS last_clicks
    FROM shown
    GROUP BY query, doc
)
SELECT *, examined_in_clicked + shown_in_all - shown_in_clicked AS examined_in_all FROM sums
"""
"""SQL view of counts per pair. Weights are 32-bit, because sums of 64-bit weights need twice the
memory."""

SHOWN_TO_USER = """
CREATE VIEW shown AS
WITH user_pages AS (
    SELECT DISTINCT "user", CASE WHEN "user" IS NULL THEN impression END AS anonymous,
           query, results, clicks, deepest, latest
    FROM read_pages
),
ranks AS (
    SELECT "user", anonymous, query, unnest(results) AS doc,
           generate_subscripts(results, 1) AS rank, clicks, deepest,
           CASE WHEN getvariable('last_by_time') THEN latest ELSE deepest END AS last
    FROM user_pages
)
SELECT "user", anonymous, query, doc,
       deepest IS NOT NULL AS on_clicked_page,
       rank <= deepest AS above_last_click,
       list_contains(clicks, rank::USMALLINT) AS clicked,
       rank = last AS clicked_last
FROM ranks
"""

COUNTED_BY_USER = """
CREATE VIEW counted AS
WITH votes AS (
    SELECT query, doc,
           bool_or(on_clicked_page) AS on_clicked_page,
           bool_or(above_last_click OR NOT on_clicked_page) AS examined,
           bool_or(above_last_click) AS above_last_click,
           bool_or(clicked) AS clicked,
           bool_or(clicked_last) AS clicked_last
    FROM shown
    GROUP BY "user", anonymous, query, doc
)
SELECT query, doc,
       count(*) AS shown_in_all,
       count(*) FILTER (on_clicked_page) AS shown_in_clicked,
       count(*) FILTER (examined) AS examined_in_all,
       count(*) FILTER (above_last_click) AS examined_in_clicked,
       count(*) FILTER (clicked) AS clicks,
       count(*) FILTER (clicked_last) AS last_clicks
FROM votes
GROUP BY query, doc
"""

UNORDERED_COUNTS = """
CREATE TEMP TABLE unordered_counts AS
WITH totals AS (
    SELECT query, doc,
           CASE WHEN getvariable('skip') THEN shown_in_clicked ELSE shown_in_all
           END AS impressions,
           CASE WHEN getvariable('skip') THEN examined_in_clicked ELSE examined_in_all
           END AS examinations,
           clicks, last_clicks,
           CASE WHEN getvariable('skip') THEN examined_in_all ELSE examined_in_clicked
           END AS other_examinations
    FROM counted
)
SELECT query, doc,
       coalesce(impressions, 0)::UINTEGER AS impressions,
       coalesce(examinations, 0)::UINTEGER AS examinations,
       coalesce(clicks, 0)::UINTEGER AS clicks,
       coalesce(last_clicks, 0)::UINTEGER AS last_clicks,
       coalesce(other_examinations, 0)::UINTEGER AS other_examinations
FROM totals
"""
"""SQL table of counts per pair. Counts are cast before sorting, because DuckDB sorts 128-bit sums
ten times slower."""

NO_PAIR_COUNTS = "CREATE TEMP TABLE pair_counts AS SELECT * FROM unordered_counts LIMIT 0"

PAIR_COUNTS = """
INSERT INTO pair_counts SELECT * FROM unordered_counts ORDER BY query, doc;
DROP TABLE unordered_counts
"""
"""SQL statements that sort the counts. Counts are grouped by other statements, so that DuckDB never
spills data of both operations to disk at once."""

SHOWN_RESULTS = """
SELECT coalesce(sum(len(results)), 0)::BIGINT, coalesce(bool_and(typeof(query) = 'UBIGINT'), false)
FROM pages
"""

IN_RANGE = "WHERE query BETWEEN getvariable('first_query') AND getvariable('last_query')"

BYTES_PER_RESULT = 200
"""Memory in bytes for grouping by pair, per result on distinct pages. Query keys are split into
ranges that fit: 20 million impressions under 2 GiB take 27 s of CPU time, compared to 48 s with
spilling."""

USED_COUNTS = """
SELECT coalesce(sum(weight), 0)::BIGINT,
       coalesce(sum(weight) FILTER (deepest IS NULL), 0)::BIGINT
FROM pages
"""


class ImpressionCounts(NamedTuple):
    """Numbers of impressions that contribute to the click statistics.

    Args:
        total: Number of impressions, with or without clicks.
        without_click: Number of impressions without a click. If the result pages of a visit are
            joined, number of impressions in visits without a click.
    """

    total: int
    without_click: int


def create_pair_counts(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, memory: int
) -> ImpressionCounts:
    """Create the table `pair_counts`, with clicks and examinations per query-document pair.

    Under `no_click = "skip"`, pairs shown only on pages without clicks have 0 impressions.

    Args:
        connection: DuckDB connection with the view `used_impressions` (impression, user, query,
            results, clicks); receives the tables `pages` (query, results, clicks, weight, length,
            deepest, latest) and `pair_counts` (query, doc, impressions, examinations, clicks,
            last_clicks, other_examinations), the latter sorted by query and doc.
        params: Section `[clicks]`; `no_click`, `last`, `votes` and `pages` are used.
        memory: Memory available to DuckDB in bytes.

    Returns:
        The numbers of counted impressions.
    """
    set_sql_variables(
        connection, skip=params.no_click == "skip", last_by_time=params.last == "time"
    )
    by_user = params.votes == "user"
    create_distinct_pages(connection, params)
    ranges = 1 if by_user else _number_of_query_ranges(connection, memory)
    shown = SHOWN.format(where=IN_RANGE if ranges > 1 else "")
    connection.execute(SHOWN_TO_USER if by_user else shown)
    connection.execute(COUNTED_BY_USER if by_user else COUNTED_BY_IMPRESSION)
    for index in range(ranges):
        first, last = (bound * 2**64 // ranges for bound in (index, index + 1))
        set_sql_variables(connection, first_query=first, last_query=last - 1)
        connection.execute(UNORDERED_COUNTS)
        if not index:
            connection.execute(NO_PAIR_COUNTS)
        connection.execute(PAIR_COUNTS)
    return ImpressionCounts(*connection.execute(USED_COUNTS).fetchall()[0])


def _number_of_query_ranges(connection: duckdb.DuckDBPyConnection, memory: int) -> int:
    """Return the number of ranges to split the query keys into, so that each range fits in memory.

    The queries of standalone logs are texts, not keys; they form a single range, because they
    cannot be split evenly.
    """
    results, are_keys = connection.execute(SHOWN_RESULTS).fetchall()[0]
    return 1 + int(results) * BYTES_PER_RESULT // memory if are_keys else 1
