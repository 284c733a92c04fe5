"""Releases in other layouts and languages, and ids that only other months explain."""

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.collection.imports.files_web import PREFERRED_QRELS_ARE_READ
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.release import ImportReport
from builder.collection.imports.unread import NOT_NAMED, UnreadFiles, find_unread_files
from builder.collection.imports.walk import list_release_files
from builder.collection.validate import validate
from builder.errors import DataError, FormatError
from builder.evaluation.attribution import attribute_score_changes
from builder.judging.pooling import draw_pool
from builder.text.keys import key64, query_id
from builder.trec.released import replace_ids_with_keys
from tests.collection.releases import imported, opened, query_of, write

TREC = "<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"


def _judged(report: ImportReport, snapshot: str) -> set[str]:
    """The keys of the judged queries."""
    opened_snapshot = opened(report).snapshot(snapshot)
    return set(
        replace_ids_with_keys(opened_snapshot.qrels.collect(), opened_snapshot.folder)["query_id"]
    )


def _months(root: Path, months: dict[str, tuple[str, str]]) -> Path:
    """A folder as the lab's website has it: queries and judgements alone."""
    for month, (queries, qrels) in months.items():
        write(root / f"collection/queries/{month}_queries.txt", queries)
        write(root / f"collection/qrels/{month}_qrels_processed.txt", qrels)
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
    report = imported(release, "longeval-web")
    expected = {query_of(f"question {n}") for n in range(60)}
    unknown = query_id(key64("query 99 of longeval-web"))
    assert _judged(report, "2022-08") == expected
    assert _judged(report, "2022-09") == expected | {unknown}
    assert report.rows["2022-09"] == {"queries": 20, "qrels": 61, "documents": 0}
    found = {finding.check: finding for finding in validate(report.version)}
    assert found["LB112"].count == 41
    assert (
        "the query text is unknown for 1 of the judgements; the remaining texts occur"
        in found["LB112"].message
    )
    assert "the query file was built differently" in found["LB212"].message
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
    report = imported(release, "longeval-web")
    assert _judged(report, "2022-08") == {query_of("eau"), query_of("pain"), query_of("sel")}
    unknown = query_id(key64("query 3 of longeval-web 2022-09"))
    assert _judged(report, "2022-09") == {query_of("eau"), query_of("pain"), unknown}


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
    report = imported(release, "longeval-web")
    assert _judged(report, "2022-09") == {query_id(key64("query 3 of longeval-web"))}


def test_the_release_of_2024(tmp_path: Path) -> None:
    root = tmp_path / "test-collection"
    for folder, month, split in (("2023_01", "0123", "train"), ("2023_06", "0623", "test")):
        for language, text in (("French", "Une page."), ("English", "A page.")):
            home = root / folder / language
            page = TREC.format(id=f"doc{month}1", text=text)
            write(home / "Documents/Trec/collector_kodicare_1.txt", page)
            write(home / f"Queries/{split}.tsv", f"q{month}1\t{text}\n")
    write(root / "2023_01/French/Qrels/train.txt", "q01231 0 doc01231 2\n")
    write(root / "longeval-relevance-judgements/2023_06.txt", "q06231 0 doc06231 1\n")
    report = imported(root, "longeval-2023")
    assert opened(report).snapshots == ("2023-01", "2023-06")
    assert opened(report).languages == {"fr": "", "en": "_en"}
    splits = [opened(report).snapshot(s).queries.collect()["split"].item() for s in report.rows]
    assert splits == ["train", "test"]
    one = {"queries": 1, "qrels": 1, "documents": 1}
    assert report.rows == {"2023-01": one, "2023-06": one}
    assert report.plan.unread_files == {}


def test_a_release_without_its_french_pages_is_an_english_one(tmp_path: Path) -> None:
    home = tmp_path / "r/publish"
    page = TREC.format(id="doc062200100001", text="A page about water.")
    write(home / "English/Documents/Trec/collector_kodicare_1.txt", page)
    write(home / "English/Queries/train.tsv", "q06221\tdrinking water\n")
    write(home / "French/Queries/train.tsv", "q06221\teau potable\n")
    write(home / "French/Qrels/train.txt", "q06221 0 doc062200100001 2\n")
    report = imported(tmp_path / "r", "longeval-2023")
    collection = opened(report)
    assert collection.languages == {"en": ""}
    assert collection.snapshot("2022-06").queries.collect()["text"].to_list() == ["drinking water"]
    (document,) = collection.snapshot("2022-06").documents.collect().iter_rows(named=True)
    assert (document["text"], document["text_en"]) == ("A page about water.", None)
    french = UnreadFiles("the collection is English", 1)
    assert report.plan.unread_files == {"publish/French/Queries/train.tsv": french}
    assert report.ledgers["2022-06"].rejected == {}
    assert validate(report.version) == []


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    release = _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n1 0 9\n")})
    write(release / "collection/qrels/2022-06_qrels_broken.txt", "1 0 8 1\n")
    for part in ("a", "b"):
        write(release / f"Json/2023-07_fr/{part}.jsonl", "[]")
    found = find_snapshots(list_release_files(release), "longeval-web")
    unjudged = "2023-07 has no queries and no judgements"
    broken = "collection/qrels/2022-06_qrels_broken.txt"
    assert find_unread_files(list_release_files(release), found) == {
        "Json/2023-07_fr": UnreadFiles(unjudged, 2),
        broken: UnreadFiles(NOT_NAMED, 1),
    }
    arguments = ["import", str(release), "--layout", "longeval-web", "--out"]
    said = CliRunner().invoke(app, [*arguments, str(tmp_path / "a")])
    assert said.exit_code == 0
    assert "2022-06         1           1          0        3     2" in said.output
    rejects = "snapshot  reject reason     records\n2022-06   not_four_columns        1\n"
    assert f"\n\n{rejects}" in said.output
    assert f"skipped files ({unjudged}): Json/2023-07_fr (2 files)\n" in said.output
    assert f"skipped files (the file names do not match this layout): {broken}\n" in said.output
    assert (
        "warning: no document files are read for 2022-06, but files in document folders are "
        "skipped, such as Json/2023-07_fr; if these are documents, rename them to match the "
        "layout\n"
    ) in said.output
    as_json = CliRunner().invoke(app, [*arguments, str(tmp_path / "b"), "--format", "json"])
    shape = json.loads(as_json.stdout)
    assert shape["unread"] == {"Json/2023-07_fr": 2, broken: 1}
    assert shape["unread_reasons"] == {"Json/2023-07_fr": unjudged, broken: NOT_NAMED}
    assert shape["rows"] == {"2022-06": {"queries": 1, "qrels": 1, "documents": 0}}


def test_of_two_editions_one_is_read(tmp_path: Path) -> None:
    release = _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")})
    older = release / "collection/qrels/2022-06_fr_qrels_processed.txt"
    write(older, "1 0 7 2\n")
    found = find_snapshots(list_release_files(release), "longeval-web")
    assert [path.name for path in found[0].qrels] == ["2022-06_qrels_processed.txt"]
    assert find_unread_files(list_release_files(release), found) == {
        older.relative_to(release).as_posix(): UnreadFiles(PREFERRED_QRELS_ARE_READ, 1)
    }
    (release / "collection/qrels/2022-06_qrels_processed.txt").unlink()
    assert find_snapshots(list_release_files(release), "longeval-web")[0].qrels == [older]


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
        write(release / f"Trec/{month}_fr/a.trec", pages)
        write(tmp_path / f"runs/{month}.txt", "1 Q0 doc11 1 2 x\n2 Q0 doc12 1 1 x\n")
    report = imported(release, "longeval-web")
    collection = opened(report)
    (found,) = attribute_score_changes(
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
    assert set(pool.pairs["query_id"]) == {"1", "2"}
    assert (pool.unknown_queries, pool.unknown_documents) == (0, 0)


def test_changes_of_documents_that_nobody_has_are_not_attributed(tmp_path: Path) -> None:
    month = ("1\teau\n", "1 0 11 2\n")
    report = imported(_months(tmp_path / "r", {"2022-06": month, "2022-07": month}), "longeval-web")
    for name in report.rows:
        write(tmp_path / f"runs/{name}.txt", "1 Q0 11 1 2 x\n")
    qrels = {name: report.version / f"snapshots/{name}/qrels.parquet" for name in report.rows}
    changes = report.version / "changes/documents.parquet"
    with pytest.raises(DataError, match="no document changes are recorded from 2022-06 to 2022-07"):
        attribute_score_changes(qrels, changes, [tmp_path / "runs"])


@pytest.mark.parametrize("form", ["queries_db.db", "queries.txt"])
def test_texts_of_the_whole_release(tmp_path: Path, form: str) -> None:
    home = tmp_path / "r/French"
    for month, judged in (("2022-06", "1 0 7 1\n2 0 7 0\n3 0 7 1\n"), ("2022-07", "1 0 7 2\n")):
        train = home / "LongEval Train Collection"
        write(train / f"qrels/{month}_fr/qrels_processed.txt", judged)
    write(home / "LongEval Train Collection/queries/2022-07_queries.txt", "2\tpain\n")
    texts = [(1, "eau"), (2, "pain"), (4, "sel"), (5, "Eau")]
    if form == "queries.txt":
        write(home / form, "".join(f"{number}\t{text}\n" for number, text in texts))
    else:
        with sqlite3.connect(home / form) as connection:
            connection.execute("CREATE TABLE queries (id INTEGER PRIMARY KEY, query TEXT)")
            connection.executemany("INSERT INTO queries VALUES (?, ?)", texts)
    report = imported(tmp_path / "r", "longeval-web")
    assert report.plan.unread_files == {}
    june = opened(report).snapshot("2022-06").queries.sort("text").collect()
    assert june["text"].to_list() == ["eau", "pain"]
    assert _judged(report, "2022-06") == {
        query_of("eau"), query_of("pain"), query_id(key64("query 3 of longeval-web")),
    }  # fmt: skip
    assert _judged(report, "2022-07") == {query_of("eau")}
    for ledger in report.ledgers.values():
        ledger.check("import")


def test_a_database_of_queries_that_is_none(tmp_path: Path) -> None:
    release = _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")})
    write(release / "queries_db.db", "no database")
    with pytest.raises(
        FormatError, match=r"expected a SQLite database with the table queries\(id, query"
    ):
        imported(release, "longeval-web")


def test_the_report_of_one_snapshot(tmp_path: Path) -> None:
    report = imported(
        _months(tmp_path / "r", {"2022-06": ("1\teau\n", "1 0 7 1\n")}), "longeval-web"
    )
    page = tmp_path / "report.html"
    said = CliRunner().invoke(app, ["drift", str(report.version), "--html", str(page)])
    assert said.exit_code == 0, said.output
    assert "There is only one snapshot, so there is nothing to compare" in page.read_text()
    other = CliRunner().invoke(app, ["drift", str(report.version), "--from", "2022-06"])
    assert other.exit_code != 0
