"""Releases in other layouts and languages, and ids that only other months explain."""

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import builder
from builder.cli import app
from builder.clicks.pooling import draw_pool
from builder.collection.imports import import_release
from builder.collection.imports.found import find_snapshots, unread_files
from builder.collection.imports.release import ImportReport
from builder.collection.read import Collection
from builder.collection.validate import validate
from builder.errors import DataError, FormatError, UsageError
from builder.evaluation.attribution import attribute_paths
from builder.keys import doc_id, key64, query_id
from builder.resources import Limits

TREC = "<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def _import(release: Path, layout: str) -> ImportReport:
    scratch = release.with_name("scratch")
    scratch.mkdir()
    return import_release(release, layout, release.with_name("out"), limits=Limits(scratch))


def _opened(report: ImportReport) -> Collection:
    return builder.open_collection(report.version)


def _id(text: str) -> str:
    return query_id(key64(text))


def _judged(report: ImportReport, snapshot: str) -> set[str]:
    return set(_opened(report).snapshot(snapshot).qrels.collect()["query_id"])


def _months(root: Path, months: dict[str, tuple[str, str]]) -> Path:
    """A folder as the lab's website has it: queries and judgements alone."""
    for month, (queries, qrels) in months.items():
        _write(root / f"collection/queries/{month}_queries.txt", queries)
        _write(root / f"collection/qrels/{month}_qrels_processed.txt", qrels)
    return root


def test_unlisted_queries_are_known_from_other_months(tmp_path: Path) -> None:
    listed = [f"{n}\tquestion {n}\n" for n in range(60)]
    judged = "".join(f"{n} 0 7 1\n" for n in range(60))
    release = _months(
        tmp_path / "r",
        {
            "2022-08": ("".join(listed), judged),
            "2022-09": ("".join(listed[:20]), judged + "99 0 7 1\n"),
        },
    )
    report = _import(release, "longeval-web")
    expected = {_id(f"question {n}") for n in range(60)}
    unknown = query_id(key64("query 99 of longeval-web"))
    assert _judged(report, "2022-08") == expected
    assert _judged(report, "2022-09") == expected | {unknown}
    assert report.rows["2022-09"] == {"queries": 20, "qrels": 61, "documents": 0}
    found = {finding.check: finding for finding in validate(report.version)}
    assert found["LB112"].count == 41
    assert "text that 1 judgements are for, the other texts are known" in found["LB112"].message
    assert "the query file changed by construction" in found["LB212"].message
    drift = json.loads((report.version / "drift.json").read_text())
    assert drift["queries"]["judged"]["core"] == 60


def test_ids_that_mean_another_query_each_month_explain_nothing(tmp_path: Path) -> None:
    release = _months(
        tmp_path / "r",
        {
            "2022-08": ("1\teau\n2\tpain\n3\tsel\n", "1 0 7 1\n2 0 7 1\n3 0 7 0\n"),
            "2022-09": ("1\tpain\n2\teau\n", "1 0 7 1\n2 0 7 1\n3 0 7 0\n"),
        },
    )
    report = _import(release, "longeval-web")
    assert _judged(report, "2022-08") == {_id("eau"), _id("pain"), _id("sel")}
    unknown = query_id(key64("query 3 of longeval-web 2022-09"))
    assert _judged(report, "2022-09") == {_id("eau"), _id("pain"), unknown}


def test_an_id_with_two_texts_is_known_from_neither(tmp_path: Path) -> None:
    listed = "1\teau\n2\tpain\n"
    release = _months(
        tmp_path / "r",
        {
            "2022-07": (listed + "3\tsel\n", "1 0 7 1\n"),
            "2022-08": (listed + "3\tpoivre\n", "1 0 7 1\n"),
            "2022-09": (listed, "3 0 7 1\n"),
        },
    )
    report = _import(release, "longeval-web")
    assert _judged(report, "2022-09") == {query_id(key64("query 3 of longeval-web"))}


def test_the_release_of_2024(tmp_path: Path) -> None:
    root = tmp_path / "test-collection"
    for folder, month, split in (("2023_01", "0123", "train"), ("2023_06", "0623", "test")):
        for language, text in (("French", "Une page."), ("English", "A page.")):
            home = root / folder / language
            page = TREC.format(id=f"doc{month}1", text=text)
            _write(home / "Documents/Trec/collector_kodicare_1.txt", page)
            _write(home / f"Queries/{split}.tsv", f"q{month}1\t{text}\n")
    _write(root / "2023_01/French/Qrels/train.txt", "q01231 0 doc01231 2\n")
    _write(root / "longeval-relevance-judgements/2023_06.txt", "q06231 0 doc06231 1\n")
    report = _import(root, "longeval-2023")
    assert _opened(report).snapshots == ("2023-01", "2023-06")
    assert _opened(report).languages == {"fr": "", "en": "_en"}
    splits = [_opened(report).snapshot(s).queries.collect()["split"].item() for s in report.rows]
    assert splits == ["train", "test"]
    one = {"queries": 1, "qrels": 1, "documents": 1}
    assert report.rows == {"2023-01": one, "2023-06": one}
    assert report.unread == {}


def test_a_release_without_its_french_pages_is_an_english_one(tmp_path: Path) -> None:
    home = tmp_path / "r/publish"
    page = TREC.format(id="doc062200100001", text="A page about water.")
    _write(home / "English/Documents/Trec/collector_kodicare_1.txt", page)
    _write(home / "English/Queries/train.tsv", "q06221\tdrinking water\n")
    _write(home / "French/Queries/train.tsv", "q06221\teau potable\n")
    _write(home / "French/Qrels/train.txt", "q06221 0 doc062200100001 2\n")
    report = _import(tmp_path / "r", "longeval-2023")
    collection = _opened(report)
    assert collection.languages == {"en": ""}
    assert collection.snapshot("2022-06").queries.collect()["text"].to_list() == ["drinking water"]
    (document,) = collection.snapshot("2022-06").documents.collect().iter_rows(named=True)
    assert (document["text"], document["text_en"]) == ("A page about water.", None)
    assert report.unread == {"publish/French/Queries/train.tsv": 1}
    assert report.ledgers["2022-06"].rejected == {}
    assert validate(report.version) == []


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
    _write(train / "documents/documents_000001.jsonl", lines)
    _write(train / "queries.txt", "ab-1\twater\nab-2\tsalt\n")
    _write(train / "qrels.txt", "ab-1 2024-11 11 2\nab-2 2024-11 12 1\n")
    test = root / "longeval_sci_testing_2025_abstract"
    page = {"id": "11", "title": "On Water", "abstract": "Wet, revised."}
    _write(test / "documents/documents_000001.jsonl", json.dumps(page) + "\n")
    _write(test / "queries_2024-11_test.txt", "cd-1\tpepper\n")
    _write(test / "queries_2025-01_test.txt", "ab-1\twater\n")
    _write(root / "longeval_sci_qrels/qrels-longeval-sci-2024-11-test", "cd-1 0 12 0\n")
    _write(root / "longeval_sci_qrels/qrels-longeval-sci-2025-01", "ab-1 0 11 1\n")
    _write(root / "NOTES.md", "read me")
    return root


def test_a_release_of_scientific_papers(tmp_path: Path) -> None:
    report = _import(_science(tmp_path / "r"), "longeval-sci")
    collection = _opened(report)
    assert collection.snapshots == ("2024-11", "2025-01")
    assert collection.languages == {"en": ""}
    november = collection.snapshot("2024-11")
    splits = dict(november.queries.collect().select("text", "split").rows())
    assert splits == {"water": "train", "salt": "train", "pepper": "heldout"}
    pages = november.documents.collect().select("doc_id", "title", "text")
    ids = {n: doc_id(key64(f"longeval-sci:{n}")) for n in (11, 12)}
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
    assert collection.core_queries().collect()["query_id"].to_list() == [_id("water")]
    assert report.unread == {"NOTES.md": 1}
    assert {finding.check for finding in validate(report.version)} == {"LB201", "LB205"}


def test_a_snapshot_of_papers_may_say_its_month(tmp_path: Path) -> None:
    home = tmp_path / "r/lag"
    _write(home / "documents/a.jsonl", '{"id": "1", "title": "t", "abstract": "a"}\n')
    _write(home / "queries.txt", "x\tsalt\n")
    with pytest.raises(UsageError, match="which month is this"):
        find_snapshots(tmp_path / "r", "longeval-sci")
    _write(home / "metadata.json", '{"timestamp": "2024-11", "snapshot": "s1"}')
    (snapshot,) = find_snapshots(tmp_path / "r", "longeval-sci")
    assert snapshot.name == "2024-11"
    assert len(snapshot.paths) == 2
    _write(home / "metadata.json", '{"snapshot": "../../x"}')
    with pytest.raises(UsageError, match="which month is this"):
        find_snapshots(tmp_path / "r", "longeval-sci")


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
        _write(root / folder / "documents/documents_1.jsonl", json.dumps(page) + "\n")
    files = {
        "task1_longeval_adhoc-queries-snapshot-train.tsv": "a\twater\n",
        "task1_longeval_adhoc-queries-snapshot-test.tsv": "b\tsalt\n",
        "task1_longeval_adhoc-qrels-snapshot-train-raw.txt": "a 0 11 1\n",
        "task1_longeval_adhoc-qrels-snapshot-train-dctr.txt": "a 0 11 2\n",
        "06-08/qrels-snapshot-2-raw.txt": "b 0 11 1\n",
        "task3_longeval_usim-sessions-train.csv": "1,u,0,water\n",
    }
    for name, text in files.items():
        _write(root / name, text)
    return root


def test_the_release_of_papers_of_2026(tmp_path: Path) -> None:
    report = _import(_science_of_2026(tmp_path / "r"), "longeval-sci")
    collection = _opened(report)
    assert collection.snapshots == ("2025-03", "2025-06", "2025-09")
    first, second, third = map(collection.snapshot, collection.snapshots)
    splits = [dict(s.queries.collect().select("text", "split").rows()) for s in (first, second)]
    assert splits == [{"water": "train", "salt": "heldout"}, {"salt": "test"}]
    assert third.queries.collect()["text"].to_list() == ["salt"]
    assert first.documents.collect()["text"].to_list() == ["Wet.\nVery wet."]
    assert [s.qrels.collect()["grade"].to_list() for s in (first, second, third)] == [[2], [1], []]
    assert report.unread == {
        "a/data/snapshot-1/longeval_sci_training_2026_abstract/documents/documents_1.jsonl": 1,
        "task1_longeval_adhoc-qrels-snapshot-train-raw.txt": 1,
        "task3_longeval_usim-sessions-train.csv": 1,
    }


def test_an_edition_of_judgements_can_be_chosen(tmp_path: Path) -> None:
    release = _science_of_2026(tmp_path / "r")
    found = find_snapshots(release, "longeval-sci", "raw")
    assert [[path.name for path in snapshot.qrels] for snapshot in found] == [
        ["task1_longeval_adhoc-qrels-snapshot-train-raw.txt"],
        ["qrels-snapshot-2-raw.txt"],
        [],
    ]
    arguments = ["import", str(release), "--layout", "longeval-sci", "--out", str(tmp_path / "o")]
    said = CliRunner().invoke(app, [*arguments, "--qrels", "dtcr"])
    assert "--qrels: no judgements 'dtcr' here; did you mean 'dctr'" in str(said.exception)
    with pytest.raises(UsageError, match="this release has no editions"):
        find_snapshots(_science(tmp_path / "s"), "longeval-sci", "raw")


def test_numbers_of_another_year_are_not_guessed(tmp_path: Path) -> None:
    page = '{"id": "1", "title": "t", "abstract": "a"}\n'
    _write(tmp_path / "r/longeval_sci_training_2027/snapshot-1/documents/a.jsonl", page)
    _write(tmp_path / "r/task1_longeval_adhoc-queries-snapshot-train.tsv", "a\twater\n")
    with pytest.raises(UsageError, match="which month is this"):
        find_snapshots(tmp_path / "r", "longeval-sci")
    _write(tmp_path / "longeval_sci_2026/s/snapshot-1/documents/a.jsonl", page)
    (tmp_path / "longeval_sci_2026/s").rename(tmp_path / "s")
    with pytest.raises(UsageError, match="which month is this"):
        find_snapshots(tmp_path / "s", "longeval-sci")


def test_queries_that_lie_among_papers(tmp_path: Path) -> None:
    home = tmp_path / "r/2025-03/documents"
    _write(home / "a.jsonl", '{"id": "1", "title": "t", "abstract": "a"}\n')
    _write(home / "queries-test.tsv", "a\twater\n")
    (snapshot,) = find_snapshots(tmp_path / "r", "longeval-sci")
    assert [path.name for path, _, _ in snapshot.queries] == ["queries-test.tsv"]
    assert [path.name for path in snapshot.documents["en"]] == ["a.jsonl"]


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    release = _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")})
    _write(release / "collection/qrels/2022-06_qrels_broken.txt", "1 0 8 1\n")
    for part in ("a", "b"):
        _write(release / f"Json/2023-07_fr/{part}.jsonl", "[]")
    found = find_snapshots(release, "longeval-web")
    expected = {"Json/2023-07_fr": 2, "collection/qrels/2022-06_qrels_broken.txt": 1}
    assert unread_files(release, found) == expected
    arguments = ["import", str(release), "--layout", "longeval-web", "--out"]
    said = CliRunner().invoke(app, [*arguments, str(tmp_path / "a")])
    assert said.exit_code == 0
    assert "2022-06         1           1          0        2     2" in said.output
    line = "Json/2023-07_fr (2 files), collection/qrels/2022-06_qrels_broken.txt\n"
    assert f"not read, as they are of no snapshot or repeat what was read: {line}" in said.output
    as_json = CliRunner().invoke(app, [*arguments, str(tmp_path / "b"), "--format", "json"])
    shape = json.loads(as_json.stdout)
    assert shape["unread"] == expected
    assert shape["rows"] == {"2022-06": {"queries": 1, "qrels": 1, "documents": 0}}


def test_titles_are_one_line(tmp_path: Path) -> None:
    report = _import(_science(tmp_path / "r"), "longeval-sci")
    titles = _opened(report).snapshot("2024-11").documents.select("title").collect()["title"]
    assert not titles.str.contains(r"\s\s|\n").any()
    assert pl.Series(["On Water"]).is_in(titles.implode()).all()


def test_of_two_editions_one_is_read(tmp_path: Path) -> None:
    release = _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")})
    older = release / "collection/qrels/2022-06_fr_qrels_processed.txt"
    _write(older, "1 0 7 2\n")
    found = find_snapshots(release, "longeval-web")
    assert [path.name for path in found[0].qrels] == ["2022-06_qrels_processed.txt"]
    assert unread_files(release, found) == {older.relative_to(release).as_posix(): 1}
    (release / "collection/qrels/2022-06_qrels_processed.txt").unlink()
    assert find_snapshots(release, "longeval-web")[0].qrels == [older]


def test_runs_in_ids_of_the_release_are_attributed_and_pooled(tmp_path: Path) -> None:
    release = _months(
        tmp_path / "r",
        {
            "2022-06": ("1\teau\n2\tpain\n", "1 0 11 2\n2 0 12 1\n"),
            "2022-07": ("1\teau\n2\tpain\n", "1 0 11 2\n2 0 12 0\n"),
        },
    )
    for month in ("2022-06", "2022-07"):
        pages = "".join(TREC.format(id=f"doc{n}", text=f"Une page {n}.") for n in (11, 12))
        _write(release / f"Trec/{month}_fr/a.trec", pages)
        _write(tmp_path / f"runs/{month}.txt", "1 Q0 doc11 1 2 x\n2 Q0 doc12 1 1 x\n")
    report = _import(release, "longeval-web")
    collection = _opened(report)
    (found,) = attribute_paths(
        {name: collection.snapshot(name).folder / "qrels.parquet" for name in report.rows},
        report.version / "changes/documents.parquet",
        [tmp_path / "runs"],
        ["AP"],
    )
    assert found.attribution.change == -0.5
    june = collection.snapshot("2022-06")
    pool = draw_pool(
        [tmp_path / "runs/2022-06.txt"],
        queries=june.queries,
        documents=june.documents,
        snapshot=june.folder,
    )
    assert set(pool.pairs["query_id"]) == {_id("eau"), _id("pain")}
    assert (pool.unknown_queries, pool.unknown_documents) == (0, 0)


def test_changes_of_documents_that_nobody_has_are_not_attributed(tmp_path: Path) -> None:
    month = ("1\teau\n", "1 0 11 2\n")
    report = _import(_months(tmp_path / "r", {"2022-06": month, "2022-07": month}), "longeval-web")
    for name in report.rows:
        _write(tmp_path / f"runs/{name}.txt", "1 Q0 11 1 2 x\n")
    qrels = {name: report.version / f"snapshots/{name}/qrels.parquet" for name in report.rows}
    changes = report.version / "changes/documents.parquet"
    with pytest.raises(DataError, match="expected documents of 2022-06 and 2022-07, found none"):
        attribute_paths(qrels, changes, [tmp_path / "runs"])


@pytest.mark.parametrize("form", ["queries_db.db", "queries.txt"])
def test_texts_of_the_whole_release(tmp_path: Path, form: str) -> None:
    home = tmp_path / "r/French"
    for month, judged in (("2022-06", "1 0 7 1\n2 0 7 0\n3 0 7 1\n"), ("2022-07", "1 0 7 2\n")):
        train = home / "LongEval Train Collection"
        _write(train / f"qrels/{month}_fr/qrels_processed.txt", judged)
    _write(home / "LongEval Train Collection/queries/2022-07_queries.txt", "2\tpain\n")
    texts = [(1, "eau"), (2, "pain"), (4, "sel"), (5, "Eau")]
    if form == "queries.txt":
        _write(home / form, "".join(f"{number}\t{text}\n" for number, text in texts))
    else:
        with sqlite3.connect(home / form) as connection:
            connection.execute("CREATE TABLE queries (id INTEGER PRIMARY KEY, query TEXT)")
            connection.executemany("INSERT INTO queries VALUES (?, ?)", texts)
    report = _import(tmp_path / "r", "longeval-web")
    assert report.unread == {}
    june = _opened(report).snapshot("2022-06").queries.sort("text").collect()
    assert june["text"].to_list() == ["eau", "pain"]
    assert _judged(report, "2022-06") == {
        _id("eau"), _id("pain"), query_id(key64("query 3 of longeval-web")),
    }  # fmt: skip
    assert _judged(report, "2022-07") == {_id("eau")}
    for ledger in report.ledgers.values():
        ledger.check("import")


def test_a_database_of_queries_that_is_none(tmp_path: Path) -> None:
    release = _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")})
    _write(release / "queries_db.db", "no database")
    with pytest.raises(FormatError, match=r"expected a database with queries\(id, query"):
        _import(release, "longeval-web")


def test_the_report_of_one_snapshot(tmp_path: Path) -> None:
    report = _import(
        _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")}), "longeval-web"
    )
    page = tmp_path / "report.html"
    said = CliRunner().invoke(app, ["drift", str(report.version), "--html", str(page)])
    assert said.exit_code == 0, said.output
    assert "One snapshot has nothing to compare with" in page.read_text()
    other = CliRunner().invoke(app, ["drift", str(report.version), "--from", "2022-06"])
    assert other.exit_code != 0
