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
    assert overlap["jaccard"][0] == [1.0, 5 / 11, 6 / 15]


def test_survival() -> None:
    rows = presence.first_snapshot_survival(PATTERNS, NAMES)
    assert [row["present"] for row in rows] == [8, 5, 6]
    assert [row["uninterrupted"] for row in rows] == [8, 5, 5]
    assert rows[2]["present_share"] == 6 / 8


def test_core_and_returning() -> None:
    assert presence.count_core_ids(PATTERNS, NAMES) == 5
    assert presence.count_returning_ids(PATTERNS, NAMES) == 1


def test_intersections_are_largest_first_and_complete() -> None:
    rows = presence.exclusive_intersections(PATTERNS, limit=2)
    assert rows == [
        {"snapshots": list(NAMES), "ids": 5},
        {"snapshots": ["2022-09"], "ids": 4},
        {"snapshots": None, "ids": 6},
    ]
    assert sum(row["ids"] for row in presence.exclusive_intersections(PATTERNS)) == sum(
        PATTERNS.values()
    )


@pytest.mark.parametrize("names", [NAMES, NAMES[:1]])
def test_nothing(names: tuple[str, ...]) -> None:
    assert presence.count_core_ids({}, names) == 0
    assert presence.exclusive_intersections({}) == []
    assert presence.first_snapshot_survival({}, names)[0]["present_share"] is None
    assert presence.overlap_matrices({}, names)["jaccard"][0][0] is None
