"""Computes overlap, survival and intersections of snapshots from the ids that they contain.

Reads the number of ids per presence pattern (the set of snapshots that contain an id). Returns
sizes, overlap matrices, survival, returning ids, the size of the core, and the exclusive
intersections of an UpSet plot (Lex et al. 2014).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from builder.drift.statistics import jaccard, share

Patterns = Mapping[tuple[str, ...], int]
"""Number of ids per presence pattern: the names, in chronological order, of the snapshots that
contain the id."""


def snapshot_sizes(presence_patterns: Patterns, snapshot_names: Sequence[str]) -> list[int]:
    """Return the number of ids in each snapshot."""
    return [
        sum(n for pattern, n in presence_patterns.items() if name in pattern)
        for name in snapshot_names
    ]


def count_shared_ids(presence_patterns: Patterns, snapshot_names: Sequence[str]) -> list[list[int]]:
    """Return a matrix of how many ids two snapshots share, with snapshot sizes on the diagonal."""
    return [
        [
            sum(n for pattern, n in presence_patterns.items() if a in pattern and b in pattern)
            for b in snapshot_names
        ]
        for a in snapshot_names
    ]


def overlap_matrices(presence_patterns: Patterns, snapshot_names: Sequence[str]) -> dict[str, Any]:
    """Return matrices of shared ids and of Jaccard coefficients, for every pair of snapshots."""
    counts = count_shared_ids(presence_patterns, snapshot_names)
    of = [counts[i][i] for i in range(len(snapshot_names))]
    return {
        "snapshots": list(snapshot_names),
        "common": counts,
        "jaccard": [
            [jaccard(counts[i][j], of[i], of[j]) for j in range(len(snapshot_names))]
            for i in range(len(snapshot_names))
        ],
    }


def first_snapshot_survival(
    presence_patterns: Patterns, snapshot_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Count the ids of the first snapshot that later snapshots still contain.

    For each snapshot, `present` is the number of these ids that are in it; `uninterrupted` is the
    number of these ids that are in it and in every snapshot before it.
    """
    begun = {pattern: n for pattern, n in presence_patterns.items() if snapshot_names[0] in pattern}
    first = sum(begun.values())
    rows = []
    for index, name in enumerate(snapshot_names):
        present = sum(n for pattern, n in begun.items() if name in pattern)
        whole = sum(
            n for pattern, n in begun.items() if {*snapshot_names[: index + 1]} <= {*pattern}
        )
        rows.append(
            {
                "snapshot": name,
                "present": present,
                "present_share": share(present, first),
                "uninterrupted": whole,
                "uninterrupted_share": share(whole, first),
            }
        )
    return rows


def count_core_ids(presence_patterns: Patterns, snapshot_names: Sequence[str]) -> int:
    """Return the number of ids that are in every snapshot."""
    return presence_patterns.get(tuple(snapshot_names), 0)


def count_returning_ids(presence_patterns: Patterns, snapshot_names: Sequence[str]) -> int:
    """Return the number of ids that left the collection and returned in a later snapshot."""
    index = {name: number for number, name in enumerate(snapshot_names)}
    return sum(
        n
        for pattern, n in presence_patterns.items()
        if index[pattern[-1]] - index[pattern[0]] + 1 > len(pattern)
    )


def exclusive_intersections(presence_patterns: Patterns, limit: int = 20) -> list[dict[str, Any]]:
    """Return the sizes of the largest exclusive intersections of snapshots.

    An exclusive intersection consists of the ids that are in all snapshots of a set and in no
    other snapshot. If there are more than `limit` intersections, a last row without snapshots has
    the sum of the remaining sizes.
    """
    ordered = sorted(presence_patterns.items(), key=lambda item: (-item[1], item[0]))
    rows = [{"snapshots": list(pattern), "ids": n} for pattern, n in ordered[:limit]]
    rest = sum(n for _, n in ordered[limit:])
    return [*rows, {"snapshots": None, "ids": rest}] if rest else rows
