"""Sufficient statistics of sDBN: impressions in, integer counts of every query-document pair out.

Chapelle & Zhang (2009), section 5: with L the deepest clicked rank of a result page, ranks 1..L
are examined; without a click all ranks are, or the page is no evidence (`no_click`). A rank is
clicked once however often it was clicked; a document shown twice on a page counts at both ranks.
Everything is counted in integers, so the order of rows, threads and shards cannot matter, and the
statistics of two logs add up to those of their union.

Views, each made of the one before it: `used_impressions`, `read_pages`, `page_views` (one row per
distinct page with its weight), `shown` (one row per rank), `counted`. Identical pages are counted
together: faster where pages repeat, and where they do not, the database engine spills one grouping
at a time, which keeps it within its memory.
"""

import duckdb

from builder.parameters import ClickParameters

ENGINE_SHARE = 0.5
"""Part of the memory limit for the database engine, which takes some more outside its own count."""

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
placed AS (
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
FROM placed
WINDOW whole_visit AS (
    PARTITION BY "user", anonymous, visit ORDER BY impression
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
"""

SINGLE_PAGE_VIEWS = """
CREATE VIEW page_views AS
WITH collapsed AS (
    SELECT query, results, clicks, count(*) AS weight
    FROM used_impressions GROUP BY query, results, clicks
)
SELECT query, results, clicks, weight,
       list_max(clicks)::BIGINT AS deepest, clicks[-1]::BIGINT AS latest
FROM collapsed
"""

JOINED_PAGE_VIEWS = """
CREATE VIEW page_views AS
SELECT query, results, clicks, deepest, latest, count(*) AS weight
FROM read_pages
GROUP BY query, results, clicks, deepest, latest
"""

SHOWN = """
CREATE VIEW shown AS
WITH ranks AS (
    SELECT query, unnest(results) AS doc, generate_subscripts(results, 1) AS rank,
           clicks, deepest, weight,
           CASE WHEN getvariable('last_by_time') THEN latest ELSE deepest END AS last
    FROM page_views
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
SELECT query, doc,
       sum(weight) AS shown_in_all,
       sum(weight) FILTER (on_clicked_page) AS shown_in_clicked,
       sum(weight) FILTER (above_last_click OR NOT on_clicked_page) AS examined_in_all,
       sum(weight) FILTER (above_last_click) AS examined_in_clicked,
       sum(weight) FILTER (clicked) AS clicks,
       sum(weight) FILTER (clicked_last) AS last_clicks,
       sum(weight) FILTER (rank = 1) AS at_top
FROM shown
GROUP BY query, doc
"""

PAGE_VIEWS_BY_USER = """
CREATE VIEW page_views AS
SELECT "user", CASE WHEN "user" IS NULL THEN impression END AS anonymous,
       query, results, clicks, deepest, latest
FROM read_pages
GROUP BY ALL
"""

SHOWN_TO_USER = """
CREATE VIEW shown AS
WITH ranks AS (
    SELECT "user", anonymous, query, unnest(results) AS doc,
           generate_subscripts(results, 1) AS rank, clicks, deepest,
           CASE WHEN getvariable('last_by_time') THEN latest ELSE deepest END AS last
    FROM page_views
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
       count(*) FILTER (clicked_last) AS last_clicks,
       NULL::BIGINT AS at_top
FROM votes
GROUP BY query, doc
"""

PAIR_TOTALS = """
CREATE VIEW pair_totals AS
SELECT query, doc,
       coalesce(CASE WHEN getvariable('skip') THEN shown_in_clicked ELSE shown_in_all END,
                0)::UINTEGER AS impressions,
       coalesce(CASE WHEN getvariable('skip') THEN examined_in_clicked ELSE examined_in_all END,
                0)::UINTEGER AS examinations,
       coalesce(clicks, 0)::UINTEGER AS clicks,
       coalesce(last_clicks, 0)::UINTEGER AS last_clicks,
       coalesce(CASE WHEN getvariable('skip') THEN examined_in_all ELSE examined_in_clicked END,
                0)::UINTEGER AS other_examinations,
       at_top::UBIGINT AS at_top
FROM counted
"""

PAIR_COUNTS = """
CREATE TEMP TABLE pair_counts AS SELECT * FROM pair_totals ORDER BY query, doc
"""

PAIR_COUNTS_OF_ONE_RULE = """
CREATE TEMP TABLE pair_counts AS
SELECT * EXCLUDE (other_examinations) FROM pair_totals ORDER BY query, doc
"""

PAIR_COUNTS_OF_PARTS = "CREATE VIEW pair_counts AS SELECT * FROM pair_totals"

USED = "SELECT coalesce(sum(at_top), 0)::BIGINT FROM pair_counts"

USED_BY_USERS = "SELECT count(*) FROM used_impressions"


def count_pairs(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, *, both_rules: bool = True
) -> None:
    """Count every pair of the view `used_impressions` into the table `pair_counts`.

    Args:
        connection: Has the view `used_impressions` (impression, user, query, results, clicks);
            receives the views `read_pages` and `shown` and the table `pair_counts` (query, doc,
            impressions, examinations, clicks, last_clicks, other_examinations, at_top), whose
            rows lie in the order of query and doc. Under `skip`, pairs on pages without a click
            alone have 0 impressions.
        params: Which impressions without a click, which last click, whose votes, which pages.
        both_rules: Count examinations under the other rule for impressions without a click too.
    """
    set_variables(connection, skip=params.no_click == "skip", last_by_time=params.last == "time")
    connection.execute(JOINED_PAGES if params.pages == "joined" else SINGLE_PAGES)
    if params.votes == "user":
        connection.execute(PAGE_VIEWS_BY_USER)
        connection.execute(SHOWN_TO_USER)
        connection.execute(COUNTED_BY_USER)
    else:
        connection.execute(JOINED_PAGE_VIEWS if params.pages == "joined" else SINGLE_PAGE_VIEWS)
        connection.execute(SHOWN)
        connection.execute(COUNTED_BY_IMPRESSION)
    connection.execute(PAIR_TOTALS)
    connection.execute(PAIR_COUNTS if both_rules else PAIR_COUNTS_OF_ONE_RULE)


def count_used(connection: duckdb.DuckDBPyConnection, params: ClickParameters) -> int:
    """Impressions that were counted: as many as first ranks, which saves reading the log again."""
    sql = USED_BY_USERS if params.votes == "user" else USED
    return int(connection.execute(sql).fetchall()[0][0])


def set_variables(connection: duckdb.DuckDBPyConnection, **values: bool | int | float) -> None:
    """Set variables that the statements of this room read."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])
