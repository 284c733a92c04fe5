"""Creates the table of distinct result pages, from which all click statistics are computed.

The view `read_pages` adds the ranks of the deepest and of the latest click to every impression. The
table `pages` has one row per distinct combination of query, results and clicks, weighted by its
number of impressions, so that repeated pages are read only once.
"""

import duckdb

from builder.parameters import ClickParameters

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


def create_distinct_pages(connection: duckdb.DuckDBPyConnection, params: ClickParameters) -> None:
    """Create the table of distinct result pages, `pages`, and the view `read_pages`.

    The view holds all impressions, with the ranks of the deepest and of the latest click.

    Args:
        connection: DuckDB connection with the view `used_impressions` (impression, user, query,
            results, clicks).
        params: Click parameters; `params.pages` sets whether consecutive pages of a visit are
            joined.
    """
    is_joined = params.pages == "joined"
    connection.execute(JOINED_PAGES if is_joined else SINGLE_PAGES)
    connection.execute(DISTINCT_JOINED_PAGES if is_joined else DISTINCT_SINGLE_PAGES)
