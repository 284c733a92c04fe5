"""Count impressions, users and clicks of every query in keys, before any text is read.

In: impressions (see `schemas.Impressions`). Out, inside one DuckDB connection: `forms`, the forms
in which sufficiently anonymous queries were typed, and `counted`, those queries. A query passes
when k distinct users asked it (k-anonymity; Sweeney 2002). An impression without a user counts as
impression and click but never as a user.

Only integers are grouped. The long tail, most of a log's distinct queries, is gone after the
first and cheapest pass: fewer impressions than k cannot mean k users.
"""

import duckdb

from builder.errors import DataError
from builder.parameters import SelectParameters

ASKED = """
CREATE TEMP TABLE asked AS
SELECT query, count(*)::UINTEGER AS impressions, count("user")::UINTEGER AS with_user
FROM log GROUP BY query
"""

TYPED = """
CREATE TEMP TABLE typed AS
SELECT query, surface, "user", count(*)::UINTEGER AS impressions,
       sum(CASE WHEN len(clicks) < 2 THEN len(clicks) ELSE list_unique(clicks) END)::UINTEGER
           AS clicks
FROM log SEMI JOIN (SELECT query FROM asked WHERE impressions >= $k) USING (query)
GROUP BY query, surface, "user"
"""

FORMS = """
CREATE TEMP TABLE forms AS
SELECT query, surface, sum(impressions)::UINTEGER AS impressions, sum(clicks)::UINTEGER AS clicks,
       count("user")::UINTEGER AS users
FROM typed GROUP BY query, surface
"""

FORMS_OF_IMPRESSIONS = """
CREATE TEMP TABLE forms AS
SELECT query, surface, count(*)::UINTEGER AS impressions,
       sum(CASE WHEN len(clicks) < 2 THEN len(clicks) ELSE list_unique(clicks) END)::UINTEGER
           AS clicks,
       count(*)::UINTEGER AS users
FROM log SEMI JOIN (SELECT query FROM asked WHERE impressions >= $k) USING (query)
GROUP BY query, surface
"""

PEOPLE = """
CREATE TEMP TABLE people AS
WITH in_several_forms AS (
    SELECT query FROM forms GROUP BY query HAVING count(*) > 1
), askers AS (
    SELECT DISTINCT query, "user"
    FROM typed SEMI JOIN in_several_forms USING (query) WHERE "user" IS NOT NULL
)
SELECT query, count(*)::UINTEGER AS users FROM askers GROUP BY query
"""

NO_PEOPLE = "CREATE TEMP TABLE people (query UBIGINT, users UINTEGER)"

TOP_CLICKED = """
CREATE TEMP TABLE top_clicked AS
WITH clicked AS (
    SELECT query, results, unnest(list_distinct(clicks)) AS rank
    FROM log SEMI JOIN forms USING (query) WHERE len(clicks) > 0
), documents AS (
    SELECT query, count(*)::UINTEGER AS clicks FROM clicked GROUP BY query, results[rank]
)
SELECT query, max(clicks) AS top_clicks FROM documents GROUP BY query
"""

NO_TOP_CLICKED = "CREATE TEMP TABLE top_clicked (query UBIGINT, top_clicks UINTEGER)"

COUNTED = """
CREATE TEMP TABLE counted AS
WITH summed AS (
    SELECT query, sum(impressions)::UINTEGER AS impressions, sum(clicks)::UINTEGER AS clicks,
           sum(users)::UINTEGER AS users
    FROM forms GROUP BY query
)
SELECT query, impressions, clicks, coalesce(people.users, summed.users) AS users,
       coalesce(top_clicks, 0) AS top_clicks
FROM summed LEFT JOIN people USING (query) LEFT JOIN top_clicked USING (query)
WHERE coalesce(people.users, summed.users) >= $k
"""


def count_queries(connection: duckdb.DuckDBPyConnection, params: SelectParameters) -> int:
    """Fill `forms` and `counted` from the view `log`.

    Args:
        connection: Holds the view `log` of the impressions.
        params: `anonymity`, `min_users`; `navigational_share` decides whether documents are
            counted, too.

    Returns:
        Distinct queries of the log, anonymous or not.

    Raises:
        DataError: users are to be counted, but the log names none.
    """
    connection.execute(ASKED)
    queries, with_user = connection.execute(
        "SELECT count(*), coalesce(sum(with_user), 0) FROM asked"
    ).fetchall()[0]
    threshold = {"k": params.min_users}
    if params.anonymity == "impressions":
        connection.execute(FORMS_OF_IMPRESSIONS, threshold)
        connection.execute(NO_PEOPLE)
    else:
        if queries and not with_user:
            raise DataError(_NO_USERS)
        connection.execute(TYPED, threshold)
        connection.execute(FORMS)
        connection.execute(PEOPLE)
        connection.execute("DROP TABLE typed")
    connection.execute(NO_TOP_CLICKED if params.navigational_share is None else TOP_CLICKED)
    connection.execute(COUNTED, threshold)
    return int(queries)


_NO_USERS = (
    "expected a log whose impressions name a user, for k-anonymity; found none that does. Log "
    'users or sessions, or set select.anonymity = "impressions" if the log was made anonymous '
    "before it came here"
)
