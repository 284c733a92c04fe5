"""Checks that the queries of both snapshots were selected by the same rules.

The module `expected_queries` determines which queries would be selected in both snapshots if the
rules had not changed.
"""

from typing import Any

import duckdb

from builder.drift.checks.expected_queries import (
    count_frequent_half_outside_topics,
    count_queries_outside_topics,
    detectable_topic_deletions,
    find_changed_topics,
)
from builder.drift.checks.outcome import Check, Outcome, format_share, undecided_outcome
from builder.drift.checks.recording import check_result_lists
from builder.reporting.numbers import pluralize

MIN_EXPECTED_QUERIES = 20
"""Minimum number of expected queries for deciding whether a filter changed."""

MIN_FILTERED_SHARE = 0.1
"""Minimum share of the expected queries of unchanged topics that must be missing for the check to
be undecided: a filter may have changed, or an event of the other snapshot may have ended."""

MIN_FILTERED_SHARE_IF_CERTAIN = 1 / 3
"""Minimum share of the expected queries of unchanged topics that must be missing to conclude that
a filter changed."""

MIN_REMOVED_PER_ADDED = 4
"""Minimum ratio of removed to added frequent queries to conclude that a filter changed: if
users reword queries, some queries are added for those that are removed."""

MAX_TOPICS_NAMED = 5
"""Maximum number of topics listed in a sentence; the remaining topics are counted."""

SIDES_AND_CHANGE = (("from", "to", "removed"), ("to", "from", "added"))
"""Suffix of the views of a snapshot, suffix of the views of the other snapshot, and what happened
to queries that are only in the snapshot with the first suffix."""

TOPICS = "SELECT DISTINCT unnest(topics) FROM queries_{side}"


def check_topics(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find topics whose frequent queries were removed or added at the same time.

    The check concludes that a topic was deleted only if no query of the later snapshot has it.
    Other changed topics leave the check undecided: an event may have brought or ended their
    queries, or their aliases may have changed.
    """
    changed: list[dict[str, Any]] = []
    doubtful: list[dict[str, Any]] = []
    for side, other_side, direction in SIDES_AND_CHANGE:
        remaining = _list_topics(connection, other_side)
        for topic, counts in find_changed_topics(connection, side, other_side).items():
            is_deleted = direction == "removed" and topic not in remaining
            (changed if is_deleted else doubtful).append(
                {
                    "topic": topic,
                    "direction": direction,
                    "safe": counts.expected,
                    "taken": counts.missing,
                }
            )
    if changed:
        verdict = "the topics changed, unless interest changed more than twentyfold"
        return Outcome(True, f"{_describe_topics(changed)}: {verdict}", {"topics": changed})
    if doubtful:
        reason = "either user interest or the list of topics (labels or aliases) changed"
        return Outcome(None, f"{_describe_topics(doubtful)}: {reason}", {"topics": doubtful})
    return _outcome_if_no_topic_changed(connection)


def _list_topics(connection: duckdb.DuckDBPyConnection, side: str) -> set[str]:
    """Return the topics of all queries of a snapshot."""
    rows = connection.execute(TOPICS.format(side=side)).fetchall()
    return {topic for (topic,) in rows}


def _describe_topics(changed_topics: list[dict[str, Any]]) -> str:
    """Return a sentence that names the topic that changed most and counts the other changed topics.

    Of the named topic, it says how many of the queries that were expected in both snapshots are in
    only one of them.
    """
    largest = max(changed_topics, key=lambda c: (c["taken"], c["topic"]))
    says = (
        f"{largest['taken']} of {largest['safe']} queries of the topic {largest['topic']!r} that "
        f"were frequent enough to be in both snapshots were {largest['direction']}"
    )
    n_others = len(changed_topics) - 1
    return says + (f"; so were queries of {pluralize(n_others, 'more topic')}" if n_others else "")


def _outcome_if_no_topic_changed(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Return the outcome when no changed topic was found.

    It is undecided if there are topics with too few queries for a deletion to be detected;
    otherwise, the topics are the same.
    """
    says = "no topic lost or gained its frequent queries all at once"
    undetectable = find_undetectable_topics(connection)
    if undetectable is None:
        return undecided_outcome(
            says, "no topic has enough frequent queries to tell whether it was deleted"
        )
    if not undetectable:
        return Outcome(False, says, {}, "the deletion of any topic from the list")
    rest = len(undetectable) - MAX_TOPICS_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    named = ", ".join(map(repr, undetectable[:MAX_TOPICS_NAMED]))
    sees = f"too few frequent queries to detect the deletion of {named}{more}"
    return Outcome(None, says, {"unseen": undetectable}, sees)


def find_undetectable_topics(connection: duckdb.DuckDBPyConnection) -> list[str] | None:
    """Return the topics whose deletion or addition would not be detected.

    Returns:
        Topics in alphabetical order; None if no topic has a detectable deletion or addition.
    """
    detectable: dict[str, bool] = {}
    for side, other_side, _ in SIDES_AND_CHANGE:
        for topic, is_detectable in detectable_topic_deletions(
            connection, side, other_side
        ).items():
            detectable[topic] = detectable.get(topic, False) or is_detectable
    if not any(detectable.values()):
        return None
    return sorted(topic for topic, is_detectable in detectable.items() if not is_detectable)


def check_query_filter(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether frequent queries were removed from, or added to, topics that did not change.

    Users start new queries at any time and abandon rare ones. When an event ends, they abandon some
    frequent queries at once, but not as many as a third.
    """
    numbers, sentences, found, certain, enough = {}, [], False, False, False
    for side, other_side, direction in SIDES_AND_CHANGE:
        topics = list(find_changed_topics(connection, side, other_side))
        counts = count_queries_outside_topics(connection, topics)
        if not counts.expected:
            continue
        numbers[direction] = {
            "safe": counts.expected,
            "taken": counts.missing,
            "fallen": counts.below_trend,
        }
        sentences.append(f"{counts.missing} of {counts.expected} frequent queries were {direction}")
        if counts.expected >= MIN_EXPECTED_QUERIES:
            enough = True
            if counts.missing_share >= MIN_FILTERED_SHARE and counts.has_unexplained_losses:
                frequent = count_frequent_half_outside_topics(connection, topics)
                found = True
                certain |= (
                    direction == "removed"
                    and counts.missing_share >= MIN_FILTERED_SHARE_IF_CERTAIN
                    and frequent.missing_share >= MIN_FILTERED_SHARE
                )
    if not numbers:
        return undecided_outcome("no query is frequent enough to be expected in both snapshots")
    says = " and ".join(sentences)
    if not enough:
        return Outcome(None, says, numbers, f"needs {MIN_EXPECTED_QUERIES} frequent queries")
    removed, added = (numbers.get(name, {"taken": 0})["taken"] for name in ("removed", "added"))
    lists = check_result_lists(connection)
    if found and lists.is_construction is None and lists.numbers:
        reason = "shorter result lists may leave queries without judgements"
        return Outcome(None, f"{says}, but {lists.evidence}; {reason}", numbers)
    if found and not (certain and removed > MIN_REMOVED_PER_ADDED * added):
        reason = "either a filter changed, or users reworded queries or sent other ones"
        return Outcome(None, f"{says}: {reason}", numbers)
    verdict = (
        ": queries of all topics are affected, so either a filter changed, or the rows or query "
        "texts of one log did"
    )
    sees = f"a filter that removes {format_share(MIN_FILTERED_SHARE)} of frequent queries"
    return Outcome(found, says + verdict if found else says, numbers, sees)


CHECKS = (
    Check("topics_are_the_same", "Were queries selected with the same topics?", check_topics),
    Check("filter_is_the_same", "Were queries kept by the same filter?", check_query_filter),
)
