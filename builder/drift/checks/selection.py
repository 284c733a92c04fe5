"""Were queries selected by another rule?

When interest fades, a topic's rare queries fall below the selection threshold first, and its
frequent ones stay with fewer impressions. When a topic is struck from the list, or a filter is
tightened, frequent queries vanish at once while the others go on as before. So each query that
was shown often enough to stay, judging by the trend of the queries of its topics that did stay,
is *safe*; safe queries that are gone were *taken* out. The same backwards finds queries put in.

Interest that fades within a part of the queries leaves traces too: safe queries that stayed, but
*fell* far below the trend. Where taken queries do not clearly outnumber fallen ones, it was
interest. Where no query of a topic stayed, a query is safe only when it was shown so often that
interest would have had to fall to a twentieth of the trend of all queries, and further than it
fell in any topic that stayed: a subject that fades takes its rare topics with it as a whole.
"""

import math
from dataclasses import dataclass

import duckdb

from builder.drift.checks.outcome import Check, Outcome, percent, unknown

MARGIN = 4
"""A query is safe when its topic's trend leaves it this many times the least impressions."""

MARGIN_WITHOUT_TREND = 20
KEPT_FOR_A_TREND = 1
TAKEN_PER_FALLEN = 4
"""Taken queries for each fallen one that show a rule at work."""

FEWEST_SAFE = 3
FEWEST_SAFE_OVERALL = 20
TOPIC_TAKEN = 0.5
"""Share of a topic's safe queries that must be taken, ..."""

ABOVE_OTHERS = 0.3
"""... by how much it must exceed that of the other topics, ..."""

CHANCE = 1e-4
"""... and how unlikely it must be, were queries taken from it as from the others."""

OTHERS_TAKEN = 0.1
"""Share of all other safe queries that must be taken for a change of filter."""

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
lowest AS (
    SELECT shown, shown_there FROM trends ORDER BY shown_there / shown, topic LIMIT 1
),
least AS (SELECT min(impressions)::HUGEINT AS impressions FROM queries_{there_name}),
outlook AS (
    SELECT
        listed.query_id,
        listed.topic,
        listed.shown_there,
        CASE WHEN trends.kept >= {kept:d} THEN {margin:d} ELSE {margin_without:d} END AS margin,
        CASE WHEN trends.kept >= {kept:d}
            THEN listed.shown * trends.shown_there ELSE listed.shown * overall.shown_there
        END AS hoped,
        CASE WHEN trends.kept >= {kept:d} THEN trends.shown ELSE overall.shown END AS base,
        trends.kept >= {kept:d} OR lowest.shown IS NULL
            OR listed.shown * lowest.shown_there >= {margin:d} * least.impressions * lowest.shown
            AS outlasts_lowest
    FROM listed LEFT JOIN trends USING (topic) LEFT JOIN lowest ON true, overall, least
)
SELECT
    query_id,
    list(topic ORDER BY topic) AS topics,
    bool_and(shown_there IS NULL) AS taken,
    bool_and(shown_there IS NOT NULL AND shown_there * {margin:d} * base < hoped) AS fallen
FROM outlook, least
GROUP BY query_id
HAVING bool_and(hoped >= margin * least.impressions * base) AND bool_and(outlasts_lowest)
"""

BY_TOPIC = """
WITH members AS (SELECT unnest(topics) AS topic, taken, fallen FROM safe_queries)
SELECT topic, count(*), count(*) FILTER (taken), count(*) FILTER (fallen)
FROM members GROUP BY topic ORDER BY topic
"""

OTHERS = """
SELECT count(*), count(*) FILTER (taken), count(*) FILTER (fallen)
FROM safe_queries WHERE NOT list_has_any(topics, ?::VARCHAR[])
"""

STRUCK = """
WITH
growth AS (
    SELECT sum({here})::HUGEINT AS shown, sum({there})::HUGEINT AS shown_there
    FROM query_changes WHERE status = 'kept'
),
least AS (SELECT min(impressions)::HUGEINT AS impressions FROM queries_{there_name}),
listed AS (SELECT unnest(topics) AS topic, impressions FROM queries_{here_name}),
trends AS (
    SELECT unnest(topics) AS topic, sum({here})::HUGEINT AS shown,
           sum({there})::HUGEINT AS shown_there
    FROM query_changes JOIN queries_{here_name} USING (query_id)
    WHERE status = 'kept' GROUP BY topic
),
lowest AS (
    SELECT shown, shown_there FROM trends ORDER BY shown_there / shown, topic LIMIT 1
)
SELECT
    listed.topic,
    count(*) FILTER (
        listed.impressions * growth.shown_there
        >= {margin_without:d} * least.impressions * growth.shown
        AND (
            lowest.shown IS NULL
            OR listed.impressions * lowest.shown_there
            >= {margin:d} * least.impressions * lowest.shown
        )
    )
FROM listed LEFT JOIN lowest ON true, growth, least GROUP BY listed.topic ORDER BY listed.topic
"""
"""Queries of each topic that would be safe, were the whole topic struck from the list."""

TOPICS_NAMED = 5

DIRECTIONS = (("from", "to", "taken out"), ("to", "from", "put in"))


def topics_are_the_same(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find topics whose frequent queries were taken out, or put in, at once."""
    changed = [
        {"topic": topic, "direction": direction, "safe": counts.safe, "taken": counts.taken}
        for here, there, direction in DIRECTIONS
        for topic, counts in changed_topics(connection, here, there).items()
    ]
    if not changed:
        return _no_topic_changed(connection)
    most = max(changed, key=lambda c: (c["taken"], c["topic"]))
    says = (
        f"{most['taken']} of {most['safe']} queries of the topic {most['topic']!r} that were "
        f"frequent enough to be in both snapshots were {most['direction']}"
    )
    more = f"; so were those of {len(changed) - 1} more" if len(changed) > 1 else ""
    return Outcome(True, f"{says}{more}: the topics changed, not the interest", {"topics": changed})


def _no_topic_changed(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Clear where every topic would have shown, were it struck; else which of them would not."""
    says = "no topic lost or gained its frequent queries at once"
    topics = unseen_topics(connection)
    if not any(topics.values()):
        return unknown(says, "no topic has enough frequent queries to show that it was struck")
    unseen = [topic for topic, is_seen in topics.items() if not is_seen]
    if not unseen:
        return Outcome(False, says, {}, "any one topic struck from the list")
    more = f" and {len(unseen) - TOPICS_NAMED} more" if len(unseen) > TOPICS_NAMED else ""
    named = ", ".join(map(repr, unseen[:TOPICS_NAMED]))
    blind = f"too few frequent queries to see the topics struck: {named}{more}"
    return Outcome(None, says, {"unseen": unseen}, blind)


def unseen_topics(connection: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """For each topic of either snapshot whether the check would see it struck, or put in."""
    seen: dict[str, bool] = {}
    for here, there, _ in DIRECTIONS:
        changed_topics(connection, here, there)
        others = Safe(*connection.execute(OTHERS, [[]]).fetchall()[0])
        rate = (others.taken + 1) / (others.safe + 2)
        sql = STRUCK.format(
            here=f"impressions_{here}",
            there=f"impressions_{there}",
            here_name=here,
            there_name=there,
            margin=MARGIN,
            margin_without=MARGIN_WITHOUT_TREND,
        )
        for topic, safe in connection.execute(sql).fetchall():
            shows = safe >= FEWEST_SAFE and chance(safe, safe, rate) < CHANCE
            seen[topic] = seen.get(topic, False) or shows
    return dict(sorted(seen.items()))


def filter_is_the_same(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find frequent queries taken out, or put in, across topics."""
    numbers, sentences, found, seen = {}, [], False, False
    for here, there, direction in DIRECTIONS:
        topics = list(changed_topics(connection, here, there))
        counts = Safe(*connection.execute(OTHERS, [topics]).fetchall()[0])
        if counts.safe:
            numbers[direction.replace(" ", "_")] = vars(counts)
            sentences.append(f"{counts.taken} of {counts.safe} frequent queries were {direction}")
        enough = counts.safe >= FEWEST_SAFE_OVERALL
        seen = seen or enough
        found = found or (enough and counts.share >= OTHERS_TAKEN and counts.by_rule)
    if not numbers:
        return unknown("no query is frequent enough to be expected in both snapshots")
    says = " and ".join(sentences)
    if not seen:
        return Outcome(None, says, numbers, f"needs {FEWEST_SAFE_OVERALL} frequent queries")
    verdict = ": a filter changed, whatever the topic" if found else ""
    sees = f"a filter that takes {percent(OTHERS_TAKEN)} of frequent queries"
    return Outcome(found, says + verdict, numbers, sees)


@dataclass(frozen=True)
class Safe:
    """Queries that were frequent enough to stay: all, those that are gone, those that fell."""

    safe: int
    taken: int
    fallen: int

    @property
    def share(self) -> float:
        """Share of safe queries that are gone; 0 where there is none."""
        return self.taken / self.safe if self.safe else 0.0

    @property
    def by_rule(self) -> bool:
        """Whether taken queries outnumber fallen ones too clearly for fading interest."""
        return self.taken >= TAKEN_PER_FALLEN * self.fallen

    def without(self, other: "Safe") -> "Safe":
        """The queries that are not among the others."""
        return Safe(self.safe - other.safe, self.taken - other.taken, self.fallen - other.fallen)


def changed_topics(connection: duckdb.DuckDBPyConnection, here: str, there: str) -> dict[str, Safe]:
    """Topics of snapshot `here` whose safe queries are missing `there`.

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
    overall = Safe(*connection.execute(OTHERS, [[]]).fetchall()[0])
    topics = {row[0]: Safe(*row[1:]) for row in connection.execute(BY_TOPIC).fetchall()}
    return {
        topic: counts
        for topic, counts in topics.items()
        if _is_outlier(counts, overall.without(counts))
    }


def _is_outlier(topic: Safe, others: Safe) -> bool:
    """Whether queries were taken from a topic, and not from the others."""
    if topic.safe < FEWEST_SAFE or not topic.by_rule:
        return False
    if topic.share < max(TOPIC_TAKEN, others.share + ABOVE_OTHERS):
        return False
    rate = (others.taken + 1) / (others.safe + 2)
    return chance(topic.safe, topic.taken, rate) < CHANCE


def chance(trials: int, successes: int, rate: float) -> float:
    """Probability of at least so many successes in independent trials of a rate in (0, 1)."""
    yes, no = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(_log_combinations(trials, k) + k * yes + (trials - k) * no)
        for k in range(successes, trials + 1)
    )


def _log_combinations(trials: int, successes: int) -> float:
    return (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    )


CHECKS = (
    Check("topics_are_the_same", "Were queries selected by the same topics?", topics_are_the_same),
    Check("filter_is_the_same", "Were queries kept by the same filter?", filter_is_the_same),
)
