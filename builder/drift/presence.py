"""Sets over snapshots: overlap, survival and intersections from presence patterns.

In: how many ids are in exactly these snapshots, for each pattern that occurs. Out: everything that
depends on nothing else: sizes, overlap matrices, survival, returning ids, the aligned core, and
the exclusive intersections of an UpSet plot (Lex et al. 2014).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from builder.drift.statistics import jaccard, share

Patterns = Mapping[tuple[str, ...], int]
"""Number of ids that are in exactly these snapshots, which are in order of time."""


def snapshot_sizes(patterns: Patterns, names: Sequence[str]) -> list[int]:
    """Ids in each snapshot."""
    return [sum(n for pattern, n in patterns.items() if name in pattern) for name in names]


def common_counts(patterns: Patterns, names: Sequence[str]) -> list[list[int]]:
    """Ids in both snapshots, for each pair; sizes on the diagonal."""
    return [
        [sum(n for pattern, n in patterns.items() if a in pattern and b in pattern) for b in names]
        for a in names
    ]


def overlap_matrices(patterns: Patterns, names: Sequence[str]) -> dict[str, Any]:
    """Matrices of common ids and of their Jaccard coefficient."""
    counts = common_counts(patterns, names)
    of = [counts[i][i] for i in range(len(names))]
    return {
        "snapshots": list(names),
        "common": counts,
        "jaccard": [
            [jaccard(counts[i][j], of[i], of[j]) for j in range(len(names))]
            for i in range(len(names))
        ],
    }


def survival_of_first(patterns: Patterns, names: Sequence[str]) -> list[dict[str, Any]]:
    """What became of the first snapshot's ids.

    `present`: in the later snapshot; `uninterrupted`: in every snapshot up to it.
    """
    begun = {pattern: n for pattern, n in patterns.items() if names[0] in pattern}
    first = sum(begun.values())
    rows = []
    for index, name in enumerate(names):
        present = sum(n for pattern, n in begun.items() if name in pattern)
        whole = sum(n for pattern, n in begun.items() if {*names[: index + 1]} <= {*pattern})
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


def count_core(patterns: Patterns, names: Sequence[str]) -> int:
    """Ids in every snapshot."""
    return patterns.get(tuple(names), 0)


def count_returning(patterns: Patterns, names: Sequence[str]) -> int:
    """Ids that were away for a snapshot between two that hold them."""
    index = {name: number for number, name in enumerate(names)}
    return sum(
        n
        for pattern, n in patterns.items()
        if index[pattern[-1]] - index[pattern[0]] + 1 > len(pattern)
    )


def exclusive_intersections(patterns: Patterns, limit: int = 20) -> list[dict[str, Any]]:
    """The largest exclusive intersections, largest first; the rest is summed in the last row."""
    ordered = sorted(patterns.items(), key=lambda item: (-item[1], item[0]))
    rows = [{"snapshots": list(pattern), "ids": n} for pattern, n in ordered[:limit]]
    rest = sum(n for _, n in ordered[limit:])
    return [*rows, {"snapshots": None, "ids": rest}] if rest else rows
