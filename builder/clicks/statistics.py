"""Sufficient statistics of sDBN: impressions in, integer counts of every query-document pair out.

Chapelle & Zhang (2009), section 5: with L the deepest clicked rank of a result page, ranks 1..L
are examined; without a click all ranks are, or the page is no evidence (`no_click`). A rank is
clicked once however often it was clicked; a document shown twice on a page counts at both ranks.
Everything is counted in integers, so the order of rows, threads and shards cannot matter, and the
statistics of two logs add up to those of their union.

Relations, each derived from the one before it: `used_impressions`, `read_pages`, `pages` (one row
per distinct result page and its clicks, with its weight), `shown` (one row per rank), `counted`,
`pair_counts`. Identical pages are counted together: with ten results a page, that is a tenth of the
rows to group by pair wherever pages repeat.
"""

from typing import NamedTuple

import duckdb

from builder.io.engine import set_variables
from builder.parameters import ClickParameters

ENGINE_SHARE = 0.5
"""Part of the memory limit for the database engine, which takes some more outside its own count."""
SHARE_ALONE = 0.7
"""The same where no model keeps pages in arrays: the less the engine spills, the sooner it ends."""

SINGLE_PAGES = """
CREATE VIEW read_pages AS
SELECT impression, "user", query, results, clicks,
       list_max(clicks)::BIGINT AS deepest,
       clicks[-1]::BIGINT AS latest
FROM used_impressions
"""

JOINED_PAGES = """
CREATE VIEW read_pages AS
WITH voters AS (
    SELECT *, CASE WHEN "user" IS NULL THEN impression END AS anonymous FROM used_impressions
),
ordered AS (
    SELECT *,
           lag(query) OVER by_user AS query_before,
           lag(results) OVER by_user AS results_before
    FROM voters
    WINDOW by_user AS (PARTITION BY "user", anonymous ORDER BY impression)
),
visits AS (
    SELECT * EXCLUDE (query_before, results_before),
           sum((query_before IS DISTINCT FROM query
                OR list_has_any(results_before, results))::INTEGER) OVER (
               PARTITION BY "user", anonymous ORDER BY impression
           ) AS visit
    FROM ordered
),
ranked AS (
    SELECT *,
           coalesce(sum(len(results)) OVER (
               pages_of_visit ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS ranks_above
    FROM visits
    WINDOW pages_of_visit AS (
        PARTITION BY "user", anonymous, visit ORDER BY impression)
)
SELECT impression, "user", query, results, clicks,
       (max(ranks_above + list_max(clicks)) OVER whole_visit - ranks_above)::BIGINT AS deepest,
       (last_value(ranks_above + clicks[-1] IGNORE NULLS) OVER whole_visit
        - ranks_above)::BIGINT AS latest
FROM ranked
WINDOW whole_visit AS (
    PARTITION BY "user", anonymous, visit ORDER BY impression
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
"""

DISTINCT_SINGLE_PAGES = """
CREATE TEMP TABLE pages AS
WITH collapsed AS (
    SELECT query, results, clicks, count(*) AS weight
    FROM used_impressions GROUP BY query, results, clicks
)
SELECT query, results, clicks, weight, len(results)::BIGINT AS length,
       list_max(clicks)::BIGINT AS deepest, clicks[-1]::BIGINT AS latest
FROM collapsed
"""

DISTINCT_JOINED_PAGES = """
CREATE TEMP TABLE pages AS
SELECT query, results, clicks, deepest, latest, count(*) AS weight,
       any_value(len(results))::BIGINT AS length
FROM read_pages
GROUP BY query, results, clicks, deepest, latest
"""

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
"""Sums of 32-bit weights take half the memory of sums of 64-bit ones."""

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
"""Counts are narrowed before they are sorted: the engine sorts 128-bit sums ten times slower."""

NO_PAIR_COUNTS = "CREATE TEMP TABLE pair_counts AS SELECT * FROM unordered_counts LIMIT 0"

PAIR_COUNTS = """
INSERT INTO pair_counts SELECT * FROM unordered_counts ORDER BY query, doc;
DROP TABLE unordered_counts
"""
"""A statement of its own, so that the engine spills one grouping or one sort at a time."""

SHOWN_RESULTS = """
SELECT coalesce(sum(len(results)), 0)::BIGINT, coalesce(bool_and(typeof(query) = 'UBIGINT'), false)
FROM pages
"""

IN_RANGE = "WHERE query BETWEEN getvariable('first_query') AND getvariable('last_query')"

BYTES_PER_RESULT = 200
"""Memory for grouping pairs, per result of the distinct pages. Pairs are grouped in ranges of query
keys that fit: 20 million impressions under 2 GiB take 27 s of CPU, and 48 s where they spill."""

USED = """
SELECT coalesce(sum(weight), 0)::BIGINT,
       coalesce(sum(weight) FILTER (deepest IS NULL), 0)::BIGINT
FROM pages
"""


class Used(NamedTuple):
    """Impressions that were counted.

    Args:
        total: All of them.
        without_click: Those of visits without any click.
    """

    total: int
    without_click: int


def count_pairs(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, memory: int
) -> Used:
    """Count every pair of the view `used_impressions` into the table `pair_counts`.

    Args:
        connection: Has the view `used_impressions` (impression, user, query, results, clicks);
            receives the tables `pages` (query, results, clicks, weight, length, deepest,
            latest) and `pair_counts` (query, doc, impressions, examinations, clicks, last_clicks,
            other_examinations), whose rows are in the order of query and doc. Under `skip`, pairs
            that were only shown on pages without a click have 0 impressions.
        params: The no-click rule, the last click, votes and pages.
        memory: Bytes that the engine may use.
    """
    set_variables(connection, skip=params.no_click == "skip", last_by_time=params.last == "time")
    joined, by_user = params.pages == "joined", params.votes == "user"
    connection.execute(JOINED_PAGES if joined else SINGLE_PAGES)
    connection.execute(DISTINCT_JOINED_PAGES if joined else DISTINCT_SINGLE_PAGES)
    ranges = 1 if by_user else _number_of_ranges(connection, memory)
    shown = SHOWN.format(where=IN_RANGE if ranges > 1 else "")
    connection.execute(SHOWN_TO_USER if by_user else shown)
    connection.execute(COUNTED_BY_USER if by_user else COUNTED_BY_IMPRESSION)
    for index in range(ranges):
        first, last = (bound * 2**64 // ranges for bound in (index, index + 1))
        set_variables(connection, first_query=first, last_query=last - 1)
        connection.execute(UNORDERED_COUNTS)
        if not index:
            connection.execute(NO_PAIR_COUNTS)
        connection.execute(PAIR_COUNTS)
    return Used(*connection.execute(USED).fetchall()[0])


def _number_of_ranges(connection: duckdb.DuckDBPyConnection, memory: int) -> int:
    """Ranges of query keys whose pairs are grouped in memory one after the other.

    Queries as text, those of a log alone, are one range: they cannot be split evenly in advance.
    """
    results, are_keys = connection.execute(SHOWN_RESULTS).fetchall()[0]
    return 1 + int(results) * BYTES_PER_RESULT // memory if are_keys else 1
