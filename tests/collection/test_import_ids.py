"""Ids and addresses of an import of a few rows: their keys, databases of them, and its log."""

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports.ids import (
    KeyAssigner,
    build_release_ids_table,
    document_key_candidates,
    fallback_query_keys,
    query_text_keys,
    read_query_texts,
    read_url_database,
)
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.shared import log_contradicting_urls, read_shared_queries
from builder.text.keys import doc_id, key64, query_id
from tests.collection.release_files import rejects
from tests.collection.releases import query_of, write


def test_each_id_gets_the_first_key_that_no_other_id_has() -> None:
    keys = KeyAssigner()
    assigned = [
        keys.assign("1", "a", "b"),
        keys.assign("2", "a", "b", "c"),
        keys.assign("1", "c"),
        keys.assign("3", "b", "c"),
    ]
    assert assigned == ["a", "b", "a", "c"]
    assert keys.keys == {"1": "a", "2": "b", "3": "c"}


def test_ids_that_are_keys_are_preferred_to_keys_of_ids() -> None:
    own = "q0123456789abcdef"
    assert fallback_query_keys("7", "r") == (query_id(key64("query 7 of r")),)
    assert fallback_query_keys(own, "r") == (own, query_id(key64(f"query {own} of r")))
    page, own = "https://a.example/", "d0123456789abcdef"
    scoped = doc_id(key64(f"r:{own}"))
    assert document_key_candidates(own, None, "r") == (f"r:{own}", (own, scoped))
    assert document_key_candidates(own, "https://A.example", "r") == (
        page,
        (doc_id(key64(page)), own, scoped),
    )
    assert document_key_candidates("7", page, "r")[1] == (
        doc_id(key64(page)),
        doc_id(key64("r:7")),
    )


def test_the_key_of_a_text_ignores_case_and_accents() -> None:
    assert query_text_keys(["Été !", "ete", "?!"]) == [query_of("ete"), query_of("ete"), None]


def test_the_table_of_ids_names_keys_and_texts() -> None:
    table = build_release_ids_table("query", {"1": "k1", "2": "k2"}, {"1": "t1", "9": "t9"})
    assert table.rows() == [("query", "1", "k1", "t1"), ("query", "2", "k2", None)]
    assert build_release_ids_table("document", {"7": "k"}).rows() == [("document", "7", "k", None)]


def _database(path: Path, columns: str, *rows: tuple[object, ...]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = "queries" if "query" in columns else "mapping"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} ({columns})")
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
    return path


def test_addresses_come_in_the_order_of_the_numbers(tmp_path: Path) -> None:
    rows = [(10, "b"), (9, "a"), (11, None), (12, 3)]
    path = _database(tmp_path / "a.db", "id INTEGER, url", *rows)
    assert list(read_url_database(path, "2022-06")) == [("9", "a", 0), ("10", "b", 0)]


@pytest.mark.parametrize("columns", ["id, url, date, day", "id, url, last_updated_at, day"])
def test_update_times_need_both_of_their_columns(columns: str, tmp_path: Path) -> None:
    row = (1, "a", '["2022-06-02"]', '["2022-06"]')
    path = _database(tmp_path / "a.db", columns, row)
    assert list(read_url_database(path, "2022-06")) == [("1", "a", 0)]


@pytest.mark.parametrize(
    ("times", "names", "snapshot", "seconds"),
    [
        ('["2022-06-02", "2022-07-03"]', '["2022-06-15", "2022-07"]', "2022-06", 1_654_128_000),
        ('["2022-06-02", "2022-07-03"]', '["2022-06-15", "2022-07"]', "2022-07", 1_656_806_400),
        ('["2022-06-02", "2022-07-03"]', '["2022-06-15", "2022-07"]', "2022-08", 0),
        ('["2022-06-02"]', '["2022-06-15"]', "2022-06-15", 1_654_128_000),
        ('["2022-06-02"]', '["2022-06"]', "2022-06-15", 0),
        ('["2022-06-02"]', '["2022-06", "2022-07"]', "2022-06", 0),
        ("5", "5", "2022-06", 0),
        ("no JSON", '["2022-06"]', "2022-06", 0),
        (None, None, "2022-06", 0),
        ("[99999999999]", '["2022-06"]', "2022-06", 99_999_999_999),
        ("[100000000000]", '["2022-06"]', "2022-06", 100_000_000),
        ("[-100000000000]", '["2022-06"]', "2022-06", -100_000_000),
    ],
)
def test_the_update_time_of_a_snapshot(
    times: str | None, names: str | None, snapshot: str, seconds: int, tmp_path: Path
) -> None:
    path = _database(tmp_path / "a.db", "id, url, last_updated_at, date", (1, "a", times, names))
    assert list(read_url_database(path, snapshot)) == [("1", "a", seconds)]


def test_texts_of_a_database_come_in_the_order_of_the_ids(tmp_path: Path) -> None:
    rows = [(2, "pain"), (1, "eau"), (3, None), (4, 5)]
    path = _database(tmp_path / "q.db", "id INTEGER, query", *rows)
    assert list(read_query_texts(path)) == [("1", "eau"), ("2", "pain"), ("3", ""), ("4", "")]


def test_logs_of_an_import_are_counted_and_merged(tmp_path: Path) -> None:
    log, other = ImportLog(), ImportLog()
    log.records_read, other.records_read = 5, 9
    log.add_reject("no_tab", "a.txt", 3)
    log.add_irregularity("crlf", "a.txt", 2, "x" * 81, 2)
    log.add_irregularity("crlf", "a.txt", 1, "y")
    log.add_irregularity("outer_space", "a.txt", 7, "z")
    other.add_reject("not_utf8", "b.txt", 1, "k")
    other.add_irregularity("crlf", "b.txt", 4, "w", 3)
    log.merge_rejects(other)
    ledger = log.write_tables(tmp_path)
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("records", 6, 4)
    assert ledger.rejected == {"no_tab": 1, "not_utf8": 1}
    assert rejects(log, tmp_path) == [
        ("no_tab", "a.txt", 3, None),
        ("not_utf8", "b.txt", 1, "k"),
    ]
    assert pl.read_parquet(tmp_path / "irregularities.parquet").rows() == [
        ("a.txt", "crlf", 3, 2, "x" * 80),
        ("a.txt", "outer_space", 1, 7, "z"),
        ("b.txt", "crlf", 3, 4, "w"),
    ]


def test_the_first_of_several_shared_texts_counts(tmp_path: Path) -> None:
    write(tmp_path / "a/queries.txt", "1\teau  douce\n2\tpain\n1\tvin\n")
    rows = [(1, "eau\tdouce"), (2, " farine "), (4, ""), (5, "sel")]
    _database(tmp_path / "b/queries_db.db", "id INTEGER, query", *rows)
    write(tmp_path / "c/queries.txt", "1\twater\n")
    files = [
        (tmp_path / "a/queries.txt", "fr"),
        (tmp_path / "b/queries_db.db", "fr"),
        (tmp_path / "c/queries.txt", "en"),
    ]
    log = ImportLog()
    shared = read_shared_queries(files, tmp_path, log)
    assert {language: frame.rows() for language, frame in shared.items()} == {
        "fr": [
            ("1", "eau douce", "train", "a/queries.txt", 1),
            ("2", "pain", "train", "a/queries.txt", 2),
            ("5", "sel", "train", "b/queries_db.db", 4),
        ],
        "en": [("1", "water", "train", "c/queries.txt", 1)],
    }
    assert rejects(log, tmp_path) == [
        ("repeated_query_id", "a/queries.txt", 3, "1"),
        ("repeated_query_id", "b/queries_db.db", 2, "2"),
        ("empty_query", "b/queries_db.db", 3, "4"),
    ]


def test_of_several_databases_the_first_address_of_a_document_counts(tmp_path: Path) -> None:
    parts = ([(1, "a"), (2, "b")], [(1, "a"), (2, "c"), (3, "d")], [(2, "b"), (3, "e")])
    paths = [
        _database(tmp_path / f"{n}/collection_db.db", "id INTEGER, url", *rows)
        for n, rows in enumerate(parts)
    ]
    log = ImportLog()
    log_contradicting_urls(paths, tmp_path, log)
    assert rejects(log, tmp_path) == [
        ("contradicting_address", "1/collection_db.db", 2, "2"),
        ("contradicting_address", "2/collection_db.db", 2, "3"),
    ]
    alone = ImportLog()
    log_contradicting_urls(paths[:1], tmp_path, alone)
    log_contradicting_urls([], tmp_path, alone)
    assert rejects(alone, tmp_path) == []
