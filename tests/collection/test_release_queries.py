"""Query files of releases: shared by all months, translated, in several files."""

import sqlite3
from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports.files_2023 import COMBINED
from builder.collection.imports.release import ImportReport
from builder.collection.imports.unread import UnreadFiles
from tests.collection.releases import imported, opened, write


def _rejects(report: ImportReport, snapshot: str) -> list[tuple[object, ...]]:
    folder = opened(report).snapshot(snapshot).folder
    rejects = pl.read_parquet(folder / "rejects.parquet")
    return rejects.select("reason", "file", "line", "key").sort("file", "line").rows()


def test_faulty_lines_of_the_shared_queries_are_rejects_of_the_first_month(tmp_path: Path) -> None:
    """They were lost without a word, and judged queries had no text."""
    release = tmp_path / "r"
    for month in ("2022-06", "2022-07"):
        write(release / f"{month}_qrels.txt", "1 0 7 1\n2 0 7 0\n3 0 7 1\n")
    lines = b"1\teau  douce\n2 pain\n3\t\xe9t\xe9\n4\tsel\n1\tautre\n"
    write(release / "queries.txt", lines)
    report = imported(release, "longeval-web")
    assert _rejects(report, "2022-06") == [
        ("no_tab", "queries.txt", 2, None),
        ("not_utf8", "queries.txt", 3, None),
        ("repeated_query_id", "queries.txt", 5, "1"),
    ]
    assert _rejects(report, "2022-07") == []
    odd = [
        pl.read_parquet(opened(report).snapshot(month).folder / "irregularities.parquet").rows()
        for month in ("2022-06", "2022-07")
    ]
    assert odd == [[("queries.txt", "double_space", 1, 1, "eau  douce")], []]
    assert {name: ledger.rows_in for name, ledger in report.ledgers.items()} == {
        "2022-06": 3 + 3 + 1,
        "2022-07": 3 + 1,
    }
    for ledger in report.ledgers.values():
        ledger.check("import")


def test_shared_queries_without_a_text_are_rejects(tmp_path: Path) -> None:
    release = tmp_path / "r"
    write(release / "2022-06_qrels.txt", "1 0 7 1\n")
    with sqlite3.connect(release / "queries_db.db") as connection:
        connection.execute("CREATE TABLE queries (id INTEGER PRIMARY KEY, query TEXT)")
        texts = [(1, "eau"), (2, " "), (3, None), (4, "sel")]
        connection.executemany("INSERT INTO queries VALUES (?, ?)", texts)
    report = imported(release, "longeval-web")
    assert opened(report).languages == {"fr": ""}
    assert _rejects(report, "2022-06") == [
        ("empty_query", "queries_db.db", 2, "2"),
        ("empty_query", "queries_db.db", 3, "3"),
    ]


@pytest.mark.parametrize(
    ("layout", "queries", "qrels"),
    [
        ("longeval-web", "{}/queries/2022-06_queries.txt", "French/2022-06_qrels.txt"),
        ("longeval-2023", "publish/{}/Queries/train.tsv", "publish/French/Qrels/train.txt"),
    ],
)
def test_english_queries_that_translate_none_are_rejects(
    tmp_path: Path, layout: str, queries: str, qrels: str
) -> None:
    """They counted as kept, but were nowhere."""
    release = tmp_path / "r"
    write(release / queries.format("French"), "1\teau\n2\tpain\n")
    english = queries.format("English")
    write(release / english, "1\twater\n9\tsalt\n1\tsea\n9\tsalty\n")
    write(release / qrels, "1 0 7 1\n")
    report = imported(release, layout)
    assert opened(report).languages == {"fr": "", "en": "_en"}
    described = opened(report).manifest["definition"]["imported"]
    assert described == {"layout": layout, "documents": False}
    found = opened(report).snapshot("2022-06").queries.sort("query_id").collect()
    assert found.select("query_id", "text", "text_en").rows() == [
        ("1", "eau", "water"),
        ("2", "pain", None),
    ]
    assert _rejects(report, "2022-06") == [
        ("english_without_french", english, 2, "9"),
        ("repeated_query_id", english, 3, "1"),
        ("repeated_query_id", english, 4, "9"),
    ]
    ledger = report.ledgers["2022-06"]
    ledger.check("import")
    assert (ledger.rows_in, ledger.rows_out) == (7, 4)


def test_query_files_beside_the_splits_are_read_unless_they_combine_them(tmp_path: Path) -> None:
    """They were skipped as duplicate content, whatever they contained."""
    home = tmp_path / "r/publish/French/Queries"
    write(home / "train.tsv", "1\teau\n")
    write(home / "heldout.tsv", "2\tpain")
    write(home / "extra.tsv", "3\tsel\n1\teau\n")
    write(home / "all.tsv", "1\teau\r\n2\tpain\r\n\r\n3\tsel\r\n")
    write(tmp_path / "r/publish/French/Qrels/train.txt", "1 0 7 1\n")
    write(tmp_path / "r/publish/English/Queries/queries.tsv", "1\twater\n")
    report = imported(tmp_path / "r", "longeval-2023")
    found = opened(report).snapshot("2022-06").queries.sort("query_id").collect()
    assert found.select("query_id", "text", "text_en", "split").rows() == [
        ("1", "eau", "water", "train"),
        ("2", "pain", None, "heldout"),
        ("3", "sel", None, "test"),
    ]
    repeated = ("repeated_query_id", "publish/French/Queries/extra.tsv", 2, "1")
    assert _rejects(report, "2022-06") == [repeated]
    assert report.plan.unread_files == {"publish/French/Queries/all.tsv": UnreadFiles(COMBINED, 1)}


@pytest.mark.parametrize(
    ("line", "unread", "judged"),
    [("1 0 7 1", 1, [("1", "7", 1)]), ("1 0 8 1", 0, [("1", "7", 1), ("1", "8", 1)])],
)
def test_qrels_beside_the_splits_are_read_unless_they_combine_them(
    line: str, unread: int, judged: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    """`qrels.txt` was skipped as a combination of the splits, whatever it contained."""
    home = tmp_path / "r/publish/French"
    write(home / "Queries/train.tsv", "1\teau\n")
    write(home / "Qrels/train.txt", "1 0 7 1\n")
    write(home / "Qrels/qrels.txt", f"{line}\r\n")
    report = imported(tmp_path / "r", "longeval-2023")
    assert sum(files.count for files in report.plan.unread_files.values()) == unread
    qrels = opened(report).snapshot("2022-06").qrels.sort("query_id", "doc_id").collect()
    assert qrels.select("query_id", "doc_id", "grade").rows() == judged


def test_a_last_line_without_an_end_is_no_other_line_end(tmp_path: Path) -> None:
    """A file of Windows without an end of its last line was said to mix CRLF and LF."""
    release = tmp_path / "r"
    write(release / "2022-06_queries.txt", "1\teau\r\n2\tsel")
    write(release / "2022-06_qrels.txt", "1 0 7 1\r\n2 0 7 1\n2 0 8 1")
    folder = opened(imported(release, "longeval-web")).snapshot("2022-06").folder
    odd = pl.read_parquet(folder / "irregularities.parquet").select("file", "kind", "example")
    assert odd.rows() == [
        ("2022-06_qrels.txt", "crlf", "1 0 7 1"),
        ("2022-06_qrels.txt", "mixed_line_ends", "1 of 2 lines end with CRLF"),
        ("2022-06_queries.txt", "crlf", "1\teau"),
    ]
