"""Were queries selected by another rule?

When interest fades, a topic's rare queries fall below the selection threshold first, and its
frequent ones stay with fewer impressions. When a topic is struck from the list, or a filter is
tightened, frequent queries vanish at once while the others go on as before. So each query that
was shown often enough to stay, judging by the trend of the queries of its topics that did stay,
is *safe*; safe queries that are gone were taken out. The same backwards finds queries put in.

Where no query of a topic stayed, its trend is that of all queries, and a query is safe only when
it was shown so often that interest would have had to fall to a twentieth.
"""

from typing import Any

import duckdb

from builder.drift.checks.outcome import Check, Outcome
from builder.drift.statistics import share

MARGIN = 4
"""A query is safe when its topic's trend leaves it this many times the least impressions."""

MARGIN_WITHOUT_TREND = 20
KEPT_FOR_A_TREND = 3
FEWEST_SAFE = 5
FEWEST_SAFE_OVERALL = 20
TOPIC_TAKEN = 0.5
"""Share of a topic's safe queries that must be gone."""

OTHERS_TAKEN = 0.1
"""Share of all other safe queries that must be gone for a change of filter."""

SAFE_QUERIES = """
CREATE OR REPLACE TEMP TABLE safe_queries AS
WITH
listed AS (
    SELECT query_id, unnest(topics) AS topic, {here} AS shown, {there} AS shown_there
    FROM query_changes JOIN queries_{here_name} USING (query_id)
),
overall AS (
    SELECT sum({here})::HUGEINT AS shown, sum({there})::HUGEINT AS shown_there
    FROM query_changes WHERE status = 'kept'
),
trends AS (
    SELECT topic, count(*) AS kept, sum(shown)::HUGEINT AS shown,
           sum(shown_there)::HUGEINT AS shown_there
    FROM listed WHERE shown_there IS NOT NULL GROUP BY topic
),
least AS (SELECT min(impressions)::HUGEINT AS impressions FROM queries_{there_name}),
judged AS (
    SELECT
        listed.query_id,
        listed.topic,
        listed.shown_there IS NULL AS taken,
        CASE
            WHEN trends.kept >= {kept:d} THEN
                listed.shown * trends.shown_there
                    >= {margin:d} * least.impressions * trends.shown
            ELSE
                listed.shown * overall.shown_there
                    >= {margin_without:d} * least.impressions * overall.shown
        END AS safe
    FROM listed LEFT JOIN trends USING (topic), overall, least
)
SELECT query_id, list(topic ORDER BY topic) AS topics, bool_or(taken) AS taken
FROM judged GROUP BY query_id HAVING bool_and(safe)
"""

BY_TOPIC = """
WITH members AS (SELECT unnest(topics) AS topic, taken FROM safe_queries)
SELECT topic, count(*) AS safe, count(*) FILTER (taken) AS taken
FROM members GROUP BY topic ORDER BY topic
"""

OTHERS = """
SELECT count(*) AS safe, count(*) FILTER (taken) AS taken
FROM safe_queries WHERE NOT list_has_any(topics, {topics}::VARCHAR[])
"""

DIRECTIONS = (("from", "to", "taken out"), ("to", "from", "put in"))


def topics_are_the_same(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find topics whose frequent queries were taken out, or put in, at once."""
    changed = [
        {"topic": topic, "direction": direction, "safe": safe, "taken": taken}
        for here, there, direction in DIRECTIONS
        for topic, safe, taken in changed_topics(connection, here, there)
    ]
    if not changed:
        return Outcome(False, "no topic lost or gained its frequent queries at once", {})
    most = max(changed, key=lambda c: (c["taken"], c["topic"]))
    says = (
        f"{most['taken']} of {most['safe']} queries of the topic {most['topic']!r} that were "
        f"frequent enough to be in both snapshots were {most['direction']}"
    )
    more = f"; so were those of {len(changed) - 1} more" if len(changed) > 1 else ""
    return Outcome(True, f"{says}{more}: the topics changed, not the interest", {"topics": changed})


def filter_is_the_same(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find frequent queries taken out, or put in, across topics."""
    numbers: dict[str, Any] = {}
    found, sentences = False, []
    for here, there, direction in DIRECTIONS:
        topics = [topic for topic, _, _ in changed_topics(connection, here, there)]
        safe, taken = connection.execute(OTHERS.replace("{topics}", "?"), [topics]).fetchall()[0]
        numbers[direction.replace(" ", "_")] = {"safe": safe, "taken": taken}
        part = share(taken, safe)
        if part is not None and safe >= FEWEST_SAFE_OVERALL and part >= OTHERS_TAKEN:
            found = True
        if part is not None:
            sentences.append(f"{taken} of {safe} frequent queries were {direction}")
    if not sentences:
        return Outcome(None, "no query is frequent enough to be expected in both snapshots")
    says = " and ".join(sentences)
    verdict = ": a filter changed, whatever the topic" if found else ""
    return Outcome(found, says + verdict, numbers)


def changed_topics(
    connection: duckdb.DuckDBPyConnection, here: str, there: str
) -> list[tuple[str, int, int]]:
    """Topics of snapshot `here` whose safe queries are missing `there`: topic, safe, missing.

    Leaves the table `safe_queries`.
    """
    connection.execute(
        SAFE_QUERIES.format(
            here=f"impressions_{here}",
            there=f"impressions_{there}",
            here_name=here,
            there_name=there,
            kept=KEPT_FOR_A_TREND,
            margin=MARGIN,
            margin_without=MARGIN_WITHOUT_TREND,
        )
    )
    return [
        (topic, safe, taken)
        for topic, safe, taken in connection.execute(BY_TOPIC).fetchall()
        if safe >= FEWEST_SAFE and taken >= TOPIC_TAKEN * safe
    ]


CHECKS = (
    Check("topics_are_the_same", "Were queries selected by the same topics?", topics_are_the_same),
    Check("filter_is_the_same", "Were queries kept by the same filter?", filter_is_the_same),
)
