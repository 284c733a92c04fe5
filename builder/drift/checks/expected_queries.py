"""Finds queries frequent enough to be selected in both snapshots if the rules did not change.

When interest in a topic declines, its rare queries fall below the selection threshold first; its
frequent queries remain, with fewer impressions. When a topic is deleted from the list, or a filter
becomes stricter, frequent queries disappear at once. A query of one snapshot is *expected* in the
other snapshot if its topic's trend predicts several times the minimum number of impressions there.
The trend is the change in impressions of those queries of the topic that are in both snapshots. An
expected query that the other snapshot lacks is *missing*. An expected query that remains, but with
far fewer impressions than predicted, is *below trend*. If missing queries do not clearly outnumber
those below trend, declining interest explains both.

If no query of a topic remains, its trend is unknown. Its queries are then expected only if they
would reach the minimum at a twentieth of the trend of all queries, and several times the minimum at
the steepest decline of any other topic.
"""

from dataclasses import dataclass

import duckdb

from builder.statistics.significance import binomial_p_value

MIN_PREDICTED_RATIO = 4
"""Minimum number of impressions that the topic's trend must predict for a query to be expected, as
a multiple of the minimum number of impressions in the other snapshot."""

MIN_PREDICTED_RATIO_WITHOUT_TREND = 20
"""Value of `MIN_PREDICTED_RATIO` for topics without a query in both snapshots. Their impressions
are predicted from the trend of all queries."""

MIN_MISSING_PER_BELOW_TREND = 4
"""Minimum ratio of missing queries to queries below trend that indicates a changed rule."""

MIN_EXPECTED_IN_TOPIC = 3
"""Minimum number of expected queries of a topic for deciding whether the topic changed."""

MIN_MISSING_SHARE = 0.5
"""Minimum share of a topic's expected queries that must be missing from the other snapshot to
conclude that the topic changed."""

MIN_EXCESS_OVER_OTHER_TOPICS = 0.3
"""Minimum difference between the share of missing queries in a changed topic and in all other
topics."""

MAX_P_VALUE = 1e-4
"""Maximum p-value of the binomial test that a topic's expected queries are missing at a higher rate
than all other expected queries."""

TRENDS = """
listed AS (
    SELECT query_id, unnest(topics) AS topic, impressions_{here} AS impressions,
           impressions_{there} AS impressions_there
    FROM query_changes JOIN queries_{here} USING (query_id)
),
overall AS (
    SELECT sum(impressions_{here})::HUGEINT AS impressions,
           sum(impressions_{there})::HUGEINT AS impressions_there
    FROM query_changes WHERE status = 'kept'
),
trends AS (
    SELECT topic, sum(impressions)::HUGEINT AS impressions,
           sum(impressions_there)::HUGEINT AS impressions_there
    FROM listed WHERE impressions_there IS NOT NULL GROUP BY topic
),
steepest_fall AS (
    SELECT impressions, impressions_there FROM trends
    ORDER BY impressions_there / impressions, topic LIMIT 1
),
threshold AS (SELECT min(impressions)::HUGEINT AS impressions FROM queries_{there})
"""
"""Common table expressions: queries by topic, impressions of the queries in both snapshots in total
and by topic, the topic whose impressions fell most, and the minimum number of impressions."""

OUTLASTS_STEEPEST_FALL = """(
    steepest_fall.impressions IS NULL
    OR listed.impressions * steepest_fall.impressions_there
    >= {margin:d} * threshold.impressions * steepest_fall.impressions
)"""

EXPECTED_QUERIES = """
CREATE OR REPLACE TEMP TABLE expected_queries AS
WITH {trends},
predictions AS (
    SELECT
        listed.query_id,
        listed.topic,
        listed.impressions,
        listed.impressions_there,
        CASE WHEN trends.topic IS NULL THEN {margin_without_trend:d} ELSE {margin:d} END
            AS margin,
        listed.impressions * coalesce(trends.impressions_there, overall.impressions_there)
            AS numerator,
        coalesce(trends.impressions, overall.impressions) AS denominator,
        trends.topic IS NOT NULL OR {outlasts_steepest_fall} AS outlasts_steepest_fall
    FROM listed LEFT JOIN trends USING (topic) LEFT JOIN steepest_fall ON true, overall, threshold
)
SELECT
    query_id,
    list(topic ORDER BY topic) AS topics,
    any_value(predictions.impressions) AS impressions,
    bool_and(impressions_there IS NULL) AS missing,
    bool_and(
        impressions_there IS NOT NULL
        AND impressions_there * {margin:d} * denominator < numerator
    ) AS faded
FROM predictions, threshold
GROUP BY query_id
HAVING bool_and(numerator >= margin * threshold.impressions * denominator)
    AND bool_and(outlasts_steepest_fall)
"""

COUNTS_BY_TOPIC = """
WITH members AS (SELECT unnest(topics) AS topic, missing, faded FROM expected_queries)
SELECT topic, count(*), count(*) FILTER (missing), count(*) FILTER (faded)
FROM members GROUP BY topic ORDER BY topic
"""

COUNTS_WITHOUT_TOPICS = """
SELECT count(*), count(*) FILTER (missing), count(*) FILTER (faded)
FROM expected_queries WHERE NOT list_has_any(topics, ?::VARCHAR[])
"""

COUNTS_OF_FREQUENT_HALF = """
WITH ranked AS (
    SELECT missing, faded, row_number() OVER (ORDER BY impressions DESC, query_id) AS rank,
           count(*) OVER () AS queries
    FROM expected_queries WHERE NOT list_has_any(topics, ?::VARCHAR[])
)
SELECT count(*), count(*) FILTER (missing), count(*) FILTER (faded)
FROM ranked WHERE 2 * rank <= queries
"""

EXPECTED_IF_DELETED = """
WITH {trends}
SELECT
    listed.topic,
    count(*) FILTER (
        listed.impressions * overall.impressions_there
        >= {margin_without_trend:d} * threshold.impressions * overall.impressions
        AND {outlasts_steepest_fall}
    )
FROM listed LEFT JOIN steepest_fall ON true, overall, threshold
GROUP BY listed.topic ORDER BY listed.topic
"""
"""SQL query that counts, for each topic, the queries that would be expected if the other snapshot
had no query of the topic, which leaves its trend unknown."""


@dataclass(frozen=True)
class ExpectedQueryCounts:
    """Counts of expected queries, which unchanged rules would select in both snapshots.

    Args:
        expected: Number of expected queries.
        missing: Number of expected queries that the other snapshot lacks.
        below_trend: Number of expected queries in both snapshots with far fewer impressions than
            their topic's trend predicts.
    """

    expected: int
    missing: int
    below_trend: int

    @property
    def missing_share(self) -> float:
        """Share of expected queries that are missing; 0 if there are no expected queries."""
        return self.missing / self.expected if self.expected else 0.0

    @property
    def has_unexplained_losses(self) -> bool:
        """Whether more queries are missing than declining interest explains."""
        return self.missing >= MIN_MISSING_PER_BELOW_TREND * self.below_trend

    @property
    def missing_rate(self) -> float:
        """Probability that an expected query is missing, in (0, 1) due to Laplace smoothing."""
        return (self.missing + 1) / (self.expected + 2)

    def subtract(self, part: "ExpectedQueryCounts") -> "ExpectedQueryCounts":
        """Return the counts of the remaining queries, without those of the subset `part`."""
        return ExpectedQueryCounts(
            self.expected - part.expected,
            self.missing - part.missing,
            self.below_trend - part.below_trend,
        )


def create_expected_queries_table(
    connection: duckdb.DuckDBPyConnection, side: str, other_side: str
) -> None:
    """Create a table of the queries of one snapshot that the other should contain as well.

    The table is named `expected_queries`. A query should be in both snapshots if it is frequent
    enough to be selected in both under unchanged rules.

    Args:
        connection: Connection with the views of the pair.
        side: Snapshot whose queries are listed: `from` (earlier) or `to` (later).
        other_side: The other snapshot: `to` or `from`.
    """
    connection.execute(_format_sql_for_sides(EXPECTED_QUERIES, side, other_side))


def find_changed_topics(
    connection: duckdb.DuckDBPyConnection, side: str, other_side: str
) -> dict[str, ExpectedQueryCounts]:
    """Find the topics with too many queries missing from the snapshot `other_side`.

    Only expected queries count: those that unchanged rules would select in both snapshots. Also
    creates the table `expected_queries`; see `create_expected_queries_table` for the arguments.

    Returns:
        Counts of expected queries, by changed topic.
    """
    create_expected_queries_table(connection, side, other_side)
    overall = count_queries_outside_topics(connection, [])
    topics = {
        row[0]: ExpectedQueryCounts(*row[1:])
        for row in connection.execute(COUNTS_BY_TOPIC).fetchall()
    }
    return {
        topic: counts
        for topic, counts in topics.items()
        if _is_outlier(counts, overall.subtract(counts))
    }


def count_queries_outside_topics(
    connection: duckdb.DuckDBPyConnection, excluded_topics: list[str]
) -> ExpectedQueryCounts:
    """Count the expected queries without an excluded topic: all, missing and below trend."""
    rows = connection.execute(COUNTS_WITHOUT_TOPICS, [excluded_topics]).fetchall()
    return ExpectedQueryCounts(*rows[0])


def count_frequent_half_outside_topics(
    connection: duckdb.DuckDBPyConnection, excluded_topics: list[str]
) -> ExpectedQueryCounts:
    """Return the counts of the more frequent half of the queries without an excluded topic.

    Only expected queries are ranked: those in the table `expected_queries`.
    """
    rows = connection.execute(COUNTS_OF_FREQUENT_HALF, [excluded_topics]).fetchall()
    return ExpectedQueryCounts(*rows[0])


def detectable_topic_deletions(
    connection: duckdb.DuckDBPyConnection, side: str, other_side: str
) -> dict[str, bool]:
    """Return for each topic whether the checks would detect its deletion from the topic list.

    Args:
        connection: Connection with the views of the pair.
        side: Snapshot that has the topics: `from` (earlier) or `to` (later).
        other_side: Snapshot that might lack the topics: `to` or `from`.
    """
    create_expected_queries_table(connection, side, other_side)
    rate = count_queries_outside_topics(connection, []).missing_rate
    rows = connection.execute(
        _format_sql_for_sides(EXPECTED_IF_DELETED, side, other_side)
    ).fetchall()
    return {
        topic: expected >= MIN_EXPECTED_IN_TOPIC
        and binomial_p_value(expected, expected, rate) < MAX_P_VALUE
        for topic, expected in rows
    }


def _is_outlier(topic_counts: ExpectedQueryCounts, other_counts: ExpectedQueryCounts) -> bool:
    """Whether a topic's expected queries are missing far more often than other expected queries."""
    if topic_counts.expected < MIN_EXPECTED_IN_TOPIC or not topic_counts.has_unexplained_losses:
        return False
    if topic_counts.missing_share < max(
        MIN_MISSING_SHARE, other_counts.missing_share + MIN_EXCESS_OVER_OTHER_TOPICS
    ):
        return False
    return (
        binomial_p_value(topic_counts.missing, topic_counts.expected, other_counts.missing_rate)
        < MAX_P_VALUE
    )


def _format_sql_for_sides(sql: str, side: str, other_side: str) -> str:
    values = {
        "here": side,
        "there": other_side,
        "margin": MIN_PREDICTED_RATIO,
        "margin_without_trend": MIN_PREDICTED_RATIO_WITHOUT_TREND,
    }
    return sql.format(
        trends=TRENDS.format(**values),
        outlasts_steepest_fall=OUTLASTS_STEEPEST_FALL.format(**values),
        **values,
    )
