"""Check that queries were selected by the same topics and filters.

When interest fades, the rare queries of a topic fall below the selection threshold first, and the
frequent ones remain with fewer impressions. When a topic is removed from the list, or a filter is
tightened, frequent queries vanish at once while all others continue as before. A query is therefore
called *safe* if it was frequent enough to remain, given the trend of the remaining queries of its
topics; a safe query that vanished was *taken* out. The same test backwards finds added queries.

Interest that fades for some queries leaves another trace: safe queries that remained but *fell* far
below the trend. If taken queries do not clearly outnumber fallen ones, interest is the cause. If no
query of a topic remained, a query is safe only if it was so frequent that interest would have had
to fall to a twentieth of the trend of all queries, and further than in any topic that remained,
because a fading subject can lose its rare topics completely.
"""

import math
from dataclasses import dataclass

import duckdb

from builder.drift.checks.outcome import Check, Outcome, cannot_tell, format_share

MARGIN = 4
"""A query is safe if its trend predicts at least this multiple of the minimum impressions."""

MARGIN_WITHOUT_TREND = 20
KEPT_FOR_A_TREND = 1
TAKEN_PER_FALLEN = 4
"""Minimum ratio of taken to fallen queries that indicates a rule."""

FEWEST_SAFE = 3
FEWEST_SAFE_OVERALL = 20
TOPIC_TAKEN = 0.5
"""Minimum share of taken queries among the safe queries of a changed topic."""

ABOVE_OTHERS = 0.3
"""Minimum difference between this share and the share in all other topics."""

CHANCE = 1e-4
"""Maximum probability of this share if queries were taken from all topics at the same rate."""

OTHERS_TAKEN = 0.1
"""Minimum share of taken queries, outside changed topics, that indicates a changed filter."""

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
"""Number of queries per topic that would be safe if the whole topic were removed from the list."""

TOPICS_NAMED = 5

DIRECTIONS = (("from", "to", "taken out"), ("to", "from", "put in"))
VERBS = {"taken out": "removed", "put in": "added"}


def check_topics(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find topics that lost or gained their frequent queries all at once."""
    changed = [
        {"topic": topic, "direction": direction, "safe": counts.safe, "taken": counts.taken}
        for here, there, direction in DIRECTIONS
        for topic, counts in changed_topics(connection, here, there).items()
    ]
    if not changed:
        return _report_unchanged_topics(connection)
    most = max(changed, key=lambda c: (c["taken"], c["topic"]))
    says = (
        f"{most['taken']} of {most['safe']} queries of the topic {most['topic']!r} that were "
        f"frequent enough to be in both snapshots were {VERBS[str(most['direction'])]}"
    )
    more = f", and so were queries of {len(changed) - 1} more topics" if len(changed) > 1 else ""
    evidence = f"{says}{more}: the list of topics changed, not the interest"
    return Outcome(True, evidence, {"topics": changed})


def _report_unchanged_topics(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Return clear if the removal of every topic is detectable, else list the undetectable ones."""
    says = "no topic lost or gained its frequent queries all at once"
    topics = detectable_topics(connection)
    if not any(topics.values()):
        return cannot_tell(says, "no topic has enough frequent queries to detect its removal")
    unseen = [topic for topic, is_seen in topics.items() if not is_seen]
    if not unseen:
        return Outcome(False, says, {}, "the removal of any topic from the list")
    more = f" and {len(unseen) - TOPICS_NAMED} more" if len(unseen) > TOPICS_NAMED else ""
    named = ", ".join(map(repr, unseen[:TOPICS_NAMED]))
    blind = f"too few frequent queries to detect the removal of these topics: {named}{more}"
    return Outcome(None, says, {"unseen": unseen}, blind)


def detectable_topics(connection: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """Return for each topic whether its removal from, or addition to, the list is detectable."""
    seen: dict[str, bool] = {}
    for here, there, _ in DIRECTIONS:
        changed_topics(connection, here, there)
        others = SafeQueryCounts(*connection.execute(OTHERS, [[]]).fetchall()[0])
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
            shows = safe >= FEWEST_SAFE and binomial_tail(safe, safe, rate) < CHANCE
            seen[topic] = seen.get(topic, False) or shows
    return dict(sorted(seen.items()))


def check_query_filter(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count frequent queries that were removed or added, regardless of their topic."""
    numbers, sentences, found, seen = {}, [], False, False
    for here, there, direction in DIRECTIONS:
        topics = list(changed_topics(connection, here, there))
        counts = SafeQueryCounts(*connection.execute(OTHERS, [topics]).fetchall()[0])
        if counts.safe:
            numbers[direction.replace(" ", "_")] = vars(counts)
            verb = VERBS[direction]
            sentences.append(f"{counts.taken} of {counts.safe} frequent queries were {verb}")
        enough = counts.safe >= FEWEST_SAFE_OVERALL
        seen = seen or enough
        found = found or (enough and counts.share >= OTHERS_TAKEN and counts.indicates_rule)
    if not numbers:
        return cannot_tell("no query is frequent enough to be expected in both snapshots")
    says = " and ".join(sentences)
    if not seen:
        return Outcome(None, says, numbers, f"needs {FEWEST_SAFE_OVERALL} frequent queries")
    verdict = ": a filter changed, regardless of topics" if found else ""
    sees = f"a filter that removes {format_share(OTHERS_TAKEN)} of frequent queries"
    return Outcome(found, says + verdict, numbers, sees)


@dataclass(frozen=True)
class SafeQueryCounts:
    """Numbers of safe queries: all, those that vanished, and those that fell below the trend."""

    safe: int
    taken: int
    fallen: int

    @property
    def share(self) -> float:
        """Share of safe queries that vanished; 0 if there are no safe queries."""
        return self.taken / self.safe if self.safe else 0.0

    @property
    def indicates_rule(self) -> bool:
        """Whether taken queries outnumber fallen ones by more than fading interest explains."""
        return self.taken >= TAKEN_PER_FALLEN * self.fallen

    def subtract(self, subset: "SafeQueryCounts") -> "SafeQueryCounts":
        """Return the counts minus the counts of a subset."""
        return SafeQueryCounts(
            self.safe - subset.safe, self.taken - subset.taken, self.fallen - subset.fallen
        )


def changed_topics(
    connection: duckdb.DuckDBPyConnection, side: str, other_side: str
) -> dict[str, SafeQueryCounts]:
    """Return the topics of one snapshot whose safe queries are missing from the other.

    Creates the table `safe_queries`.

    Args:
        connection: Connection with the views of both snapshots.
        side: `from` or `to`, the snapshot whose topics are tested.
        other_side: The other snapshot.
    """
    connection.execute(
        SAFE_QUERIES.format(
            here=f"impressions_{side}",
            there=f"impressions_{other_side}",
            here_name=side,
            there_name=other_side,
            kept=KEPT_FOR_A_TREND,
            margin=MARGIN,
            margin_without=MARGIN_WITHOUT_TREND,
        )
    )
    overall = SafeQueryCounts(*connection.execute(OTHERS, [[]]).fetchall()[0])
    topics = {row[0]: SafeQueryCounts(*row[1:]) for row in connection.execute(BY_TOPIC).fetchall()}
    return {
        topic: counts
        for topic, counts in topics.items()
        if _is_outlier(counts, overall.subtract(counts))
    }


def _is_outlier(topic: SafeQueryCounts, others: SafeQueryCounts) -> bool:
    """Whether many more queries were taken from a topic than from all other topics."""
    if topic.safe < FEWEST_SAFE or not topic.indicates_rule:
        return False
    if topic.share < max(TOPIC_TAKEN, others.share + ABOVE_OTHERS):
        return False
    rate = (others.taken + 1) / (others.safe + 2)
    return binomial_tail(topic.safe, topic.taken, rate) < CHANCE


def binomial_tail(trials: int, successes: int, rate: float) -> float:
    """Return the binomial probability of at least `successes` in `trials`; rate in (0, 1)."""
    yes, no = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(_log_binomial_coefficient(trials, k) + k * yes + (trials - k) * no)
        for k in range(successes, trials + 1)
    )


def _log_binomial_coefficient(trials: int, successes: int) -> float:
    return (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    )


CHECKS = (
    Check("topics_are_the_same", "Were queries selected by the same topics?", check_topics),
    Check("filter_is_the_same", "Were queries selected by the same filter?", check_query_filter),
)
