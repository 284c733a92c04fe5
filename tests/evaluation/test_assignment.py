import json
from pathlib import Path

import pytest

from builder.errors import UsageError
from builder.evaluation.runs.assignment import assign_runs, resolve_pivot
from builder.evaluation.runs.numbering import determine_snapshot_numbers

SNAPSHOTS = ["2022-06", "2022-07", "2022-06-15"]


@pytest.mark.parametrize(
    ("path", "system", "snapshot"),
    [
        ("bm25/2022-06.txt.gz", "bm25", "2022-06"),
        ("bm25_2022-06.run", "bm25", "2022-06"),
        ("2022-06/bm25.txt", "bm25", "2022-06"),
        ("runs/2022-07/mono.t5.res.zst", "mono.t5", "2022-07"),
        ("2022-07_bm25_fr.trec", "bm25_fr", "2022-07"),
        ("bm25-2022-06-fr.txt", "bm25_fr", "2022-06"),
        ("bm25/2022-06_fr/run.txt", "bm25", "2022-06"),
        ("team/bm25/2022-06/run.txt.gz", "bm25", "2022-06"),
        ("bm25_2022-06/run.txt", "bm25", "2022-06"),
        ("2022-06/run.txt", "run", "2022-06"),
        ("run_2022-06.txt", "run", "2022-06"),
        ("fr/2022-06/run.txt", "run", "2022-06"),
        ("team/bm/2022-06/run.txt.gz", "bm", "2022-06"),
        ("xx/bm/2022-06/en/run.txt", "bm", "2022-06"),
        ("bm/fr/2022-06/en/run.txt", "run", "2022-06"),
        ("team/bm25/2022-06/fr/run.txt", "bm25", "2022-06"),
        ("bm25.2022-06-15.txt", "bm25", "2022-06-15"),
        ("2022-07/bm25_2022-06.txt", "bm25", "2022-06"),
        ("bm25v2022-06", "bm25v", "2022-06"),
        ("system_2022-06/2022-06.txt", "system", "2022-06"),
        ("team/bm25/snapshot-1/run.txt.gz", "bm25", "2022-06"),
        ("bm25/snapshot-2.txt", "bm25", "2022-06-15"),
        ("bm25_snapshot3.run", "bm25", "2022-07"),
        ("snapshot-1/2022-07/bm25.txt", "bm25", "2022-07"),
        ("bm25/snapshot-03.txt", "bm25", "2022-07"),
        ("snapshot-9/a/b/2022-07.txt", "b", "2022-07"),
        ("bm25_2022_06.txt", "bm25", "2022-06"),
        ("202207/bm25.txt", "bm25", "2022-07"),
        ("bm25/2022_06_15.txt", "bm25", "2022-06-15"),
        ("bm25/20220615/run.txt", "bm25", "2022-06-15"),
    ],
)
def test_paths(path: str, system: str, snapshot: str) -> None:
    (run,) = assign_runs([Path(path)], SNAPSHOTS)
    assert (run.system, run.snapshot, run.path) == (system, snapshot, Path(path))


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["bm25.txt"], r"expected the name of a snapshot \(2022-06, 2022-06-15, 2022-07\)"),
        (["bm25_2022-08.txt"], "expected the name of a snapshot"),
        (["bm25_12022-06.txt"], "expected the name of a snapshot"),
        (["bm25_2022-065.txt"], "expected the name of a snapshot"),
        (["bm25_2022-06-16.txt"], "expected the name of a snapshot"),
        (["bm25/snapshot-4.txt"], "'snapshot-4' names snapshot-4, but the snapshots are 2022-06 "),
        (["bm25/snapshot-10.txt"], "'snapshot-10' names snapshot-10, but the snapshots are "),
        (["2022-06/bm25_snapshot_4.txt"], "'bm25_snapshot_4' names snapshot_4, but "),
        (["2022-06/snapshot-4/run.txt"], "'snapshot-4' names snapshot-4, but the snapshots are "),
        (["bm25/snapshot-4_2022-06.txt"], "names snapshot-4, but the snapshots are "),
        (["bm25/mysnapshot-1.txt"], "expected the name of a snapshot"),
        (["bm25/snapshot-1.txt", "bm25/2022-06.txt"], "both runs of 'bm25' for 2022-06"),
        (["a_2022-06_2022-07.txt"], "names several snapshots: 2022-06, 2022-07"),
        (["bm25/2022-06.txt", "bm25_2022-06.txt"], "both runs of 'bm25' for 2022-06"),
        (["2022-06/2022-06.txt"], "expected the name of a system"),
        ([], "expected at least one run file, found none"),
    ],
)
def test_what_cannot_be_assigned(paths: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        assign_runs([Path(path) for path in paths], SNAPSHOTS)


def test_dates_are_looked_for_in_the_file_name_and_two_folders() -> None:
    (run,) = assign_runs([Path("x-2022-06/2022-07/team/bm25.txt")], SNAPSHOTS)
    assert (run.system, run.snapshot) == ("bm25", "2022-07")
    for path in ("exp-2022-06/a/b/bm25.txt", "2022-06/a/b/c/bm25_july.txt", "snapshot-1/a/b/c.txt"):
        with pytest.raises(UsageError) as caught:
            assign_runs([Path(path)], SNAPSHOTS)
        assert str(caught.value) == (
            f"{path}: expected the name of a snapshot (2022-06, 2022-06-15, 2022-07) in the file "
            "or folder name, such as bm25/2022-06.txt or bm25_2022-06.txt; the file does not exist"
        )


def test_a_single_snapshot_need_not_be_named() -> None:
    (run,) = assign_runs([Path("bm25.txt")], ["2022-06"])
    assert (run.system, run.snapshot) == ("bm25", "2022-06")


def test_folders_stand_for_their_files(tmp_path: Path) -> None:
    for name in (
        "bm25/2022-06.txt",
        "bm25/2022-07.txt",
        "rrf/2022-06.txt",
        ".cache/x",
        "rrf/.hidden",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    runs = assign_runs([tmp_path, tmp_path / "bm25"], SNAPSHOTS)
    assert [(run.system, run.snapshot) for run in runs] == [
        ("bm25", "2022-06"),
        ("bm25", "2022-07"),
        ("rrf", "2022-06"),
    ]
    assert resolve_pivot("rrf", runs) == "rrf"
    assert resolve_pivot(str(tmp_path / "rrf"), runs) == "rrf"
    assert resolve_pivot(str(tmp_path / "bm25" / "2022-07.txt"), runs) == "bm25"
    for wrong in ("BM25", str(tmp_path), str(tmp_path / "rrf" / "2022-07.txt")):
        with pytest.raises(UsageError, match="expected a run file or one of the systems bm25, rrf"):
            resolve_pivot(wrong, runs)


def test_linked_folders_are_searched_and_loops_and_backups_are_not(tmp_path: Path) -> None:
    for name in ("elsewhere/2022-06.txt", "runs/bm25/2022-06.txt", "runs/bm25/2022-07.txt~"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    runs = tmp_path / "runs"
    (runs / "mono").symlink_to(tmp_path / "elsewhere")
    (runs / "again").symlink_to(runs / "bm25")
    (runs / "bm25" / "loop").symlink_to(runs)
    (runs / "gone_2022-07.txt").symlink_to(runs / "absent.txt")
    found = [(run.system, run.snapshot) for run in assign_runs([runs], SNAPSHOTS)]
    assert found == [
        ("again", "2022-06"),
        ("bm25", "2022-06"),
        ("gone", "2022-07"),
        ("mono", "2022-06"),
    ]


def test_a_submission_has_more_than_runs(tmp_path: Path) -> None:
    for name in ("bm25/2022-06/run.txt.gz", "bm25/2022-07/run.txt.gz", "bm25/ir-metadata.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = assign_runs([tmp_path / "bm25"], SNAPSHOTS)
    assert [(run.system, run.snapshot) for run in found] == [
        ("bm25", "2022-06"),
        ("bm25", "2022-07"),
    ]


def test_backup_copies_are_no_systems(tmp_path: Path) -> None:
    """They were further systems, such as `txt.bak` and `(1)`, and changed corrected p-values."""
    names = ("2022-06.txt", "2022-06.txt.bak", "2022-06 (1).txt", "2022-06 - Copy.txt")
    for name in (*names, "2022-06.txt.part", "2022-06.txt.gz.crdownload"):
        (tmp_path / name).write_text("q1 Q0 d1 1 1 x\n")
    (run,) = assign_runs([tmp_path], SNAPSHOTS)
    assert run.path == tmp_path / "2022-06.txt"


def test_a_folder_without_runs_is_not_passed_over(tmp_path: Path) -> None:
    run = tmp_path / "2022-06.txt"
    run.write_text("q 0 d 1 1 a\n")
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "README.md").write_text("no run\n")
    for paths in ([folder], [run, folder]):
        with pytest.raises(UsageError, match=r"empty: the folder contains no run files"):
            assign_runs(paths, SNAPSHOTS)


def test_a_run_of_another_month_is_refused(tmp_path: Path) -> None:
    for name in ("lag6/2023-06/bm25.txt", "bm25_2023-06.txt"):
        with pytest.raises(UsageError, match=r"names 2023-06, but the only snapshot is 2022-06"):
            assign_runs([tmp_path / name], ["2022-06"])
    (run,) = assign_runs([Path("runs/bm25.txt")], ["2022-06"])
    assert (run.system, run.snapshot) == ("bm25", "2022-06")


def test_the_name_of_a_run_and_its_two_folders_must_not_be_of_another_month() -> None:
    (run,) = assign_runs([Path("2023-06/team/bm25/run.txt")], ["2022-06"])
    assert (run.system, run.snapshot) == ("run", "2022-06")
    for path in ("2023-06/bm25/run.txt", "bm25/2023-06/run.txt", "bm25/2023-06.txt"):
        with pytest.raises(UsageError) as caught:
            assign_runs([Path(path)], ["2022-06"])
        assert str(caught.value) == (
            f"{path}: '2023-06' names 2023-06, but the only snapshot is 2022-06; omit the file, or "
            "rename it if it is not a run of 2023-06"
        )


@pytest.mark.parametrize(
    ("path", "part", "other"),
    [
        ("bm25_2022_07.txt", "bm25_2022_07", "2022_07"),
        ("2022_07/bm25.txt", "2022_07", "2022_07"),
        ("bm25_202207.txt", "bm25_202207", "202207"),
        ("bm25_2022-06-16.txt", "bm25_2022-06-16", "2022-06-16"),
        ("bm25_2022_06_16.txt", "bm25_2022_06_16", "2022_06_16"),
        ("bm25_july.txt", "bm25_july", "july"),
        ("b-long-September/July.txt", "July", "July"),
        ("bm25/snapshot-2/run.txt", "snapshot-2", "snapshot-2"),
    ],
)
def test_other_ways_to_name_another_snapshot(path: str, part: str, other: str) -> None:
    snapshot = "2022-06 (snapshot-1)" if other == "snapshot-2" else "2022-06"
    with pytest.raises(UsageError) as caught:
        assign_runs([Path(path)], ["2022-06"])
    assert str(caught.value) == (
        f"{path}: {part!r} names {other}, but the only snapshot is {snapshot}; omit the file, or "
        f"rename it if it is not a run of {other}"
    )


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("bm25_2022_06.txt", "bm25"),
        ("bm25_202206.txt", "bm25"),
        ("bm25_June.txt", "bm25_June"),
        ("lag8/bm25.txt", "bm25"),
        ("home/april/bm25.txt", "bm25"),
        ("augustus_2212071.txt", "augustus_2212071"),
        ("bm25_20220715.txt", "bm25_20220715"),
    ],
)
def test_names_that_are_no_other_month(path: str, system: str) -> None:
    (run,) = assign_runs([Path(path)], ["2022-06"])
    assert (run.system, run.snapshot) == (system, "2022-06")


def test_names_of_months_are_not_compared_with_other_names_of_snapshots() -> None:
    (run,) = assign_runs([Path("bm25_july.txt")], ["all"])
    assert (run.system, run.snapshot) == ("bm25_july", "all")


def test_numbers_of_a_release() -> None:
    numbers = {"2025-06": 2, "2025-09": 3}
    paths = [Path(f"sys/snapshot-{number}/run.txt") for number in (2, 3)]
    found = assign_runs(paths, ["2025-06", "2025-09", "2026-01"], numbers)
    assert [(run.system, run.snapshot) for run in found] == [("sys", "2025-06"), ("sys", "2025-09")]
    with pytest.raises(UsageError) as caught:
        assign_runs([Path("sys/snapshot-1/run.txt")], ["2025-06", "2025-09", "2026-01"], numbers)
    assert str(caught.value) == (
        "sys/snapshot-1/run.txt: 'snapshot-1' names snapshot-1, but the snapshots are 2025-06 "
        "(snapshot-2), 2025-09 (snapshot-3), 2026-01; omit the file, or rename it if it is not a "
        "run of snapshot-1"
    )


def test_numbers_in_the_names_of_qrels_files() -> None:
    (run,) = assign_runs([Path("sys/snapshot-3.txt")], ["snapshot-2", "snapshot-3"])
    assert (run.system, run.snapshot) == ("sys", "snapshot-3")
    with pytest.raises(UsageError, match="'snapshot-1' names snapshot-1, but the snapshots are"):
        assign_runs([Path("sys/snapshot-1.txt")], ["snapshot-2", "snapshot-3"])


def test_numbers_are_read_from_the_manifest(tmp_path: Path) -> None:
    names = ("2025-06", "2025-09")
    folders = {name: tmp_path / "snapshots" / name for name in names}
    assert determine_snapshot_numbers(folders) == {"2025-06": 1, "2025-09": 2}
    snapshots = [{"name": name, "start": "", "end": "", "number": 3} for name in names]
    del snapshots[0]["number"]
    manifest = {
        "name": "sci",
        "version": "1.0.0",
        "signature": "",
        "definition": {"snapshots": snapshots, "parameters": {}},
        "files": {},
        "tables": {},
        "units": {},
        "tools": {},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert determine_snapshot_numbers(folders) == {"2025-09": 3}
    assert determine_snapshot_numbers({"2025-06": folders["2025-06"]}) == {}
    assert determine_snapshot_numbers(dict.fromkeys(names, tmp_path)) == {
        "2025-06": 1,
        "2025-09": 2,
    }
