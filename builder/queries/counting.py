"""Counts impressions, clicks and users per query without reading the query texts.

Creates two temporary tables in a DuckDB connection: `counted`, the queries issued by at least k
distinct users (k-anonymity; Sweeney 2002), and `forms`, their texts as typed, with a flag for texts
typed by at least k users. Impressions without a user are not attributed to any user.

Grouping a log by query and user needs much memory and is mostly unnecessary. A single pass keeps a
64-bit mask per query, in which each user sets one bit, chosen by the low bits of the user key. The
number of bits set is a lower bound on the number of users: with at least k bits set, a query is
k-anonymous. Users are counted exactly only for the remaining queries and, later, for candidates.
"""

import duckdb

from builder.errors import DataError
from builder.parameters import SelectionParameters

ASKED = """
CREATE TEMP TABLE asked AS
SELECT query, count(*)::UINTEGER AS impressions, count("user")::UINTEGER AS with_user,
       bit_or(1::UBIGINT << ("user" & 63)) AS bits
FROM log GROUP BY query
"""

ANONYMOUS_BY_USERS = """
CREATE TEMP TABLE anonymous AS
WITH doubtful AS (
    SELECT query FROM asked WHERE with_user >= $k AND bit_count(bits) < $k
), askers AS (
    SELECT DISTINCT query, "user" FROM log SEMI JOIN doubtful USING (query)
    WHERE "user" IS NOT NULL
)
SELECT query FROM asked WHERE bit_count(bits) >= $k
UNION ALL
SELECT query FROM askers GROUP BY query HAVING count(*) >= $k
"""

ANONYMOUS_BY_IMPRESSIONS = """
CREATE TEMP TABLE anonymous AS SELECT query FROM asked WHERE impressions >= $k
"""

COUNTED_FORMS = """
CREATE TEMP TABLE counted_forms AS
SELECT query, surface, count(*)::UINTEGER AS impressions, count("user")::UINTEGER AS with_user,
       sum(CASE WHEN len(clicks) < 2 THEN len(clicks) ELSE list_unique(clicks) END)::UINTEGER
           AS clicks,
       bit_or(1::UBIGINT << ("user" & 63)) AS bits
FROM log SEMI JOIN anonymous USING (query)
GROUP BY query, surface
"""

FORMS_BY_USERS = """
CREATE TEMP TABLE forms AS
WITH doubtful AS (
    SELECT surface FROM counted_forms WHERE with_user >= $k AND bit_count(bits) < $k
), typists AS (
    SELECT DISTINCT surface, "user" FROM log SEMI JOIN doubtful USING (surface)
    WHERE "user" IS NOT NULL
), proven AS (
    SELECT surface, true AS proven FROM typists GROUP BY surface HAVING count(*) >= $k
)
SELECT query, surface, impressions, clicks,
       coalesce(proven, bit_count(bits) >= $k, false) AS anonymous
FROM counted_forms LEFT JOIN proven USING (surface)
"""

FORMS_BY_IMPRESSIONS = """
CREATE TEMP TABLE forms AS
SELECT query, surface, impressions, clicks, impressions >= $k AS anonymous FROM counted_forms
"""

TOP_CLICKED = """
CREATE TEMP TABLE top_clicked AS
WITH clicked AS (
    SELECT query, results, unnest(list_distinct(clicks)) AS rank
    FROM log SEMI JOIN anonymous USING (query) WHERE len(clicks) > 0
), documents AS (
    SELECT query, count(*)::UINTEGER AS clicks FROM clicked GROUP BY query, results[rank]
)
SELECT query, max(clicks) AS top_clicks FROM documents GROUP BY query
"""

NO_TOP_CLICKED = "CREATE TEMP TABLE top_clicked (query UBIGINT, top_clicks UINTEGER)"

COUNTED = """
CREATE TEMP TABLE counted AS
WITH summed AS (
    SELECT query, sum(impressions)::UINTEGER AS impressions, sum(clicks)::UINTEGER AS clicks
    FROM forms GROUP BY query
)
SELECT query, impressions, clicks, coalesce(top_clicks, 0) AS top_clicks
FROM summed LEFT JOIN top_clicked USING (query)
"""

USERS_OF_KEPT = """
CREATE TEMP TABLE users_of_kept AS
WITH askers AS (
    SELECT DISTINCT query, "user" FROM log SEMI JOIN kept USING (query) WHERE "user" IS NOT NULL
)
SELECT query, count(*)::UINTEGER AS users FROM askers GROUP BY query
"""

IMPRESSIONS_OF_KEPT = """
CREATE TEMP TABLE users_of_kept AS SELECT query, impressions AS users FROM kept
"""

_NO_USERS = (
    "k-anonymity requires impressions with a user, but the log has none; add users or sessions to "
    'the log, or set select.anonymity = "impressions" if the log was anonymized beforehand'
)


def count_queries(connection: duckdb.DuckDBPyConnection, params: SelectionParameters) -> int:
    """Create the tables `counted` and `forms` of k-anonymous queries from the view `log`.

    Args:
        connection: DuckDB connection with a view `log` of the impressions.
        params: Section `[select]`; `anonymity` and `min_users` are used. Clicks per document are
            counted only if `navigational_share` is set.

    Returns:
        Number of distinct queries of the log, whether or not they are k-anonymous.

    Raises:
        DataError: `params.anonymity` is `users`, but no impression has a user.
    """
    connection.execute(ASKED)
    queries, with_user = connection.execute(
        "SELECT count(*), coalesce(sum(with_user), 0) FROM asked"
    ).fetchall()[0]
    by_users = params.anonymity == "users"
    if by_users and queries and not with_user:
        raise DataError(_NO_USERS)
    threshold = {"k": params.min_users}
    connection.execute(ANONYMOUS_BY_USERS if by_users else ANONYMOUS_BY_IMPRESSIONS, threshold)
    connection.execute("DROP TABLE asked")
    connection.execute(COUNTED_FORMS)
    connection.execute(FORMS_BY_USERS if by_users else FORMS_BY_IMPRESSIONS, threshold)
    connection.execute("DROP TABLE counted_forms")
    connection.execute(NO_TOP_CLICKED if params.navigational_share is None else TOP_CLICKED)
    connection.execute(COUNTED)
    return int(queries)


def count_candidate_users(
    connection: duckdb.DuckDBPyConnection, params: SelectionParameters
) -> None:
    """Create the table `users_of_kept`: the number of distinct users per query in `kept`."""
    by_users = params.anonymity == "users"
    connection.execute(USERS_OF_KEPT if by_users else IMPRESSIONS_OF_KEPT)
