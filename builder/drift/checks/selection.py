"""Checks that the queries of both snapshots were selected by the same rules.

See `expected_queries` for the queries that should be in both snapshots under the same rule.
"""

import duckdb

from builder.drift.checks.expected_queries import (
    changed_topics,
    count_without_topics,
    detectable_topics,
)
from builder.drift.checks.outcome import Check, Outcome, cannot_tell, format_share

MIN_EXPECTED = 20
"""Minimum number of expected queries for a statement about the filter."""

MIN_FILTERED_SHARE = 0.1
"""Minimum share of expected queries outside of changed topics that a change of filter removes."""

MAX_TOPICS_NAMED = 5

DIRECTIONS = (("from", "to", "removed"), ("to", "from", "added"))


def check_topics(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find topics whose frequent queries were all removed or added at the same time."""
    changed = [
        {"topic": topic, "direction": direction, "safe": counts.expected, "taken": counts.missing}
        for here, there, direction in DIRECTIONS
        for topic, counts in changed_topics(connection, here, there).items()
    ]
    if not changed:
        return _no_topic_changed(connection)
    largest = max(changed, key=lambda c: (c["taken"], c["topic"]))
    says = (
        f"{largest['taken']} of {largest['safe']} queries of the topic {largest['topic']!r} that "
        f"were frequent enough to be in both snapshots were {largest['direction']}"
    )
    more = f"; so were those of {len(changed) - 1} more" if len(changed) > 1 else ""
    verdict = "the topics changed, unless interest changed more than twentyfold"
    return Outcome(True, f"{says}{more}: {verdict}", {"topics": changed})


def _no_topic_changed(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Return `clear` if the checks would notice any deleted topic, otherwise `cannot tell`."""
    says = "no topic lost or gained its frequent queries at once"
    undetectable = undetectable_topics(connection)
    if undetectable is None:
        return cannot_tell(says, "no topic has enough frequent queries to show its deletion")
    if not undetectable:
        return Outcome(False, says, {}, "any one topic deleted from the list")
    rest = len(undetectable) - MAX_TOPICS_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    named = ", ".join(map(repr, undetectable[:MAX_TOPICS_NAMED]))
    sees = f"too few frequent queries to detect the deletion of {named}{more}"
    return Outcome(None, says, {"unseen": undetectable}, sees)


def undetectable_topics(connection: duckdb.DuckDBPyConnection) -> list[str] | None:
    """Return the topics whose deletion or addition would go unnoticed; None if there are none."""
    detectable: dict[str, bool] = {}
    for here, there, _ in DIRECTIONS:
        for topic, is_detectable in detectable_topics(connection, here, there).items():
            detectable[topic] = detectable.get(topic, False) or is_detectable
    if not any(detectable.values()):
        return None
    return sorted(topic for topic, is_detectable in detectable.items() if not is_detectable)


def check_filter(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Find frequent queries that were removed or added regardless of topic."""
    numbers, sentences, found, enough = {}, [], [], False
    for here, there, direction in DIRECTIONS:
        topics = list(changed_topics(connection, here, there))
        counts = count_without_topics(connection, topics)
        if not counts.expected:
            continue
        numbers[direction] = {
            "safe": counts.expected,
            "taken": counts.missing,
            "fallen": counts.faded,
        }
        sentences.append(f"{counts.missing} of {counts.expected} frequent queries were {direction}")
        if counts.expected >= MIN_EXPECTED:
            enough = True
            if counts.missing_share >= MIN_FILTERED_SHARE and counts.exceeds_fading:
                found.append(direction)
    if not numbers:
        return cannot_tell("no query is frequent enough to be expected in both snapshots")
    says = " and ".join(sentences)
    if not enough:
        return Outcome(None, says, numbers, f"needs {MIN_EXPECTED} frequent queries")
    if len(found) == len(DIRECTIONS):
        return Outcome(None, f"{says}: either a filter changed or queries are reworded", numbers)
    verdict = ": a filter changed, whatever the topic" if found else ""
    sees = f"a filter that removes {format_share(MIN_FILTERED_SHARE)} of frequent queries"
    return Outcome(bool(found), says + verdict, numbers, sees)


CHECKS = (
    Check("topics_are_the_same", "Were queries selected by the same topics?", check_topics),
    Check("filter_is_the_same", "Were queries kept by the same filter?", check_filter),
)
