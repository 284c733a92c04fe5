"""Snapshots that the paths of runs name."""

from pathlib import Path

import pytest

from builder.errors import UsageError
from builder.evaluation.runs.dates import (
    check_distinct_runs,
    different_snapshots_warning,
    find_snapshot_name,
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("2022-06.run", "2022-06"),
        ("run_2022_06_30.gz", "2022-06-30"),
        ("bm25-202206", "2022-06"),
        ("1999-12", "1999-12"),
        ("2022-06/2022-09/run", "2022-09"),
        ("2022-06/a/run", "2022-06"),
        ("2022-06/a/b/run", None),
        ("2022-06/snapshot-007.run", "snapshot-7"),
        ("Snapshot_12/run", "snapshot-12"),
        ("2022-13", None),
        ("2022-00", None),
        ("2122-06", None),
        ("12022-06", None),
        ("2022061", None),
        ("run", None),
    ],
)
def test_the_date_or_number_nearest_to_the_file(path: str, name: str | None) -> None:
    assert find_snapshot_name(Path("/runs/here") / path) == name


def test_runs_of_different_snapshots_are_a_warning() -> None:
    june, july = Path("a/2022-06.run"), Path("b/2022-07.run")
    assert different_snapshots_warning([june, Path("c/2022-06.run"), Path("other")]) is None
    assert different_snapshots_warning([july, june]) == (
        "expected runs of the same snapshot, found paths that name 2022-06, 2022-07; results of "
        "different snapshots should not be combined"
    )


def test_the_same_run_twice_is_an_error(tmp_path: Path) -> None:
    one, other, link = tmp_path / "one", tmp_path / "other", tmp_path / "link"
    one.touch()
    other.touch()
    link.symlink_to(one)
    check_distinct_runs([one, other])
    with pytest.raises(UsageError) as caught:
        check_distinct_runs([one, other, link])
    assert str(caught.value) == f"{link}: expected distinct runs, found this run twice"
