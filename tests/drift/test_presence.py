"""Overlap, survival and intersections from presence patterns."""

import pytest

from builder.drift import presence

NAMES = ("2022-06", "2022-07", "2022-09")
PATTERNS = {
    NAMES: 5,
    ("2022-06",): 2,
    ("2022-06", "2022-09"): 1,
    ("2022-07", "2022-09"): 3,
    ("2022-09",): 4,
}


def test_sizes_and_overlap() -> None:
    assert presence.snapshot_sizes(PATTERNS, NAMES) == [8, 8, 13]
    overlap = presence.overlap_matrices(PATTERNS, NAMES)
    assert overlap["common"] == [[8, 5, 6], [5, 8, 8], [6, 8, 13]]
    assert overlap["snapshots"] == list(NAMES)
    assert overlap["jaccard"] == [
        [1.0, 5 / 11, 6 / 15],
        [5 / 11, 1.0, 8 / 13],
        [6 / 15, 8 / 13, 1.0],
    ]


def test_survival() -> None:
    assert presence.first_snapshot_survival(PATTERNS, NAMES) == [
        {
            "snapshot": name,
            "present": present,
            "present_share": present / 8,
            "uninterrupted": uninterrupted,
            "uninterrupted_share": uninterrupted / 8,
        }
        for name, present, uninterrupted in zip(NAMES, (8, 5, 6), (8, 5, 5), strict=True)
    ]


def test_core_and_returning() -> None:
    assert presence.count_core_ids(PATTERNS, NAMES) == 5
    assert presence.count_returning_ids(PATTERNS, NAMES) == 1
    four = ("a", "b", "c", "d")
    patterns = {("b", "d"): 3, ("a", "b"): 9, ("a", "b", "d"): 4, ("a", "d"): 20, ("b", "c"): 50}
    assert presence.count_returning_ids(patterns, four) == 27


def test_intersections_are_largest_first_and_complete() -> None:
    rows = presence.exclusive_intersections(PATTERNS, limit=2)
    assert rows == [
        {"snapshots": list(NAMES), "ids": 5},
        {"snapshots": ["2022-09"], "ids": 4},
        {"snapshots": None, "ids": 6},
    ]
    assert presence.exclusive_intersections(PATTERNS, limit=5) == [
        {"snapshots": list(pattern), "ids": n}
        for pattern, n in sorted(PATTERNS.items(), key=lambda item: -item[1])
    ]
    equal = {(f"{n:02}",): 7 for n in reversed(range(22))}
    rows = presence.exclusive_intersections(equal)
    assert rows == [
        *({"snapshots": [f"{n:02}"], "ids": 7} for n in range(20)),
        {"snapshots": None, "ids": 14},
    ]


@pytest.mark.parametrize("names", [NAMES, NAMES[:1]])
def test_nothing(names: tuple[str, ...]) -> None:
    assert presence.count_core_ids({}, names) == 0
    assert presence.exclusive_intersections({}) == []
    assert presence.first_snapshot_survival({}, names)[0]["present_share"] is None
    assert presence.overlap_matrices({}, names)["jaccard"][0][0] is None
