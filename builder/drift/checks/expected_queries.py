"""Finds queries frequent enough that the same rules would have selected them again.

When interest fades, the rare queries of a topic fall below the selection threshold first; its
frequent queries stay, with fewer impressions. When a topic is deleted from the list, or a filter
becomes stricter, frequent queries disappear at once. So a query is *expected* if the trend of its
topic, measured on the queries in both snapshots, predicts several times the minimum number of
impressions. An expected query that the other snapshot lacks is *missing*. An expected query that
stayed but is far below the trend has *faded*: where missing queries do not clearly outnumber faded
ones, interest explains both.

If no query of a topic stayed, its queries are expected only if they were so frequent that interest
would have had to fall to a twentieth of the trend of all queries, and further than in any other
topic: a subject that fades takes its rare topics with it.
"""

from dataclasses import dataclass

import duckdb

from builder.statistics.significance import binomial_p_value

MARGIN = 4
"""Multiple of the minimum impressions that the trend of its topic must predict for an expected
query."""

MARGIN_WITHOUT_TREND = 20
"""Same multiple for topics without queries in both snapshots, by the trend of all queries."""

MIN_MISSING_PER_FADED = 4
"""Minimum number of missing queries per faded query that indicates a changed rule."""

MIN_EXPECTED_IN_TOPIC = 3
MIN_MISSING_SHARE = 0.5
"""Minimum share of its expected queries that a changed topic lacks."""

MIN_SHARE_ABOVE_OTHERS = 0.3
"""Minimum difference between this share and that of all other topics."""

MAX_P_VALUE = 1e-4
"""Maximum p-value of the hypothesis that a changed topic lacks queries at the others' rate."""

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
"""SQL of queries by topic, trends of all queries and of each topic, and the minimum count."""

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

PER_TOPIC = """
WITH members AS (SELECT unnest(topics) AS topic, missing, faded FROM expected_queries)
SELECT topic, count(*), count(*) FILTER (missing), count(*) FILTER (faded)
FROM members GROUP BY topic ORDER BY topic
"""

WITHOUT_TOPICS = """
SELECT count(*), count(*) FILTER (missing), count(*) FILTER (faded)
FROM expected_queries WHERE NOT list_has_any(topics, ?::VARCHAR[])
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
"""SQL that counts the queries of each topic that would be expected if it were deleted."""


@dataclass(frozen=True)
class ExpectedQueryCounts:
    """Numbers of expected queries, which the same selection rules should have selected again.

    Args:
        expected: Number of expected queries.
        missing: Those that the other snapshot lacks.
        faded: Those in both snapshots that are far below their topic's trend.
    """

    expected: int
    missing: int
    faded: int

    @property
    def missing_share(self) -> float:
        """Share of expected queries that are missing; 0 if there are no expected queries."""
        return self.missing / self.expected if self.expected else 0.0

    @property
    def exceeds_fading(self) -> bool:
        """Whether more queries are missing than fading interest explains."""
        return self.missing >= MIN_MISSING_PER_FADED * self.faded

    @property
    def missing_rate(self) -> float:
        """Probability that an expected query is missing, in (0, 1), by Laplace's rule."""
        return (self.missing + 1) / (self.expected + 2)

    def subtract(self, part: "ExpectedQueryCounts") -> "ExpectedQueryCounts":
        """Subtract the counts of a subset of the queries, `part`."""
        return ExpectedQueryCounts(
            self.expected - part.expected, self.missing - part.missing, self.faded - part.faded
        )


def create_expected_queries(connection: duckdb.DuckDBPyConnection, here: str, there: str) -> None:
    """Create a table of the queries of one snapshot that the other one should contain too.

    Args:
        connection: Connection with the views of the pair.
        here: `from` or `to`.
        there: The other one.
    """
    connection.execute(_format(EXPECTED_QUERIES, here, there))


def changed_topics(
    connection: duckdb.DuckDBPyConnection, here: str, there: str
) -> dict[str, ExpectedQueryCounts]:
    """Return the topics of a snapshot whose expected queries are missing from the other one.

    Creates the table `expected_queries`; see `create_expected_queries`.
    """
    create_expected_queries(connection, here, there)
    overall = count_without_topics(connection, [])
    topics = {
        row[0]: ExpectedQueryCounts(*row[1:]) for row in connection.execute(PER_TOPIC).fetchall()
    }
    return {
        topic: counts
        for topic, counts in topics.items()
        if _is_outlier(counts, overall.subtract(counts))
    }


def count_without_topics(
    connection: duckdb.DuckDBPyConnection, topics: list[str]
) -> ExpectedQueryCounts:
    """Count the expected queries that have none of the given topics."""
    return ExpectedQueryCounts(*connection.execute(WITHOUT_TOPICS, [topics]).fetchall()[0])


def detectable_topics(
    connection: duckdb.DuckDBPyConnection, here: str, there: str
) -> dict[str, bool]:
    """Return for each topic whether the checks would detect its deletion."""
    create_expected_queries(connection, here, there)
    rate = count_without_topics(connection, []).missing_rate
    rows = connection.execute(_format(EXPECTED_IF_DELETED, here, there)).fetchall()
    return {
        topic: expected >= MIN_EXPECTED_IN_TOPIC
        and binomial_p_value(expected, expected, rate) < MAX_P_VALUE
        for topic, expected in rows
    }


def _is_outlier(topic: ExpectedQueryCounts, others: ExpectedQueryCounts) -> bool:
    """Whether a topic lacks far more of its expected queries than all other topics."""
    if topic.expected < MIN_EXPECTED_IN_TOPIC or not topic.exceeds_fading:
        return False
    if topic.missing_share < max(MIN_MISSING_SHARE, others.missing_share + MIN_SHARE_ABOVE_OTHERS):
        return False
    return binomial_p_value(topic.missing, topic.expected, others.missing_rate) < MAX_P_VALUE


def _format(sql: str, here: str, there: str) -> str:
    values = {
        "here": here,
        "there": there,
        "margin": MARGIN,
        "margin_without_trend": MARGIN_WITHOUT_TREND,
    }
    return sql.format(
        trends=TRENDS.format(**values),
        outlasts_steepest_fall=OUTLASTS_STEEPEST_FALL.format(**values),
        **values,
    )
