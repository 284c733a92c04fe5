"""Imports of releases as they are: irregular, incomplete, damaged."""

import gzip
import json
import sqlite3
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import builder
from builder.collection.compare import compare
from builder.collection.imports import import_release
from builder.collection.imports.ids import document_key_candidates
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.release import ImportReport
from builder.collection.imports.walk import list_release_files
from builder.collection.validate import validate
from builder.errors import UsageError
from builder.evaluation.runs.qrels import read_qrels
from builder.runtime.limits import ResourceLimits
from builder.text.keys import doc_id, key64, query_id
from builder.trec import read_run, to_release_ids
from builder.trec.released import strip_doc_prefix
from tests.collection.releases import write

TREC = "<DOC>\n<DOCNO>{id}</DOCNO>\n<DOCID>{id}</DOCID>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"
TRAIN = "nested/release_2025_p1/French/LongEval Train Collection"


def _import(release: Path, layout: str, folder: Path) -> ImportReport:
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    return import_release(release, layout, folder / "out", limits=ResourceLimits(scratch))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the later layout with the irregularities that published ones have."""
    root = tmp_path_factory.mktemp("web")
    home = root / TRAIN
    queries = (
        'no tab here\n1\teau  potable\r\n2\t"crêpes ""bretonnes"""\n3\tEau potable\n\n4\tvide\n'
    )
    write(home / "queries/2022-06_queries.txt", queries.encode() + b"5\t\xff\n6\t \n1\tautre\n")
    qrels = "1 0 11 2\n1 0 11 2\n1 0 12 1\n3 0 11 0\n3 0 12 1\n2 0 doc13 0\n9 0 14 1\n"
    qrels += "1 0 11\n1 0 12 7\n"
    write(home / "qrels/2022-06_fr/qrels_processed.txt", qrels)
    first = "".join(TREC.format(id=f"doc{n}", text=f"Page {n}.\nSuite.") for n in (11, 12))
    first += TREC.format(id="doc11", text="Page 11.\nSuite.") + TREC.format(
        id="doc12", text="Autre."
    )
    write(home / "Trec/2022-06_fr/collector_kodicare_1.txt.trec", first.replace("\n", "\r\n"))
    second = TREC.format(id="13", text="Sans préfixe.") + TREC.format(id="doc14", text="")
    second += "<DOC>\n<TEXT>\nx\n</TEXT>\n</DOC>\n<DOC>\n<DOCNO>doc15</DOCNO>\n<TEXT>\nsans fin"
    write(home / "Trec/2022-06_fr/sub/part.jsonl.gz", gzip.compress(second.encode()))
    write(home / "Trec/2022-06_fr/metadata.json", "{}")
    database = root / "nested/release_2025_p1/French/collection_db.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE mapping (id INTEGER PRIMARY KEY, url TEXT)")
        rows = [(11, "https://a.example/11?utm_source=x"), (12, "https://a.example/12"), (13, "x")]
        connection.executemany("INSERT INTO mapping VALUES (?, ?)", rows)
    return root


def test_irregularities_are_counted_and_nothing_is_lost(web: Path, tmp_path: Path) -> None:
    report = _import(web, "longeval-web", tmp_path)
    ledger = report.ledgers["2022-06"]
    assert ledger.rejected == Counter(
        {
            "no_tab": 1,
            "blank_line": 1,
            "not_utf8": 1,
            "empty_query": 1,
            "repeated_query_id": 1,
            "repeated_judgement": 1,
            "not_four_columns": 1,
            "grade_unknown": 1,
            "repeated_document": 1,
            "contradicting_document": 1,
            "empty_text": 1,
            "document_without_id": 1,
            "document_without_end": 1,
        }
    )
    assert ledger.rows_in == 9 + 9 + 8
    ledger.check("import")
    snapshot = builder.open_collection(report.version).snapshot("2022-06")
    queries = snapshot.queries.collect()
    assert dict(queries.select("query_id", "text").iter_rows()) == {
        "1": "eau potable",
        "2": 'crêpes "bretonnes"',
        "3": "Eau potable",
        "4": "vide",
    }
    documents = snapshot.documents.collect()
    assert documents.filter(url="https://a.example/12")["text"].to_list() == ["Page 12.\nSuite."]
    assert documents["doc_id"].to_list() == ["11", "12", "13"]
    odd = pl.read_parquet(snapshot.folder / "irregularities.parquet")
    kinds = dict(
        odd.filter(pl.col("file").str.ends_with("_queries.txt")).select("kind", "lines").rows()
    )
    assert kinds == {
        "crlf": 1,
        "mixed_line_ends": 1,
        "double_space": 1,
        "leaked_quotes": 1,
        "outer_space": 1,
        "nothing_left_after_folding": 1,
    }


def test_validate_tells_what_was_wrong(web: Path, tmp_path: Path) -> None:
    report = _import(web, "longeval-web", tmp_path)
    found = {finding.check: finding for finding in validate(report.version)}
    assert {"LB111", "LB112", "LB113", "LB201", "LB202", "LB203", "LB204", "LB205"} == set(found)
    assert "1 of 4 judged queries" in found["LB112"].message


def test_ids_of_the_release_stay_known(web: Path, tmp_path: Path) -> None:
    report = _import(web, "longeval-web", tmp_path)
    ids = pl.read_parquet(report.version / "snapshots/2022-06/release_ids.parquet")
    found = {(kind, own): (key, text_key) for kind, own, key, text_key in ids.rows()}
    key = query_id(key64("eau potable"))
    assert found["query", "1"] == (key, key)
    assert found["query", "3"] == (query_id(key64("query 3 of longeval-web")), key)
    assert found["document", "11"] == (doc_id(key64("https://a.example/11")), None)
    assert found["document", "13"] == (doc_id(key64("longeval-web:13")), None)
    assert ids.select("kind", "key").n_unique() == ids.height


def test_runs_in_the_ids_of_the_release_are_scored(web: Path, tmp_path: Path) -> None:
    report = _import(web, "longeval-web", tmp_path)
    qrels = report.version / "snapshots/2022-06/qrels.parquet"
    lines = [
        "3 Q0 doc12 1 9 x",
        "1 Q0 doc12 1 9 x",
        "1 Q0 11 2 8 x",
        "2 Q0 13 1 1 x",
        "x Q0 y 1 1 x",
    ]
    write(tmp_path / "run", "\n".join(lines) + "\n")
    found = to_release_ids(read_run(tmp_path / "run", None), qrels.parent).ranking
    assert found.filter(query_id="1")["doc_id"].to_list() == ["12", "11"]
    assert found.filter(query_id="3")["doc_id"].to_list() == ["12"]
    assert found.filter(query_id="x")["doc_id"].to_list() == ["y"]
    assert found.height == 5
    judged = read_qrels(qrels)
    assert judged.join(found, on=["query_id", "doc_id"]).height == 4


def test_queries_and_judgements_alone(tmp_path: Path) -> None:
    for name, judged in (("2022-06", "1 0 5 2\n2 0 6 0\n"), ("2022-07", "1 0 5 1\n")):
        write(tmp_path / f"r/{name}_queries.txt.gz", gzip.compress(b"1\teau\n2\tpain\n"))
        write(tmp_path / f"r/{name}_qrels.txt", judged)
    report = _import(tmp_path / "r", "longeval-web", tmp_path)
    collection = builder.open_collection(report.version)
    assert collection.snapshots == ("2022-06", "2022-07")
    kept = collection.table("qrel_changes").filter(grade_from=2, grade_to=1).collect()
    assert kept.height == 1
    assert {finding.check for finding in validate(report.version)} == {"LB113"}
    assert json.loads((report.version / "drift.json").read_text())["snapshots"]


def test_the_release_of_2023(tmp_path: Path) -> None:
    root = tmp_path / "longeval"
    for folder, month in (("publish", "0622"), ("test-collection/A-Short-July", "0722")):
        for language, text in (("French", "Une page."), ("English", "A page.")):
            home = root / folder / language
            write(
                home / "Documents/Trec/collector_kodicare_1.txt",
                TREC.format(id=f"doc{month}00100001", text=text),
            )
            array = [{"id": f"doc{month}00100001", "contents": "wrong, TREC is read"}]
            write(home / "Documents/Json/collector_kodicare_1.txt.json", json.dumps(array))
            names = ("train", "heldout") if folder == "publish" else ("test07",)
            for number, name in enumerate(names):
                write(home / f"Queries/{name}.tsv", f"q{month}{number}\t{text} {number}\n")
        write(root / folder / "French/urls.txt", f"doc{month}00100001\thttps://a.example/page\n")
    write(root / "publish/French/Qrels/train.txt", "q06220 0 doc062200100001 2\n")
    judged = root / "longeval-relevance-judgements"
    write(judged / "heldout-test.txt", "q06221 0 doc062200100001 0\n")
    write(judged / "a-short-july.txt", "q07220 0 doc072200100001 1\n")
    report = _import(root, "longeval-2023", tmp_path)
    collection = builder.open_collection(report.version)
    assert collection.snapshots == ("2022-06", "2022-07")
    june = collection.snapshot("2022-06").queries.sort("text").collect()
    assert june.select("text", "text_en", "split").rows() == [
        ("Une page. 0", "A page. 0", "train"),
        ("Une page. 1", "A page. 1", "heldout"),
    ]
    assert collection.core_queries().collect().height == 1
    (page,) = collection.snapshot("2022-07").documents.collect().iter_rows(named=True)
    assert (page["text"], page["text_en"]) == ("Une page.", "A page.")
    assert page["doc_id"] == "doc072200100001"
    key = doc_id(key64("https://a.example/page"))
    assert collection.aligned_texts("documents").collect()["doc_id"].to_list() == [key, key]
    assert collection.table("documents_map").collect()["doc_id"].to_list() == [key]
    assert validate(report.version) == []


@pytest.mark.parametrize("parent", ["json/longeval", "Json", "French/longeval", "french"])
def test_folders_above_a_release_of_2023_do_not_decide(tmp_path: Path, parent: str) -> None:
    root = tmp_path / parent / "release"
    documents = root / "publish/French/Documents"
    for number in (1, 2, 3):
        page = TREC.format(id=f"doc06220010000{number}", text=f"Une page {number}.")
        write(documents / f"Trec/{number}.txt", page)
        write(documents / f"Json/{number}.json", "[]")
    write(root / "publish/French/Queries/train.tsv", "q06221\teau\n")
    write(root / "README.txt", "no file of a snapshot")
    (snapshot,) = find_snapshots(list_release_files(root), "longeval-2023")
    names = [path.relative_to(documents).as_posix() for path in snapshot.documents["fr"]]
    assert names == ["Trec/1.txt", "Trec/2.txt", "Trec/3.txt"]
    assert len(snapshot.queries) == 1


def test_months_must_be_said(tmp_path: Path) -> None:
    write(tmp_path / "r/C-Later/French/Queries/test.tsv", "q1\teau\n")
    with pytest.raises(UsageError, match="cannot determine the month"):
        find_snapshots(list_release_files(tmp_path / "r"), "longeval-2023")
    with pytest.raises(UsageError, match="no snapshot found in layout longeval-web"):
        find_snapshots(list_release_files(tmp_path / "r"), "longeval-web")
    with pytest.raises(UsageError, match="expected the folder of a release"):
        _import(tmp_path / "none", "longeval-web", tmp_path)


def test_a_version_is_not_replaced(web: Path, tmp_path: Path) -> None:
    report = _import(web, "longeval-web", tmp_path)
    with pytest.raises(UsageError, match="already exists; choose another"):
        import_release(
            web, "longeval-web", report.version.parent, limits=ResourceLimits(tmp_path / "scratch")
        )


def test_two_imports_are_the_same_bytes(web: Path, tmp_path: Path) -> None:
    sums = [
        (_import(web, "longeval-web", tmp_path / name).version / "SHA256SUMS").read_text()
        for name in ("a", "b")
    ]
    assert sums[0] == sums[1]


def test_ids_without_an_address() -> None:
    assert strip_doc_prefix("doc12") == strip_doc_prefix("12") == "12"
    assert strip_doc_prefix("doc" + "9" * 22) == "9" * 22
    assert strip_doc_prefix("docx1") == "docx1"
    own = "d0123456789abcdef"
    assert document_key_candidates(own, None, "r")[1][0] == own
    assert document_key_candidates("7", "ftp://x", "r") == ("r:7", (doc_id(key64("r:7")),))


def test_the_broken_release_of_june(shared: Path, tmp_path: Path) -> None:
    folder = shared / "longeval-web"
    if not folder.is_dir():
        pytest.skip("no longeval-web")
    reports = {}
    for name, suffix in (("broken", "_broken_release"), ("repaired", "")):
        for kind in ("queries", "qrels"):
            data = (folder / f"2022-06_{kind}{suffix}.txt.gz").read_bytes()
            write(tmp_path / name / f"2022-06_{kind}.txt.gz", data)
        reports[name] = _import(tmp_path / name, "longeval-web", tmp_path / f"{name}-out")
    checks = ("LB112", "LB113", "LB201", "LB211")
    broken = validate(reports["broken"].version, select=checks)
    found = {(f.check, f.count) for f in broken}
    assert {("LB201", 6002), ("LB112", 2667)} <= found
    (outlier,) = (f for f in broken if f.check == "LB211")
    assert "up to 726 judgements" in outlier.message
    difference = compare(reports["broken"].version, reports["repaired"].version)
    (judged,) = difference.judgements
    assert judged.other_text > 0.8 * judged.compared > 20_000
    found_again = validate(reports["repaired"].version, select=checks)
    repaired = {f.check: f.count for f in found_again}
    assert "LB112" not in repaired
    assert "LB201" not in repaired
    assert "LB211" not in repaired
    assert repaired["LB113"] == 11_589


def test_limits_of_an_import_have_defaults(tmp_path: Path) -> None:
    """The Python manual has no limits, and temporary data leaves no trace."""
    write(tmp_path / "r/collection/queries/2022-06_queries.txt", "1\teau\n")
    write(tmp_path / "r/collection/qrels/2022-06_qrels_processed.txt", "1 0 11 2\n")
    report = builder.import_release(
        str(tmp_path / "r"), "longeval-web", str(tmp_path / "out"), name="own", version="0.2.0"
    )
    assert report.version == tmp_path / "out/0.2.0"
    assert builder.open_collection(report.version).name == "own"
