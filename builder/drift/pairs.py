"""Selects one pair of consecutive snapshots from `drift.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from builder.drift.checks import NEIGHBORS_CHECK
from builder.drift.documents import document_presence_statistics
from builder.drift.presence import Patterns
from builder.drift.queries import overlap_statistics
from builder.drift.vocabulary import IN_CORE

Entries = Sequence[Mapping[str, Any]]


def select_pair(drift: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    """Return the content of `drift.json`, reduced to one pair of consecutive snapshots.

    If the collection has more snapshots, entries that depend on them are omitted: the vocabulary of
    the core, and the checks that compare a crawl with the previous and the next crawl.

    Args:
        drift: Content of `drift.json`.
        pair: Names of the earlier and the later snapshot.
    """
    if len(drift["snapshots"]) == len(pair):
        return dict(drift)
    vocabulary = {
        scope: [] if scope == IN_CORE else _select_pair_entries(entries, pair)
        for scope, entries in drift["vocabulary"].items()
    }
    documents = _derive_presence_patterns(drift["documents"]["overlap"], pair)
    return {
        **drift,
        "snapshots": _select_snapshot_entries(drift["snapshots"], pair),
        "documents": document_presence_statistics(documents, pair),
        "queries": _select_queries(drift["queries"], pair),
        "judgements": _select_pair_entries(drift["judgements"], pair),
        "pairs": _select_pair_entries(drift["pairs"], pair),
        "vocabulary": vocabulary,
        "clicks": _select_snapshot_entries(drift["clicks"], pair),
        "checks": [
            check
            for check in drift["checks"]
            if {*check["snapshots"]} <= {*pair} and check["check"] != NEIGHBORS_CHECK
        ],
    }


def _select_pair_entries(entries: Entries, pair: tuple[str, str]) -> list[Mapping[str, Any]]:
    """Return the entries that compare the two snapshots of a pair."""
    return [entry for entry in entries if (entry["from"], entry["to"]) == pair]


def _select_snapshot_entries(entries: Entries, pair: tuple[str, str]) -> list[Mapping[str, Any]]:
    """Return the entries that describe a snapshot of a pair."""
    return [entry for entry in entries if entry["snapshot"] in pair]


def _derive_presence_patterns(overlap: Mapping[str, Any], pair: tuple[str, str]) -> Patterns:
    """Return how many ids are in only the first of two snapshots, only the second, and both."""
    first, second = (overlap["snapshots"].index(name) for name in pair)
    common = overlap["common"]
    both = common[first][second]
    counts = {
        pair[:1]: common[first][first] - both,
        pair[1:]: common[second][second] - both,
        pair: both,
    }
    return {pattern: n for pattern, n in counts.items() if n}


def _select_queries(queries: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    selected = {
        kind: overlap_statistics(_derive_presence_patterns(queries[kind]["overlap"], pair), pair)
        for kind in ("listed", "judged")
    }
    lengths = _select_snapshot_entries(queries["lengths"], pair)
    return selected | {"lengths": lengths, "topics": _select_topics(queries["topics"], pair)}


def _select_topics(topics: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    start = topics["snapshots"].index(pair[0])
    mix = [
        row | {field: row[field][start : start + 2] for field in ("queries", "impressions")}
        for row in topics["mix"]
    ]
    return {
        "snapshots": list(pair),
        "mix": sorted(
            (row for row in mix if any(row["queries"])),
            key=lambda row: (-sum(row["queries"]), row["topic"]),
        ),
        **{field: topics[field][start : start + 1] for field in ("js_bits", "js_bits_impressions")},
    }
