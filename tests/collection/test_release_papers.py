"""Releases of scientific papers: those of 2025 and of 2026."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.unread import NOT_NAMED, UnreadFiles
from builder.collection.imports.variants import OTHER_VARIANT
from builder.collection.imports.walk import list_release_files
from builder.collection.validate import validate
from builder.errors import UsageError
from builder.evaluation import EvaluationParameters, evaluate_paths
from tests.collection.releases import imported, opened, query_of, write


def _science(root: Path) -> Path:
    """A release as that of 2025, with documents of every shape."""
    train = root / "longeval_sci_training_2025_abstract"
    documents = [
        {
            "id": "11",
            "title": "On  Water",
            "abstract": "Wet.",
            "fullText": "Very wet.",
            "links": [],
        },
        {"id": 12, "title": "On salt", "abstract": None, "links": []},
        {"id": "13", "title": "", "abstract": ""},
        {"id": "14", "authors": []},
        {"id": "11", "title": "On Water", "abstract": "Wet again."},
    ]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    write(train / "documents/documents_000001.jsonl", lines)
    write(train / "queries.txt", "ab-1\twater\nab-2\tsalt\n")
    write(train / "qrels.txt", "ab-1 2024-11 11 2\nab-2 2024-11 12 1\n")
    test = root / "longeval_sci_testing_2025_abstract"
    page = {"id": "11", "title": "On Water", "abstract": "Wet, revised."}
    write(test / "documents/documents_000001.jsonl", json.dumps(page) + "\n")
    write(test / "queries_2024-11_test.txt", "cd-1\tpepper\n")
    write(test / "queries_2025-01_test.txt", "ab-1\twater\n")
    write(root / "longeval_sci_qrels/qrels-longeval-sci-2024-11-test", "cd-1 0 12 0\n")
    write(root / "longeval_sci_qrels/qrels-longeval-sci-2025-01", "ab-1 0 11 1\n")
    write(root / "NOTES.md", "read me")
    return root


def test_a_release_of_scientific_papers(tmp_path: Path) -> None:
    report = imported(_science(tmp_path / "r"), "longeval-sci")
    collection = opened(report)
    assert collection.snapshots == ("2024-11", "2025-01")
    assert collection.languages == {"en": ""}
    november = collection.snapshot("2024-11")
    splits = dict(november.queries.collect().select("text", "split").rows())
    assert splits == {"water": "train", "salt": "train", "pepper": "heldout"}
    pages = november.documents.collect().select("doc_id", "title", "text")
    ids = {n: str(n) for n in (11, 12)}
    assert set(pages.rows()) == {
        (ids[11], "On Water", "Wet.\nVery wet."),
        (ids[12], "", "On salt"),
    }
    assert dict(report.ledgers["2024-11"].rejected) == {
        "empty_text": 1,
        "document_without_text": 1,
        "contradicting_document": 1,
    }
    later = collection.snapshot("2025-01")
    assert later.queries.collect()["split"].to_list() == ["test"]
    assert later.documents.collect()["doc_id"].to_list() == [ids[11]]
    assert collection.core_queries().collect()["query_id"].to_list() == [query_of("water")]
    assert report.plan.unread_files == {"NOTES.md": UnreadFiles(NOT_NAMED, 1)}
    assert {finding.check for finding in validate(report.version)} == {"LB201", "LB205"}


def test_a_snapshot_of_papers_may_say_its_month(tmp_path: Path) -> None:
    home = tmp_path / "r/lag"
    write(home / "documents/a.jsonl", '{"id": "1", "title": "t", "abstract": "a"}\n')
    write(home / "queries.txt", "x\tsalt\n")
    with pytest.raises(UsageError, match="cannot determine the month"):
        find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    write(home / "metadata.json", '{"timestamp": "2024-11", "snapshot": "s1"}')
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    assert snapshot.name == "2024-11"
    assert len(snapshot.paths) == 2
    write(home / "metadata.json", '{"snapshot": "../../x"}')
    with pytest.raises(UsageError, match="cannot determine the month"):
        find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")


@pytest.mark.parametrize(
    ("layout", "queries", "page", "metadata"),
    [
        (
            "longeval-sci",
            "2025-01/queries.txt",
            "2025-01/documents/a.jsonl",
            "2025-01/metadata.json",
        ),
        (
            "longeval-2023",
            "2025-01/French/Queries/train.tsv",
            "2025-01/French/Documents/a.txt",
            "2025-01/French/etc/metadata.json",
        ),
        (
            "longeval-web",
            "queries/2025-01_queries.txt",
            "Trec/2025-01_fr/a.trec",
            "Trec/2025-01_fr/metadata.json",
        ),
    ],
)
def test_a_folder_and_metadata_of_different_months_are_refused(
    tmp_path: Path, layout: str, queries: str, page: str, metadata: str
) -> None:
    """The folder or the file once won, whichever the layout asked first."""
    root = tmp_path / "r"
    write(root / queries, "q1\tsel\n")
    write(root / page, "{}")
    write(root / metadata, '{"snapshot": "2025-02"}')
    folder = next(path for path in root.rglob("2025-01*") if path.is_dir())
    message = (
        f"^{re.escape(str(folder))}: the folder name has the month 2025-01, but metadata.json has "
        "2025-02; rename the folder or correct the file$"
    )
    with pytest.raises(UsageError, match=message):
        find_snapshots(list_release_files(root), layout)
    write(root / metadata, '{"snapshot": "2025-01-15"}')
    (found,) = find_snapshots(list_release_files(root), layout)
    assert found.name[:7] == "2025-01"


def _science_of_2026(root: Path) -> Path:
    """A release as that of 2026: numbers for months, editions of judgements, papers twice."""
    folders = {
        "a/data/snapshot-1/longeval_sci_training_2026_abstract": 1,
        "b/data/snapshot-1/longeval_sci_training_2026_fulltext": 1,
        "longeval_sci_06_08_2026_documents/data/snapshot-2/abstract": 2,
        "longeval_sci_test-09-11_2026_abstract/data/snapshot-3": 3,
    }
    for folder, number in folders.items():
        page: dict[str, object] = {"id": 11, "title": f"On water {number}", "abstract": "Wet."}
        if "fulltext" in folder:
            page["fullText"] = "Very wet."
        write(root / folder / "documents/documents_1.jsonl", json.dumps(page) + "\n")
    files = {
        "task1_longeval_adhoc-queries-snapshot-train.tsv": "a\twater\n",
        "task1_longeval_adhoc-queries-snapshot-test.tsv": "b\tsalt\n",
        "task1_longeval_adhoc-qrels-snapshot-train-raw.txt": "a 0 11 1\n",
        "task1_longeval_adhoc-qrels-snapshot-train-dctr.txt": "a 0 11 2\n",
        "06-08/qrels-snapshot-2-raw.txt": "b 0 11 1\n",
        "task3_longeval_usim-sessions-train.csv": "1,u,0,water\n",
    }
    for name, text in files.items():
        write(root / name, text)
    return root


def test_the_release_of_papers_of_2026(tmp_path: Path) -> None:
    report = imported(_science_of_2026(tmp_path / "r"), "longeval-sci")
    collection = opened(report)
    assert collection.snapshots == ("2025-03", "2025-06", "2025-09")
    assert [s["number"] for s in collection.manifest["definition"]["snapshots"]] == [1, 2, 3]
    first, second, third = map(collection.snapshot, collection.snapshots)
    splits = [dict(s.queries.collect().select("text", "split").rows()) for s in (first, second)]
    assert splits == [{"water": "train", "salt": "heldout"}, {"salt": "test"}]
    assert third.queries.collect()["text"].to_list() == ["salt"]
    assert first.documents.collect()["text"].to_list() == ["Wet.\nVery wet."]
    assert [s.qrels.collect()["grade"].to_list() for s in (first, second, third)] == [[1], [1], []]
    abstracts = "a/data/snapshot-1/longeval_sci_training_2026_abstract/documents/documents_1.jsonl"
    assert report.plan.unread_files == {
        abstracts: UnreadFiles(FULL_TEXT_IS_READ, 1),
        "task1_longeval_adhoc-qrels-snapshot-train-dctr.txt": UnreadFiles(OTHER_VARIANT, 1),
        "task3_longeval_usim-sessions-train.csv": UnreadFiles(NOT_NAMED, 1),
    }


def test_runs_name_the_numbers_of_the_release_of_2026(tmp_path: Path) -> None:
    """The release of the test snapshots starts with number 2."""
    for number in (2, 3):
        folder = tmp_path / f"r/longeval_sci_testing_2026/snapshot-{number}"
        write(folder / "queries.txt", "q\twater\n")
        write(folder / "qrels.txt", f"q 0 {number} 1\n")
        write(tmp_path / f"runs/sys/snapshot-{number}/run.txt", f"q Q0 {number} 1 1 sys\n")
    collection = opened(imported(tmp_path / "r", "longeval-sci"))
    assert [s["number"] for s in collection.manifest["definition"]["snapshots"]] == [2, 3]
    qrels = {name: collection.snapshot(name).folder / "qrels.parquet" for name in ("2025-06",)}
    parameters = EvaluationParameters(measures=("P@1",), resamples=0)
    found = evaluate_paths(qrels, [tmp_path / "runs/sys/snapshot-2"], parameters).effectiveness
    assert found.select("snapshot", "value").row(0) == ("2025-06", 1.0)
    wrong = tmp_path / "runs/sys/snapshot-3/run.txt"
    with pytest.raises(UsageError) as caught:
        evaluate_paths(qrels, [wrong], parameters)
    assert str(caught.value) == (
        f"{wrong}: 'snapshot-3' names snapshot-3, but the only snapshot is 2025-06 (snapshot-2); "
        "omit the file, or rename it if it is not a run of snapshot-3"
    )


@pytest.mark.parametrize(
    ("layout", "queries", "metadata"),
    [
        ("longeval-sci", "snapshot-4/queries.txt", "snapshot-4/metadata.json"),
        ("longeval-2023", "snapshot-4/French/Queries/q.tsv", "snapshot-4/French/etc/metadata.json"),
        ("longeval-web", "queries/snapshot-4_queries.txt", "Trec/snapshot-4_fr/metadata.json"),
    ],
)
def test_other_releases_may_number_their_snapshots(
    tmp_path: Path, layout: str, queries: str, metadata: str
) -> None:
    write(tmp_path / queries, "q\tsel\n")
    write(tmp_path / metadata, '{"snapshot": "2025-02"}')
    (found,) = find_snapshots(list_release_files(tmp_path), layout)
    assert (found.name, found.number) == ("2025-02", 4)
    if layout == "longeval-2023":
        write(tmp_path / "snapshot-4/French/Qrels/snapshot-5.txt", "q 0 1 1\n")
        (found,) = find_snapshots(list_release_files(tmp_path), layout)
        assert found.number is None


def test_an_edition_of_judgements_can_be_chosen(tmp_path: Path) -> None:
    release = _science_of_2026(tmp_path / "r")
    found = find_snapshots(list_release_files(release), "longeval-sci", "raw")
    assert [[path.name for path in snapshot.qrels] for snapshot in found] == [
        ["task1_longeval_adhoc-qrels-snapshot-train-raw.txt"],
        ["qrels-snapshot-2-raw.txt"],
        [],
    ]
    arguments = ["import", str(release), "--layout", "longeval-sci", "--out", str(tmp_path / "o")]
    said = CliRunner().invoke(app, [*arguments, "--qrels", "dtcr"])
    assert "--qrels: no qrels variant 'dtcr' in this release; did you mean 'dctr'" in str(
        said.exception
    )
    with pytest.raises(UsageError, match="this release has no qrels variants"):
        find_snapshots(list_release_files(_science(tmp_path / "s")), "longeval-sci", "raw")


def test_numbers_of_another_year_are_not_guessed(tmp_path: Path) -> None:
    page = '{"id": "1", "title": "t", "abstract": "a"}\n'
    write(tmp_path / "r/longeval_sci_training_2027/snapshot-1/documents/a.jsonl", page)
    write(tmp_path / "r/task1_longeval_adhoc-queries-snapshot-train.tsv", "a\twater\n")
    with pytest.raises(UsageError, match="cannot determine the month"):
        find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    write(tmp_path / "longeval_sci_2026/s/snapshot-1/documents/a.jsonl", page)
    (tmp_path / "longeval_sci_2026/s").rename(tmp_path / "s")
    with pytest.raises(UsageError, match="cannot determine the month"):
        find_snapshots(list_release_files(tmp_path / "s"), "longeval-sci")


def test_queries_that_lie_among_papers(tmp_path: Path) -> None:
    home = tmp_path / "r/2025-03/documents"
    write(home / "a.jsonl", '{"id": "1", "title": "t", "abstract": "a"}\n')
    write(home / "queries-test.tsv", "a\twater\n")
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    assert [path.name for path, _, _ in snapshot.queries] == ["queries-test.tsv"]
    assert [path.name for path in snapshot.documents["en"]] == ["a.jsonl"]


def test_titles_are_one_line(tmp_path: Path) -> None:
    report = imported(_science(tmp_path / "r"), "longeval-sci")
    titles = opened(report).snapshot("2024-11").documents.select("title").collect()["title"]
    assert not titles.str.contains(r"\s\s|\n").any()
    assert pl.Series(["On Water"]).is_in(titles.implode()).all()
