"""Releases whose files lie in several folders: parts side by side, languages, dates, splits."""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports.files import TREC_IS_READ
from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
from builder.collection.imports.files_web import (
    FRENCH_QRELS_ARE_READ,
    PREFERRED_QRELS_ARE_READ,
)
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.release import ImportReport
from builder.collection.imports.unread import NOT_NAMED, UnreadFiles, find_unread_files
from builder.collection.imports.walk import list_release_files
from builder.errors import DataError, UsageError
from tests.collection.releases import imported, opened, write

PAGE = "<DOC>\n<DOCNO>doc{}</DOCNO>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"


def _write_urls(path: Path, rows: Iterable[tuple[int, str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE mapping (id INTEGER, url TEXT, last_updated_at TEXT, date TEXT)"
        )
        times = [(number, url, '["1970-01-02"]', f'["{month}"]') for number, url, month in rows]
        connection.executemany("INSERT INTO mapping VALUES (?, ?, ?, ?)", times)


def _texts(report: ImportReport, snapshot: str) -> list[tuple[object, ...]]:
    queries = opened(report).snapshot(snapshot).queries.sort("query_id")
    return queries.select("query_id", "text", "text_en").collect().rows()


def _rejects(report: ImportReport, snapshot: str) -> list[tuple[object, ...]]:
    rejects = pl.read_parquet(opened(report).snapshot(snapshot).folder / "rejects.parquet")
    return rejects.select("reason", "file", "line", "key").sort("file", "line").rows()


def test_shared_queries_of_each_language_are_read(tmp_path: Path) -> None:
    """Only the first file was read: the English texts became the French ones."""
    for language, texts in (("English", "1\twater\n3\tsalt\n"), ("French", "1\teau\n2\tpain\n")):
        home = tmp_path / "r" / language / "LongEval Train Collection"
        write(home / "queries.txt", texts)
        write(home / f"Trec/2022-06_{language[:2].lower()}/a.txt", PAGE.format(7, texts))
    qrels = "LongEval Train Collection/qrels/2022-06_fr/qrels_processed.txt"
    write(tmp_path / "r/French" / qrels, "1 0 7 1\n2 0 7 0\n3 0 7 0\n")
    report = imported(tmp_path / "r", "longeval-web")
    assert _texts(report, "2022-06") == [("1", "eau", "water"), ("2", "pain", None)]
    english = "English/LongEval Train Collection/queries.txt"
    assert _rejects(report, "2022-06") == [("english_without_french", english, 2, "3")]
    assert report.plan.unread_files == {}
    report.ledgers["2022-06"].check("import")


@pytest.mark.parametrize(
    ("french", "english"),
    [
        ("fr", "en"),
        ("FR", "EN"),
        ("fra", "eng"),
        ("Français", "Anglais"),
        ("release_fr", "release_en"),
        ("LongEval French", "LongEval English"),
    ],
)
def test_languages_of_folders_have_several_spellings(
    french: str, english: str, tmp_path: Path
) -> None:
    """The English texts became the French ones, which were rejected as repeated."""
    release = tmp_path / "r"
    write(release / french / "queries/2022-06_queries.txt", "1\teau douce\n")
    write(release / english / "queries/2022-06_queries.txt", "1\tfresh water\n")
    write(release / french / "2022-06_qrels.txt", "1 0 7 1\n")
    queries = opened(imported(release, "longeval-web")).snapshot("2022-06").queries.collect()
    assert queries.select("text", "text_en").rows() == [("eau douce", "fresh water")]


def test_language_folders_of_2023_have_several_spellings(tmp_path: Path) -> None:
    release = tmp_path / "r"
    write(release / "publish/fr/Queries/train.tsv", "q1\teau douce\n")
    write(release / "publish/EN/Queries/train.tsv", "q1\tfresh water\n")
    write(release / "publish/fr/Qrels/train.txt", "q1 0 doc7 1\n")
    write(release / "2022_07/French/Queries/fr/test.tsv", "q2\teau\n")
    write(release / "2022_07/French/Qrels/test.txt", "q2 0 doc8 1\n")
    collection = opened(imported(release, "longeval-2023"))
    queries = [collection.snapshot(name).queries.collect() for name in collection.snapshots]
    assert [frame.select("text", "text_en").rows() for frame in queries] == [
        [("eau douce", "fresh water")],
        [("eau", None)],
    ]


def test_shared_files_of_all_parts_are_read(tmp_path: Path) -> None:
    """Only those of the first part were read: later months lost their texts and URLs."""
    parts = (
        ("p1", "2022-06", 7, "1\teau\n2\tpain  blanc\n3\tsel\n"),
        ("p2", "2022-07", 8, "2\tpain blanc\n3\tpoivre\n4\tmer\n"),
    )
    for part, month, document, queries in parts:
        home = tmp_path / "r" / part / "French"
        write(home / "queries.txt", queries)
        write(home / f"Trec/{month}_fr/a.txt", PAGE.format(document, "Une page."))
        rows = [
            (document, f"https://a.example/{part}", month),
            (9, f"https://b.example/{part}", ""),
        ]
        _write_urls(home / "collection_db.db", rows)
    write(tmp_path / "r/2022-06_qrels.txt", "1 0 7 1\n2 0 7 1\n")
    write(tmp_path / "r/2022-07_qrels.txt", "3 0 8 1\n4 0 8 1\n")
    report = imported(tmp_path / "r", "longeval-web")
    assert _texts(report, "2022-06") == [("1", "eau", None), ("2", "pain blanc", None)]
    assert _texts(report, "2022-07") == [("3", "sel", None), ("4", "mer", None)]
    for part, month, _, _ in parts:
        documents = opened(report).snapshot(month).documents.select("url", "fetched_at")
        assert documents.collect().rows() == [(f"https://a.example/{part}", 86_400)]
    assert _rejects(report, "2022-06") == [
        ("contradicting_address", "p2/French/collection_db.db", 2, "9"),
        ("repeated_query_id", "p2/French/queries.txt", 2, "3"),
    ]
    assert _rejects(report, "2022-07") == []
    assert report.plan.unread_files == {}
    for ledger in report.ledgers.values():
        ledger.check("import")


@pytest.mark.parametrize("french_june", ["1\teau\n", None])
def test_english_queries_are_not_taken_for_french_ones(
    french_june: str | None, tmp_path: Path
) -> None:
    """Without a word, the English texts were stored as French ones, under other keys."""
    release = tmp_path / "r"
    for month in ("2022-06", "2022-07"):
        write(release / f"Trec/{month}_fr/a.txt", PAGE.format(7, "Une page."))
        write(release / f"{month}_qrels.txt", "1 0 7 1\n")
        write(release / f"English/queries/{month}_queries.txt", "1\twater\n")
    if french_june:
        write(release / "French/queries/2022-06_queries.txt", french_june)
    month = "2022-07" if french_june else "2022-06"
    with pytest.raises(DataError) as error:
        imported(release, "longeval-web")
    assert str(error.value) == (
        f"{month}: expected queries in French, the language of the release, found only English "
        f"queries in English/queries/{month}_queries.txt; nothing was published; add the French "
        "queries, or use --allow-empty to import the snapshot without queries"
    )


@pytest.mark.parametrize(
    ("layout", "queries"),
    [("longeval-sci", "queries.txt"), ("longeval-2023", "French/Queries/train.tsv")],
)
def test_a_folder_with_two_dates_needs_a_snapshot_in_its_metadata(
    layout: str, queries: str, tmp_path: Path
) -> None:
    """The last date counted, so that two months became one snapshot."""
    home = tmp_path / "r/sci_2024-11_downloaded_2025-04-02"
    write(home / queries, "1\teau\n")
    with pytest.raises(UsageError) as error:
        find_snapshots(list_release_files(tmp_path / "r"), layout)
    assert str(error.value) == (
        f"{home}: expected one date in the name, found 2024-11, 2025-04-02; rename it to "
        "include only the date of the snapshot"
    )
    metadata = "metadata.json" if layout == "longeval-sci" else "French/etc/metadata.json"
    write(home / metadata, '{"snapshot": "2024-11"}')
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), layout)
    assert snapshot.name == "2024-11"
    write(home / metadata, '{"snapshot": "2024-12"}')
    with pytest.raises(UsageError, match="has the month 2024-11, 2025-04-02, but "):
        find_snapshots(list_release_files(tmp_path / "r"), layout)


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        ("r/latest", "train"),
        ("r/contest_latest_release", "train"),
        ("r/LongEval Test Collection", "test"),
        ("r/test-collection/a", "test"),
        ("r/TestCollection2", "test"),
        ("r/my test/LongEval Train Collection", "train"),
        ("LongEval Test Collection", "test"),
        ("latest", "train"),
    ],
)
def test_the_split_is_a_word_of_a_folder(folder: str, split: str, tmp_path: Path) -> None:
    """Any name that contains `test` counted, but not the name of the folder that is imported."""
    write(tmp_path / folder / "queries/2022-06_queries.txt", "1\teau\n")
    root = tmp_path / folder.partition("/")[0]
    (snapshot,) = find_snapshots(list_release_files(root), "longeval-web")
    assert [found for _, _, found in snapshot.queries] == [split]


@pytest.mark.parametrize(
    ("name", "split"),
    [("queries_2024-11_test.txt", "test"), ("queries_2024-11_latest.txt", "train")],
)
def test_the_split_is_a_word_of_a_file_of_papers(name: str, split: str, tmp_path: Path) -> None:
    write(tmp_path / "r" / name, "1\twater\n")
    (snapshot,) = find_snapshots(list_release_files(tmp_path / "r"), "longeval-sci")
    assert [found for _, _, found in snapshot.queries] == [split]


def test_the_reason_is_that_of_the_file(tmp_path: Path) -> None:
    """All files were said to have no snapshot or duplicate content."""
    release = tmp_path / "r"
    for path in (
        "queries/2022-06_queries.txt",
        "queries/2022-06_fr_queries.txt",
        "qrels/2022-06_fr/qrels.txt",
        "qrels/2022-06_fr/qrels_processed.txt",
        "qrels/2022-06_en/qrels.txt",
        "TREC/2022-06_FR/a.txt",
        "Json/2022-06_fr/a.json",
        "Json/2022-06_fr/b.json",
        "Trec/2022-06-01_fr/a.txt",
    ):
        write(release / path, "x\ty\n")
    files = list_release_files(release)
    (snapshot,) = find_snapshots(files, "longeval-web")
    assert snapshot.documents == {"fr": [release / "TREC/2022-06_FR/a.txt"]}
    assert find_unread_files(files, [snapshot]) == {
        "Json/2022-06_fr": UnreadFiles(TREC_IS_READ, 2),
        "Trec/2022-06-01_fr/a.txt": UnreadFiles("2022-06-01 has no queries and no judgements", 1),
        "qrels/2022-06_en/qrels.txt": UnreadFiles(FRENCH_QRELS_ARE_READ, 1),
        "qrels/2022-06_fr/qrels.txt": UnreadFiles(PREFERRED_QRELS_ARE_READ, 1),
        "queries/2022-06_fr_queries.txt": UnreadFiles(NOT_NAMED, 1),
    }


def test_papers_may_be_in_nested_folders(tmp_path: Path) -> None:
    """They were skipped, and the snapshot had no documents."""
    home = tmp_path / "documents/2024-11"
    page = json.dumps({"id": "1", "title": "t", "abstract": "a"})
    write(home / "documents/part1/fulltext.jsonl", page)
    write(home / "documents/part2/abstracts.jsonl", page)
    write(home / "queries.txt", "1\twater\n")
    write(tmp_path / "documents/notes/README.md", "read me")
    files = list_release_files(tmp_path / "documents")
    (snapshot,) = find_snapshots(files, "longeval-sci")
    assert snapshot.documents == {"en": [home / "documents/part1/fulltext.jsonl"]}
    assert find_unread_files(files, [snapshot]) == {
        "2024-11/documents/part2/abstracts.jsonl": UnreadFiles(FULL_TEXT_IS_READ, 1),
        "notes/README.md": UnreadFiles(NOT_NAMED, 1),
    }
