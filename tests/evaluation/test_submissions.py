"""Runs as people hand them in: zip files, ir-metadata.yml, and the checker."""

import zipfile
from pathlib import Path

import polars as pl
import pytest

from builder.collection.read import Snapshot
from builder.errors import FormatError, UsageError
from builder.evaluation.runs.archives import extract_archives
from builder.evaluation.runs.assignment import assign_runs
from builder.evaluation.runs.checker import check_run, check_submissions
from builder.evaluation.runs.metadata import RunMetadata, read_nearest_metadata
from builder.trec.runs import read_run

METADATA = """
tag: BM25-tuned
actor: {team: "Team <b>X</b>"}
platform: {hardware: {cpu: {model: EPYC}}}
resources: {runtime: {wallclock: 12 s}}
"""


def archive(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for name, text in members.items():
            out.writestr(name.replace("__", "/"), text)
    return path


def test_a_zip_is_a_folder_of_runs(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "team.zip",
        **{"2022-06__run.txt": "q Q0 d 1 1 t\n", "2022-06__ir-metadata.yml": METADATA},
    )
    with extract_archives([path, tmp_path]) as (folder, other):
        assert other == tmp_path
        (run,) = assign_runs([folder], ["2022-06", "2022-07"])
        assert (run.system, run.snapshot) == ("team", "2022-06")
        about = read_nearest_metadata(run.path)
        assert about is not None
        assert (about.team, about.system) == ("Team <b>X</b>", "BM25-tuned")
        assert about.resources == "runtime.wallclock=12 s; hardware.cpu.model=EPYC"
    assert not folder.exists()


@pytest.mark.parametrize("name", ["..__evil.txt", "a__..__..__evil.txt", "__abs.txt", "C:x"])
def test_a_zip_writes_nothing_elsewhere(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "team.zip", **{name: "x"})
    with pytest.raises(FormatError, match="inside the target folder"), extract_archives([path]):
        pass
    assert sorted(tmp_path.rglob("*")) == [path]


def test_other_archives_are_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "team.zip", **{"bm25__inner_2022-06.zip": "PK"})
    with pytest.raises(FormatError) as caught, extract_archives([path]):
        pass
    assert str(caught.value) == (
        f"{path}: expected runs in the archive, found a nested archive "
        "'bm25/inner_2022-06.zip'; unpack both and pass the folder that contains the runs"
    )
    for name in ("runs.tar.gz", "bm25_2022-06.tgz", "runs/2022-06.zip"):
        other = tmp_path / name
        other.parent.mkdir(exist_ok=True)
        other.write_bytes(b"x")
        for given in {other, other if other.parent == tmp_path else other.parent}:
            with pytest.raises(UsageError) as wrong:
                assign_runs([given], ["2022-06"])
            assert str(wrong.value) == (
                f"{other}: expected a run, found an archive; unpack it (commands such as "
                "`longeval evaluate` unpack only zip files passed as arguments)"
            )


def test_a_bomb_and_a_damaged_zip_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "team.zip", run="x" * 5000)
    with pytest.raises(FormatError, match="at most 4000 bytes"), extract_archives([path], 4000):
        pass
    path.write_bytes(path.read_bytes().replace(b"x" * 100, b"y" * 100))
    with pytest.raises(FormatError, match="damaged zip archive"), extract_archives([path]):
        pass


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [", "!!python/object/apply:os.abort []"])
def test_metadata_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ir-metadata.yml").write_text(text)
    with pytest.raises(FormatError, match="YAML"):
        read_nearest_metadata(tmp_path / "run.txt")


@pytest.mark.parametrize("name", ["TEAM.ZIP", "team.download"])
def test_a_zip_is_known_by_its_name_or_its_content(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / name, **{"run.txt": "q Q0 d 1 1 t\n"})
    with extract_archives([tmp_path, path]) as (other, folder):
        assert other == tmp_path
        assert [file.name for file in folder.iterdir()] == ["run.txt"]
        assert folder.name == name.partition(".")[0]
    unpacked = tmp_path / "unpacked.zip"
    unpacked.mkdir()
    with extract_archives([unpacked]) as given:
        assert given == [unpacked]
    text = tmp_path / "text.ZIP"
    text.write_text("q Q0 d 1 1 t\n")
    with pytest.raises(FormatError) as caught, extract_archives([text]):
        pass
    assert str(caught.value) == f"{text}: damaged zip archive: File is not a zip file"


def test_archives_of_the_same_name_are_extracted_apart(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "team.zip", tmp_path / "b" / "team.zip"]
    for path in paths:
        path.parent.mkdir()
        archive(path, **{"2022-06.txt": f"q Q0 {path.parent.name} 1 1 t\n"})
    with extract_archives(paths) as folders:
        texts = [(folder / "2022-06.txt").read_text() for folder in folders]
        assert texts == ["q Q0 a 1 1 t\n", "q Q0 b 1 1 t\n"]


def test_folders_of_an_archive_and_files_of_a_mac_are_no_runs(tmp_path: Path) -> None:
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w") as out:
        for name in ("bm25/", "__MACOSX/bm25/._2022-06.txt", "bm25\\2022-06.txt", "2022-07.txt"):
            out.writestr(name, "" if name.endswith("/") else "q Q0 d 1 1 t\n")
    with extract_archives([path]) as (folder,):
        files = [file.relative_to(folder).as_posix() for file in folder.rglob("*.*")]
        assert sorted(files) == ["2022-07.txt", "bm25/2022-06.txt"]


def test_members_of_an_archive_share_a_limit(tmp_path: Path) -> None:
    path = archive(tmp_path / "team.zip", one="x" * 3000, two="x" * 2000)
    with extract_archives([path], 5000) as (folder,):
        assert [file.stat().st_size for file in sorted(folder.iterdir())] == [3000, 2000]
    with pytest.raises(FormatError) as caught, extract_archives([path], 4999):
        pass
    assert str(caught.value) == (
        f"{path}: expected at most 4999 bytes after decompression, found more; split the file, or "
        "raise the limit (parameter max_bytes) if you trust the file"
    )


def test_an_archive_with_a_password_is_refused(tmp_path: Path) -> None:
    """The first bit of the flags, in the directory at the end of the archive, says so."""
    path = archive(tmp_path / "team.zip", **{"2022-06.txt": "x"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] = 1
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught, extract_archives([path]):
        pass
    assert str(caught.value) == (
        f"{path}: expected an archive without a password, found an encrypted one"
    )


@pytest.mark.parametrize(
    ("text", "team", "system", "resources"),
    [
        ("actor: {name: Ann}\nsystem: s\n", "Ann", "s", None),
        ("actor: {name: Ann, team: T}\nsystem: s\ntag: t\n", "T", "t", None),
        ("actor: Ann\ntag: 7\n", None, "7", None),
        ("actor: {team: ''}\ntag:\nresources: none\n", None, None, None),
        ("resources: {cpu: [a, b], gpu:, ram: {0: 1, unit: GB}}\n", None, None,
         "cpu=['a', 'b']; ram.0=1; ram.unit=GB"),
        (f"tag: {'x' * 201}\n", None, "x" * 200, None),
        ("platform: {a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}}\n", None, None,
         "a.b.c.d.e.f.g.h={'i': 1}"),
    ],
)  # fmt: skip
def test_fields_of_metadata(
    tmp_path: Path, text: str, team: str | None, system: str | None, resources: str | None
) -> None:
    path = tmp_path / "ir-metadata.yml"
    path.write_text(text)
    assert read_nearest_metadata(tmp_path / "run.txt") == RunMetadata(path, team, system, resources)


def test_the_nearest_metadata_of_any_name_are_read(tmp_path: Path) -> None:
    """Of two files in a folder, `ir-metadata.yml` is read."""
    run = tmp_path / "team" / "bm25" / "2022-06" / "run.txt"
    run.parent.mkdir(parents=True)
    assert read_nearest_metadata(run) is None
    nearer = ("team/ir_metadata.yaml", "team/bm25/ir_metadata.yml")
    nearest = ("team/bm25/2022-06/ir-metadata.yaml", "team/bm25/2022-06/ir-metadata.yml")
    for name in (*nearer, *nearest):
        (tmp_path / name).write_text("tag: t\n")
        about = read_nearest_metadata(run)
        assert about is not None
        assert about.path == tmp_path / name


def test_metadata_of_more_than_a_mebibyte_or_another_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ir-metadata.yml"
    path.write_text("tag: t #" + "x" * (2**20 - 7))
    with pytest.raises(FormatError, match="at most 1048576 bytes"):
        read_nearest_metadata(tmp_path / "run.txt")
    path.write_bytes("tag: té".encode("latin-1"))
    with pytest.raises(FormatError, match=r"yml: invalid YAML: 'utf-8' codec can't decode"):
        read_nearest_metadata(tmp_path / "run.txt")
    path.write_text("- a\n")
    with pytest.raises(FormatError) as caught:
        read_nearest_metadata(tmp_path / "run.txt")
    assert str(caught.value) == (
        f"{path}: expected a YAML mapping with a key such as `actor`, found list"
    )


def checks(tmp_path: Path, text: str) -> dict[str, tuple[str, int]]:
    path = tmp_path / "run.txt"
    path.write_text(text)
    queries, documents = pl.Series(["q1", "q2"]), pl.Series(["a", "b"])
    return {f.check: (f.level, f.count) for f in check_run(path, queries, documents)}


def test_what_the_checker_finds(tmp_path: Path) -> None:
    good = "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\nq2 Q0 a 1 1.0 t\n"
    assert checks(tmp_path, good) == {}
    assert checks(tmp_path, "q1 Q0 a 1\n") == {"unreadable": ("error", 1)}
    assert checks(tmp_path, "") == {"empty": ("error", 1)}
    assert checks(tmp_path, good + "q3 Q0 c 1 1.0 u\n") == {
        "unknown_documents": ("error", 1),
        "unknown_queries": ("warning", 1),
        "several_tags": ("warning", 2),
    }
    assert checks(tmp_path, "q1 Q0 a 2 2.0 t\nq1 Q0 b 1 1.0 t\n") == {
        "ranks_and_scores": ("warning", 1),
        "missing_queries": ("warning", 1),
    }
    ranked_only = "q1 Q0 a 2 0 t\nq1 Q0 b 1 0.0 t\nq2 Q0 a 1 0 t\n"
    assert checks(tmp_path, ranked_only) == {"tied_scores": ("warning", 1)}
    assert checks(tmp_path, "q8 Q0 a 1 2.0 t\n") == {
        "no_known_query": ("error", 1),
        "missing_queries": ("warning", 2),
    }
    deep = "".join(f"q1 Q0 d{i} {i + 1} {-i} t\n" for i in range(1001))
    found = checks(tmp_path, deep)
    assert found["too_deep"] == ("error", 1)
    assert found["unknown_documents"] == ("error", 1001)


def messages(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "run.txt"
    path.write_text(text)
    queries, documents = pl.Series(["q1", "q2"]), pl.Series(["a", "b"])
    return {f.check: f.message for f in check_run(path, queries, documents)}


def test_messages_have_three_examples(tmp_path: Path) -> None:
    lines = "".join(f"q{i} Q0 a 1 1.0 t{i}\n" for i in range(1, 6))
    assert messages(tmp_path, lines) == {
        "unknown_queries": "queries not in the snapshot: q3, q4, q5",
        "several_tags": "expected one tag, found t1, t2, t3, and 2 more",
    }
    assert messages(tmp_path, "q7 Q0 c 2 2.0 t\nq7 Q0 d 1 1.0 t\n") == {
        "no_known_query": "expected queries of the snapshot, found only other queries: q7",
        "unknown_documents": "documents not in the snapshot: c, d",
        "missing_queries": "queries without results: q1, q2",
        "ranks_and_scores": "ranks contradict the scores (only scores are evaluated) "
        "for the queries q7",
    }
    assert messages(tmp_path, "q2 Q0 a 1 1 t\nq2 Q0 b 2 1 t\nq1 Q0 a 1 1 t\n") == {
        "tied_scores": "all scores are equal as 32-bit floats, so results are ranked by document "
        "id, for the queries q2"
    }


def test_errors_come_before_warnings_in_the_order_of_their_names(tmp_path: Path) -> None:
    """b and c of q1 are tied and in ascending order, d is below them with a higher score."""
    path = tmp_path / "run.txt"
    path.write_text(
        "q1 Q0 b 1 2.0 t\nq1 Q0 c 2 2.0 u\nq1 Q0 d 3 3.0 t\n\nq2 Q0 a 1 1 t\nq2 Q0 b 2 1 t\n"
        "q3 Q0 a 1 1 t\n"
        + "".join(f"q4 Q0 b{n} {n} {-n} t\n" for n in range(1001))
        + "".join(f"q5 Q0 b{n} {n} {-n} t\n" for n in range(1000))
    )
    found = check_run(path, pl.Series(["q1", "q2", "q4", "q6", "q5"]), pl.Series(["a", "b", "c"]))
    assert [(f.level, f.check, f.count) for f in found] == [
        ("error", "too_deep", 1),
        ("error", "unknown_documents", 1002),
        ("warning", "missing_queries", 1),
        ("warning", "ranks_and_scores", 1),
        ("warning", "ranks_of_ties", 1),
        ("warning", "several_tags", 2),
        ("warning", "tied_scores", 1),
        ("warning", "unknown_queries", 1),
    ]
    texts = [f.message for f in found]
    assert texts[:3] == [
        "more than 1000 documents for the queries q4",
        "documents not in the snapshot: b0, b1, b10, and 999 more",
        "queries without results: q6",
    ]
    assert [text.rpartition(" ")[2] for text in texts[3:]] == ["q1", "q1", "u", "q2", "q3"]


def test_documents_of_an_imported_release_are_known_by_either_id(tmp_path: Path) -> None:
    ids = {"kind": ["document"], "id": ["1"], "key": ["a"]}
    pl.DataFrame(ids).write_parquet(tmp_path / "release_ids.parquet")
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 doc1 1 2 t\n")
    queries, documents = pl.Series(["q1"]), pl.Series(["1"])
    assert check_run(run, queries, documents, tmp_path) == []
    (finding,) = check_run(run, queries, documents)
    assert finding.message == "documents not in the snapshot: doc1"


TIED_A_FIRST = "q1 Q0 a 1 {} t\nq1 Q0 b 2 {} t\nq2 Q0 a 1 1 t\n"


@pytest.mark.parametrize("scores", [(1e9, 1e9 - 1), (1 - 1e-9, 1 - 2e-9), (5, 5)])
def test_scores_that_are_equal_as_32_bit_floats(
    tmp_path: Path, scores: tuple[float, float]
) -> None:
    assert checks(tmp_path, TIED_A_FIRST.format(*scores)) == {"tied_scores": ("warning", 1)}
    third = "q1 Q0 c 3 -1 t\n"
    path = tmp_path / "run.txt"
    path.write_text(TIED_A_FIRST.format(*scores) + third)
    (finding,) = check_run(path, pl.Series(["q1", "q2"]), pl.Series(["a", "b", "c"]))
    assert (finding.level, finding.check, finding.count) == ("warning", "ranks_of_ties", 1)
    assert finding.message == (
        "ranks contradict the order of tied results (trec_eval ranks results whose scores are "
        "equal as 32-bit floats by descending document id) for the queries q1"
    )
    path.write_text("q1 Q0 b 1 {} t\nq1 Q0 a 2 {} t\nq2 Q0 a 1 1 t\n".format(*scores) + third)
    assert check_run(path, pl.Series(["q1", "q2"]), pl.Series(["a", "b", "c"])) == []


@pytest.mark.parametrize("ranks", [("2.0", "1.0"), ("0", "0"), ("7", "7"), ("-", "-"), ("2", "-")])
def test_ranks_that_do_not_contradict_the_scores(tmp_path: Path, ranks: tuple[str, str]) -> None:
    text = "q1 Q0 a {} 1 t\nq1 Q0 b {} 2 t\nq2 Q0 a 1 1 t\n".format(*ranks)
    assert checks(tmp_path, text) == {}


@pytest.mark.parametrize("ranks", [("1.0", "2.0"), ("0", "1"), ("-1", "1e0")])
def test_ranks_that_contradict_the_scores(tmp_path: Path, ranks: tuple[str, str]) -> None:
    text = "q1 Q0 a {} 1 t\nq1 Q0 b {} 2 t\nq2 Q0 a 1 1 t\n".format(*ranks)
    assert checks(tmp_path, text) == {"ranks_and_scores": ("warning", 1)}


def test_errors_in_a_zip_name_the_archive_and_the_member(tmp_path: Path) -> None:
    path = archive(tmp_path / "team.zip", **{"bm25__2022-06.txt": "q Q0 d 1\n"})
    with pytest.raises(FormatError) as caught, extract_archives([path, tmp_path]) as (folder, _):
        read_run(folder / "bm25" / "2022-06.txt")
    assert str(caught.value).startswith(f"{path}/bm25/2022-06.txt, line 1: expected ")


def test_a_repeated_member_is_named(tmp_path: Path) -> None:
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("bm25/2022-06.txt", "x")
        with pytest.warns(UserWarning, match="Duplicate name"):
            out.writestr("bm25/2022-06.txt", "y")
    with pytest.raises(FormatError) as caught, extract_archives([path]):
        pass
    assert str(caught.value) == (
        f"{path}: expected distinct members in the archive, found 'bm25/2022-06.txt' twice"
    )


def test_submissions_are_checked_with_their_metadata(tmp_path: Path) -> None:
    """Metadata are looked for in the folder of a run and in two parents."""
    snapshot = Snapshot(tmp_path / "collection", "2022-06", 1)
    (snapshot.folder / "documents").mkdir(parents=True)
    part = snapshot.folder / "documents/part-00000.parquet"
    pl.DataFrame({"doc_id": ["a"]}).write_parquet(part)
    pl.DataFrame({"query_id": ["q1"]}).write_parquet(snapshot.folder / "queries.parquet")
    runs = tmp_path / "team" / "web" / "bm25" / "2022-06"
    runs.mkdir(parents=True)
    (runs / "run.txt").write_text("q1 Q0 a 1 1.0 t\nq1 Q0 x 2 0.5 t\n")
    (tmp_path / "team" / "ir-metadata.yml").write_text(METADATA)
    checked = check_submissions([snapshot], [runs / "run.txt"])
    row = ("bm25", "2022-06", str(runs / "run.txt"))
    assert checked.runs.rows() == [(*row, None, None, None)]
    finding = ("error", "unknown_documents", 1, "documents not in the snapshot: x")
    assert checked.findings.rows() == [("bm25", "2022-06", *finding)]
    (tmp_path / "team" / "web" / "ir-metadata.yml").write_text(METADATA)
    resources = "runtime.wallclock=12 s; hardware.cpu.model=EPYC"
    found = check_submissions([snapshot], [runs / "run.txt"]).runs
    assert found.rows() == [(*row, "Team <b>X</b>", "BM25-tuned", resources)]


def test_each_run_is_checked_against_its_snapshot(tmp_path: Path) -> None:
    """June has q1 and the documents a and b, July has q2 and no documents."""
    snapshots = [Snapshot(tmp_path / "c", "2022-07", 0), Snapshot(tmp_path / "c", "2022-06", 2)]
    for snapshot, query in zip(snapshots, ("q2", "q1"), strict=True):
        snapshot.folder.mkdir(parents=True)
        pl.DataFrame({"query_id": [query]}).write_parquet(snapshot.folder / "queries.parquet")
    (snapshots[1].folder / "documents").mkdir()
    for number, document in enumerate("ab"):
        part = snapshots[1].folder / "documents" / f"part-0000{number}.parquet"
        pl.DataFrame({"doc_id": [document]}).write_parquet(part)
    for system, month, query in (("s", "06", "q1"), ("s", "07", "q2"), ("r", "07", "q1")):
        path = tmp_path / "runs" / system / f"2022-{month}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{query} Q0 a 1 2 t\n{query} Q0 b 2 1 t\n")
    found = check_submissions(snapshots, [tmp_path / "runs"])
    assert found.runs.select("system", "snapshot").rows() == [
        ("r", "2022-07"), ("s", "2022-06"), ("s", "2022-07")
    ]  # fmt: skip
    assert found.runs.columns[2:] == ["run", "team", "metadata_system", "resources"]
    assert found.findings.drop("message").rows() == [
        ("r", "2022-07", "error", "no_known_query", 1),
        ("r", "2022-07", "error", "unknown_documents", 2),
        ("r", "2022-07", "warning", "missing_queries", 1),
        ("s", "2022-07", "error", "unknown_documents", 2),
    ]


def test_a_member_that_ends_early_or_has_an_unknown_compression_is_an_error(
    tmp_path: Path,
) -> None:
    """The directory says that the member has 9,000 bytes, but its data end with the file."""
    path = archive(tmp_path / "team.zip", run="x" * 5000)
    whole = path.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    sizes = (9000).to_bytes(4, "little")
    long = whole[: directory + 20] + 2 * sizes + whole[directory + 28 :]
    unknown = (
        whole[:8] + b"\x63\x00" + whole[10 : directory + 10] + b"\x63\x00" + whole[directory + 12 :]
    )
    for damaged, reason in (
        (long, ""),
        (unknown, "That compression method is not supported"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(FormatError) as caught, extract_archives([path]):
            pass
        assert str(caught.value) == f"{path}: damaged zip archive: {reason}"


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("bm25/2022-06/run.txt", "q 0 d 1 1 t\n" * 50)
    cut = tmp_path / "2022-06.zip"
    cut.write_bytes(whole.read_bytes()[:200])
    with (
        pytest.raises(FormatError, match="damaged zip archive"),
        extract_archives([cut]),
    ):
        pass


def test_any_tag_that_evaluation_reads_can_be_checked(tmp_path: Path) -> None:
    """U+2028 ends no line, and a tag need not be UTF-8."""
    run = "q1 Q0 a 1 2.0 t\u2028g\nq1 Q0 b 2 1.0 t\u2028g\nq2 Q0 a 1 1.0 t\u2028g\n"
    assert checks(tmp_path, run) == {}
    path = tmp_path / "latin.txt"
    path.write_bytes("q1 Q0 a 1 2.0 tég\nq2 Q0 a 1 1.0 tég\n".encode("latin-1"))
    assert check_run(path, pl.Series(["q1", "q2"]), pl.Series(["a"])) == []
