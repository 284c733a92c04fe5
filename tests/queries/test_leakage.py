import polars as pl
import pytest

from builder.errors import DataError
from builder.io.sources import Interval
from builder.queries import SnapshotQueries, check_leakage

SCHEMA = {"query_id": pl.String, "text": pl.String, "split": pl.String, "variant_set": pl.String}


def sides(name, interval, rows) -> SnapshotQueries:  # type: ignore[no-untyped-def]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return SnapshotQueries(name, Interval(*interval) if interval else None, frame)


TRAIN = [
    ("q1", "Impôt sur le revenu", "train", "v1"),
    ("q2", "loi travail", "train", None),
    ("q3", "emploi", "heldout", None),
]


def test_without_french_all_words_distinguish_queries(room) -> None:
    snapshots = [
        sides("2022-06", None, [("q1", "my son birthday", "train", None)]),
        sides("2022-07", None, [("q2", "my birthday", "test", None)]),
    ]
    found = [check_leakage(snapshots, 0.8, room.limits, fr).near.height for fr in (True, False)]
    assert found == [1, 0]


def test_leaks_by_text_id_and_set_are_faults(room) -> None:
    later = [
        ("q9", "impot sur le REVENU", "test", None),
        ("q2", "loi travail", "seen", None),
        ("q3", "emploi", "test", None),
        ("q8", "tout autre", "test", "v1"),
        ("q1", "tout autre encore", "test", None),
    ]
    report = check_leakage(
        [sides("2022-06", (0, 10), TRAIN), sides("2022-09", (10, 20), later)], 0.8, room.limits
    )
    assert report.leaks.select("query_id", "trained_id", "by").rows() == [
        ("q1", "q1", "id"),
        ("q8", "q1", "variant_set"),
        ("q9", "q1", "text"),
    ]
    assert report.overlaps == ()
    assert not report.is_clean
    with pytest.raises(DataError) as error:
        report.require_clean()
    assert str(error.value) == (
        "expected no held-out or test query in training, found 3: 2022-09 q1 (test) in the train "
        "split of 2022-06; 2022-09 q8 (test) in the train split of 2022-06; 2022-09 q9 (test) in "
        "the train split of 2022-06; put queries that share a text, id or variant set in the same "
        "split"
    )
    more = [*later, ("q7", "Loi Travail", "heldout", None)]
    report = check_leakage([sides("a", None, TRAIN), sides("b", None, more)], 0.8, room.limits)
    with pytest.raises(DataError, match=r"found 4: b q1 [^;]*; b q7 [^;]*; b q8 [^;]*; put "):
        report.require_clean()


def test_other_spellings_are_listed_but_no_fault(room) -> None:
    later = [
        ("q5", "lois travail", "test", None),
        ("q6", "impots revennu", "test", None),
        ("q7", "travail au noir", "test", None),
        ("q4", "les impots: revenu", "test", None),
        ("q2", "loi travail", "seen", None),
    ]
    report = check_leakage(
        [sides("2022-06", None, TRAIN), sides("2022-09", None, later)], 0.8, room.limits
    )
    assert report.is_clean
    report.require_clean()
    assert report.near.select("query_id", "trained_id", "similarity").rows() == [
        ("q4", "q1", 1.0),
        ("q5", "q2", 1.0),
        ("q6", "q1", pytest.approx(6 / 7)),
    ]


def test_heldout_is_compared_with_train_of_its_own_snapshot(room) -> None:
    rows = [*TRAIN, ("q4", "Loi, travail", "heldout", None)]
    report = check_leakage([sides("2022-06", None, rows)], 0.8, room.limits)
    assert report.leaks.select("query_id", "by").rows() == [("q4", "text")]


def test_intervals_that_meet_in_a_moment_are_a_fault(room) -> None:
    report = check_leakage(
        [sides("2022-06", (0, 11), TRAIN), sides("2022-09", (10, 20), [])], 0.8, room.limits
    )
    assert report.overlaps == (("2022-06", "2022-09"),)
    assert not report.is_clean
    with pytest.raises(DataError, match="2022-06 and 2022-09 overlap"):
        report.require_clean()
    touching = [sides("2022-06", (0, 10), TRAIN), sides("2022-09", (10, 20), [])]
    assert check_leakage(touching, 0.8, room.limits).is_clean


@pytest.mark.parametrize(
    ("intervals", "overlaps"),
    [
        ([(0, 10), (10, 20)], ()),
        ([(10, 20), (0, 10)], ()),
        ([(0, 10), (30, 40)], ()),
        ([(30, 40), (0, 10)], ()),
        ([(0, 10), None], ()),
        ([None, (0, 10)], ()),
        ([(5, 6), (0, 10)], (("0", "1"),)),
        ([(0, 10), (5, 6), (9, 12)], (("0", "1"), ("0", "2"))),
    ],
)
def test_intervals_overlap_in_any_order(
    room, intervals: list[tuple[int, int] | None], overlaps: tuple[tuple[str, str], ...]
) -> None:
    snapshots = [sides(str(n), interval, []) for n, interval in enumerate(intervals)]
    report = check_leakage(snapshots, 0.8, room.limits)
    assert (report.overlaps, report.is_clean) == (overlaps, not overlaps)
    if overlaps:
        with pytest.raises(DataError) as error:
            report.require_clean()
        assert str(error.value) == (
            "expected disjoint snapshot intervals, but 0 and 1 overlap; change their intervals in "
            "the definition"
        )


def test_queries_without_variant_sets_are_compared_by_text_and_id(room) -> None:
    """The column may be missing, as in a published release."""
    rows = [("q1", "eau", "train"), ("q2", "Eau", "test"), ("q3", "mer", "heldout")]
    frame = pl.DataFrame(rows, schema=["query_id", "text", "split"], orient="row")
    report = check_leakage([SnapshotQueries("june", None, frame)], 0.8, room.limits)
    assert report.leaks.rows() == [
        ("june", "q2", "Eau", "test", "june", "q1", "eau", "text"),
    ]
    assert report.near.is_empty()


def test_no_snapshots_leak_nothing(room) -> None:
    assert check_leakage([], 0.8, room.limits).is_clean
