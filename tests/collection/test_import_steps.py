"""Single steps of an import: keys, logs, addresses, queries and judgements of a few rows."""

import gzip
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports import import_release
from builder.collection.imports.files import TREC_IS_READ, SnapshotFiles
from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
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
from builder.collection.imports.judged import (
    assign_query_keys,
    build_qrels_table,
    build_queries_table,
    map_ids_to_text_keys,
    match_translations,
    read_all_queries,
    read_judged_query_ids,
    read_unique_qrels,
)
from builder.collection.imports.lines import (
    QUERY_COLUMNS,
    read_qrels,
    read_queries,
    read_url_list,
)
from builder.collection.imports.origin import Release
from builder.collection.imports.own_exports import (
    exported_language,
    has_escaped_markup,
    is_own_export,
)
from builder.collection.imports.pages import _iter_json_values, read_documents
from builder.collection.imports.plan import ImportPlan
from builder.collection.imports.publish import _snapshot_interval
from builder.collection.imports.release import _check_tables_not_empty
from builder.collection.imports.shared import log_contradicting_urls, read_shared_queries
from builder.collection.imports.snapshot import (
    SnapshotQueries,
    map_stable_query_ids,
    read_snapshot_queries,
)
from builder.collection.imports.unread import (
    NOT_NAMED,
    UnreadFiles,
    find_unread_documents,
    find_unread_files,
    find_unread_judgements,
)
from builder.collection.imports.walk import ReleaseFiles, list_release_files
from builder.errors import DataError
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.text.keys import doc_id, key64, query_id
from builder.trec.released import strip_doc_prefix
from tests.collection.releases import opened, query_of, write

ROOT = Path("/no/such/release")
Reject = tuple[str, str, int, str | None]


def rejects(log: ImportLog, folder: Path) -> list[Reject]:
    """The reason, file, line and key of each reject, in the order of files and lines."""
    log.write_tables(folder)
    table = pl.read_parquet(folder / "rejects.parquet")
    return table.select("reason", "file", "line", "key").sort("file", "line").rows()


def queries(*rows: tuple[str, str]) -> pl.DataFrame:
    """Queries of one file by id and text."""
    numbered = [(own, text, "train", "q.txt", n) for n, (own, text) in enumerate(rows, 1)]
    return pl.DataFrame(numbered, schema=QUERY_COLUMNS, orient="row")


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


def test_the_shortest_of_the_ids_with_one_text_gets_the_key_of_the_text(tmp_path: Path) -> None:
    listed = queries(("10", "eau"), ("b", "Eau"), ("9", "EAU"), ("3", "?"), ("10", "sel"))
    log = ImportLog()
    table, keys = assign_query_keys(listed, "r", log)
    water = query_of("eau")
    assert table.select("query_id", "text", "split", "text_key").rows() == [
        ("10", "eau", "train", water),
        ("b", "Eau", "train", water),
        ("9", "EAU", "train", water),
        ("3", "?", "train", None),
    ]
    assert keys.keys == {
        "3": query_id(key64("query 3 of r")),
        "9": water,
        "b": query_id(key64("query b of r")),
        "10": query_id(key64("query 10 of r")),
    }
    assert rejects(log, tmp_path) == [("repeated_query_id", "q.txt", 5, "10")]
    assert map_ids_to_text_keys(listed, "r") == {
        "10": water,
        "b": water,
        "9": water,
        "3": query_id(key64("query 3 of r")),
    }


def test_translations_belong_to_queries_with_the_same_id(tmp_path: Path) -> None:
    log = ImportLog()
    english = queries(("1", "water"), ("2", "bread"), ("1", "sea"), ("3", "salt"))
    texts = match_translations(english, queries(("1", "eau"), ("3", "sel")), log)
    assert texts == {"1": "water", "2": "bread", "3": "salt"}
    assert rejects(log, tmp_path) == [
        ("english_without_french", "q.txt", 2, "2"),
        ("repeated_query_id", "q.txt", 3, "1"),
    ]


def test_the_last_judgement_of_a_pair_counts(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "1 0 doc7 2\n1 0 7 1\n2 0 7 0\n")
    write(tmp_path / "b.txt", "1 0 7 1\n1 0 8 2\n")
    files = SnapshotFiles("2022-06", qrels=[tmp_path / "a.txt", tmp_path / "b.txt"])
    log = ImportLog()
    qrels = read_unique_qrels(files, tmp_path, log, strip_doc_prefix)
    assert qrels.select("query_id", "doc_id", "grade").rows() == [
        ("2", "7", 0),
        ("1", "7", 1),
        ("1", "8", 2),
    ]
    assert rejects(log, tmp_path) == [
        ("contradicting_judgement", "a.txt", 1, "1 7 2"),
        ("repeated_judgement", "a.txt", 2, "1 7"),
    ]
    assert sorted(read_judged_query_ids(files, tmp_path)) == ["1", "2"]
    empty = read_unique_qrels(SnapshotFiles("2022-06"), tmp_path, log, strip_doc_prefix)
    assert empty.rows() == []


def test_queries_know_how_many_documents_are_judged_and_relevant() -> None:
    qrels = pl.DataFrame(
        [("1", "7", 2), ("1", "8", 1), ("1", "9", 0), ("2", "7", 0)],
        schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.UInt8},
        orient="row",
    )
    listed = queries(("1", "eau"), ("2", "pain"), ("3", "sel"))
    table = build_queries_table(listed, {"1": "water", "9": "x"}, qrels)
    assert table.to_dicts() == [
        {
            "query_id": own,
            "text": text,
            "text_en": english,
            "topics": [],
            "split": "train",
            "impressions": 0,
            "users": 0,
            "clicks": 0,
            "judged": judged,
            "relevant": relevant,
            "variant_set": None,
        }
        for own, text, english, judged, relevant in (
            ("1", "eau", "water", 3, 2),
            ("2", "pain", None, 1, 0),
            ("3", "sel", None, 0, 0),
        )
    ]
    assert build_qrels_table(qrels[1:2]).to_dicts() == [
        {
            "query_id": "1",
            "doc_id": "8",
            "grade": 1,
            "score": None,
            "attractiveness": None,
            "satisfaction": None,
            "impressions": 0,
            "examinations": 0,
            "clicks": 0,
            "last_clicks": 0,
            "source": "release",
            "score_low": None,
            "score_high": None,
            "stability": None,
            "click_grade": None,
            "manual_grade": None,
        }
    ]


def test_only_the_query_files_of_a_language_are_read(tmp_path: Path) -> None:
    files = SnapshotFiles("2022-06")
    for name, language, split, line in (
        ("a.txt", "fr", "train", "1\teau\n"),
        ("b.txt", "en", "train", "1\twater\n"),
        ("c.txt", "fr", "test", "2\tpain\n"),
    ):
        write(tmp_path / name, line)
        files.queries.append((tmp_path / name, language, split))
    assert read_all_queries(files, tmp_path, "fr", ImportLog()).rows() == [
        ("1", "eau", "train", "a.txt", 1),
        ("2", "pain", "test", "c.txt", 1),
    ]
    assert read_all_queries(files, tmp_path, "de", ImportLog()).rows() == []


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


WEB = Release(ROOT, "longeval-web", "fr")
NONE = {"fr": queries(), "en": queries()}


def _keyed(**text_keys: str) -> SnapshotQueries:
    return SnapshotQueries(queries(), KeyAssigner(), text_keys, {}, ImportLog())


@pytest.mark.parametrize(
    ("months", "stable"),
    [
        (({"a": "x", "b": "y"}, {"a": "x", "b": "z", "c": "w"}), {"a": "x", "c": "w"}),
        (({"a": "x", "b": "y", "c": "v"}, {"a": "x", "b": "z", "c": "w"}), None),
        (({"a": "x"}, {"a": "y"}), None),
        (({"a": "x"}, {"b": "x"}), {"a": "x", "b": "x"}),
        (({"a": "x"}, {}, {"a": "x"}), {"a": "x"}),
    ],
)
def test_ids_are_stable_unless_most_change_their_text(
    months: tuple[dict[str, str], ...], stable: dict[str, str] | None
) -> None:
    snapshots = [_keyed(**month) for month in months]
    assert map_stable_query_ids(WEB, snapshots, NONE) == stable
    release = Release(ROOT, "longeval-2023", "fr")
    assert map_stable_query_ids(release, snapshots, NONE) is None


@pytest.mark.parametrize(
    ("language", "shared", "expected"),
    [
        ("fr", {"fr": queries(("a", "eau")), "en": queries(("a", "water"))}, "eau"),
        ("en", {"fr": queries(("a", "eau")), "en": queries(("a", "water"))}, "water"),
        ("en", {"fr": queries(("a", "eau")), "en": queries()}, "eau"),
    ],
)
def test_shared_texts_are_known_in_each_snapshot(
    language: str, shared: dict[str, pl.DataFrame], expected: str
) -> None:
    release = Release(ROOT, "longeval-web", language)
    key = query_of(expected)
    assert map_stable_query_ids(release, [_keyed(), _keyed()], shared) == {"a": key}
    assert map_stable_query_ids(release, [_keyed(a="x"), _keyed(b=key)], shared) is None


def test_french_queries_of_an_english_snapshot_are_read_if_there_are_no_english_ones(
    tmp_path: Path,
) -> None:
    write(tmp_path / "fr.txt", "1\twater\n")
    write(tmp_path / "en.txt", "2\tsalt\n")
    release = Release(tmp_path, "longeval-web", "en")
    french, english = (tmp_path / "fr.txt", "fr", "train"), (tmp_path / "en.txt", "en", "train")
    for listed, expected in (([french], ["water"]), ([english], ["salt"])):
        snapshot = SnapshotFiles("2022-06", queries=listed)
        found = read_snapshot_queries(release, snapshot, NONE)
        assert found.table["text"].to_list() == expected
        assert found.translations == {}
        assert found.import_log.records_read == 1


def test_shared_queries_are_those_that_are_judged_or_translated(tmp_path: Path) -> None:
    write(tmp_path / "qrels.txt", "1 0 7 1\n3 0 7 1\n")
    write(tmp_path / "fr.txt", "4\tmer\n")
    shared = {
        "fr": queries(("1", "eau"), ("2", "pain")),
        "en": queries(("1", "water"), ("3", "salt"), ("4", "sea"), ("5", "oil")),
    }
    snapshot = SnapshotFiles(
        "2022-06", qrels=[tmp_path / "qrels.txt"], query_texts=[(tmp_path / "queries.txt", "fr")]
    )
    release = Release(tmp_path, "longeval-web", "fr")
    found = read_snapshot_queries(release, snapshot, shared)
    assert found.table.select("query_id", "text").rows() == [("1", "eau")]
    assert found.translations == {"1": "water", "3": "salt"}
    assert found.import_log.records_read == 1 + 2
    assert rejects(found.import_log, tmp_path) == [("english_without_french", "q.txt", 2, "3")]
    snapshot.queries = [(tmp_path / "fr.txt", "fr", "train")]
    found = read_snapshot_queries(release, snapshot, shared)
    assert found.table.select("query_id", "text").rows() == [("4", "mer")]
    assert found.translations == {"1": "water", "3": "salt", "4": "sea"}


def test_ids_are_unique_in_a_layout_or_in_one_of_its_snapshots() -> None:
    sci, early = (Release(ROOT, name, "fr") for name in ("longeval-sci", "longeval-2023"))
    scopes = [release.id_scope("2022-06") for release in (WEB, sci, early)]
    assert scopes == ["longeval-web", "longeval-sci", "longeval-2023 2022-06"]
    assert WEB.id_scope("2022-06", is_stable=False) == "longeval-web 2022-06"
    assert [r.to_qrels_doc_id("doc7") for r in (WEB, sci, early)] == ["7", "doc7", "doc7"]


@pytest.mark.parametrize(
    ("name", "months", "start", "end"),
    [
        ("2022-06", 1, date(2022, 6, 1), date(2022, 7, 1)),
        ("2022-12", 1, date(2022, 12, 1), date(2023, 1, 1)),
        ("2025-09", 3, date(2025, 9, 1), date(2025, 12, 1)),
        ("2025-11", 3, date(2025, 11, 1), date(2026, 2, 1)),
        ("2022-06-30", 1, date(2022, 6, 30), date(2022, 7, 1)),
    ],
)
def test_the_days_of_a_snapshot(name: str, months: int, start: date, end: date) -> None:
    assert _snapshot_interval(SnapshotFiles(name, months=months)) == (start, end)


FILE = Path("French/a.txt")
FRENCH_FILE, ENGLISH_FILE = (ROOT / "f.txt", "fr", "train"), (ROOT / "e.txt", "en", "train")
NO_DATA = "nothing was published; use --allow-empty if the release has no such data"


@pytest.mark.parametrize(
    ("files", "rows", "message"),
    [
        (SnapshotFiles("2022-06"), (1, 0, 0), None),
        (SnapshotFiles("2022-06", queries=[FRENCH_FILE]), (1, 0, 0), None),
        (
            SnapshotFiles("2022-06"),
            (0, 1, 1),
            (
                "found no query file; expected queries/<YYYY-MM>_queries.txt and "
                f"qrels/<YYYY-MM>_fr/*.txt; {NO_DATA}"
            ),
        ),
        (
            SnapshotFiles("2022-06", queries=[ENGLISH_FILE]),
            (0, 1, 1),
            (
                "expected queries in French, the language of the release, found only English "
                "queries in e.txt; nothing was published; add the French queries, or use "
                "--allow-empty to import the snapshot without queries"
            ),
        ),
        (
            SnapshotFiles("2022-06", queries=[FRENCH_FILE, ENGLISH_FILE]),
            (0, 1, 1),
            f"no queries could be read from 2 files (1,200 no_tab, 3 not_utf8); {NO_DATA}",
        ),
        (
            SnapshotFiles("2022-06", queries=[FRENCH_FILE], qrels=[FILE]),
            (1, 0, 1),
            f"no qrels could be read from 1 file (1,200 no_tab, 3 not_utf8); {NO_DATA}",
        ),
        (
            SnapshotFiles("2022-07", queries=[FRENCH_FILE], documents={"fr": [FILE], "en": [FILE]}),
            (1, 1, 0),
            f"no documents could be read from 2 files (the files are empty); {NO_DATA}",
        ),
    ],
)
def test_files_without_a_row_are_an_error(
    files: SnapshotFiles, rows: tuple[int, int, int], message: str | None
) -> None:
    ledgers = {
        "2022-06": RowLedger("records", rejected=Counter({"not_utf8": 3, "no_tab": 1200})),
        "2022-07": RowLedger("records"),
    }
    counts = {files.name: dict(zip(("queries", "qrels", "documents"), rows, strict=True))}
    if message is None:
        _check_tables_not_empty(WEB, [files], counts, ledgers)
        return
    with pytest.raises(DataError) as error:
        _check_tables_not_empty(WEB, [files], counts, ledgers)
    assert str(error.value) == f"{files.name}: {message}"


def test_an_english_release_may_have_only_english_queries() -> None:
    files = SnapshotFiles("2022-06", queries=[ENGLISH_FILE])
    counts = {"2022-06": {"queries": 0, "qrels": 0, "documents": 0}}
    ledgers = {"2022-06": RowLedger("records")}
    with pytest.raises(DataError, match=r"no queries could be read from 1 file \(the files are"):
        _check_tables_not_empty(Release(ROOT, "longeval-web", "en"), [files], counts, ledgers)


def _unread(names: list[str], snapshot: SnapshotFiles) -> dict[str, UnreadFiles]:
    return find_unread_files(ReleaseFiles(ROOT, [ROOT / name for name in names]), [snapshot])


def test_unread_files_of_a_folder_with_one_reason_are_counted_together() -> None:
    snapshot = SnapshotFiles("2022-06", qrels=[ROOT / "qrels/read.txt"])
    snapshot.skip([ROOT / "b/2.txt"], "why")
    backup = "backup copies or incomplete downloads, judging by the file names"
    names = ["1.txt", "2.txt", "a/1.txt", "a/2.txt", "a/3.txt", "b/1.txt", "b/2.txt", "c/1.txt"]
    names += ["qrels/read.txt", "d/a.txt.bak", "d/b.txt.bak", "qrels-raw.txt", "../old/a.txt"]
    names += [".git/a", "a/metadata.json", "SHA256SUMS", "longeval-export.json", "docstore/x"]
    assert _unread(names, snapshot) == {
        "1.txt": UnreadFiles(NOT_NAMED, 1),
        "2.txt": UnreadFiles(NOT_NAMED, 1),
        "a": UnreadFiles(NOT_NAMED, 3),
        "b/1.txt": UnreadFiles(NOT_NAMED, 1),
        "b/2.txt": UnreadFiles("why", 1),
        "c/1.txt": UnreadFiles(NOT_NAMED, 1),
        "d/a.txt.bak": UnreadFiles(backup, 1),
        "d/b.txt.bak": UnreadFiles(backup, 1),
        "qrels-raw.txt": UnreadFiles("judgements of a variant that is not imported", 1),
        "../old/a.txt": UnreadFiles(NOT_NAMED, 1),
    }


UNREAD = {
    "Trec/2023-07_fr": UnreadFiles("2023-07 has no queries and no judgements", 2),
    "Json/2022-06_fr": UnreadFiles(TREC_IS_READ, 2),
    "a/Documents/b.txt": UnreadFiles(NOT_NAMED, 1),
    "a/documents/c.jsonl": UnreadFiles(FULL_TEXT_IS_READ, 1),
    "Qrels/a.txt": UnreadFiles(NOT_NAMED, 1),
    "longeval-relevance-judgements": UnreadFiles(NOT_NAMED, 3),
    "qrels/b.txt": UnreadFiles("why", 1),
    "qrels.txt": UnreadFiles(NOT_NAMED, 1),
}


def test_unread_files_that_may_be_documents_or_judgements() -> None:
    assert find_unread_documents(UNREAD) == ["Trec/2023-07_fr", "a/Documents/b.txt"]
    assert find_unread_judgements(UNREAD) == ["Qrels/a.txt", "longeval-relevance-judgements"]


def test_what_a_plan_counts_and_warns_of() -> None:
    with_documents = SnapshotFiles(
        "2022-06", queries=[FRENCH_FILE], documents={"fr": [FILE, FILE], "en": [FILE]}
    )
    without = [SnapshotFiles(name, qrels=[FILE, FILE]) for name in ("2022-07", "2022-08")]
    plan = ImportPlan(ROOT, ROOT / "1.0.0", [with_documents, *without], UNREAD, (), ())
    assert plan.file_counts() == {
        "2022-06": {"queries": 1, "qrels": 0, "documents": 3},
        "2022-07": {"queries": 0, "qrels": 2, "documents": 0},
        "2022-08": {"queries": 0, "qrels": 2, "documents": 0},
    }
    documents = (
        "no document files are read for 2022-07, 2022-08, but files in document folders are "
        "skipped, such as Trec/2023-07_fr; if these are documents, rename them to match the layout"
    )
    judgements = (
        "skipped 4 files in qrels folders, such as Qrels/a.txt; if these are judgements, rename "
        "the files, or the folders of the snapshots, to match the layout"
    )
    assert plan.warnings() == [documents, judgements]
    complete = ImportPlan(ROOT, ROOT / "1.0.0", [with_documents], UNREAD, (), ())
    assert complete.warnings() == [judgements]
    assert ImportPlan(ROOT, ROOT / "1.0.0", without, {}, (), ()).warnings() == []


def test_variants_of_judgements_that_differ_or_are_missing_are_named() -> None:
    names = {"2025-03": "qrels-raw.txt", "2025-06": "qrels-llm.txt", "2025-09": "qrels.txt"}
    snapshots = [SnapshotFiles(name, qrels=[ROOT / path]) for name, path in names.items()]
    skipped = SnapshotFiles("2025-12")
    skipped.skip([ROOT / "qrels-raw.txt", ROOT / "qrels-dctr.txt"], "why")
    plan = ImportPlan(ROOT, ROOT, [*snapshots, skipped, SnapshotFiles("2026-03")], {}, (), ())
    assert plan.warnings() == [
        (
            "the snapshots have judgements of different variants, so their scores are not "
            "comparable: 2025-03 (raw), 2025-06 (llm), 2025-09 (not named); use --qrels to import "
            "only one variant"
        ),
        (
            "snapshots that do not have the selected qrels variant are imported without "
            "judgements; available variants: 2025-12 (dctr, raw)"
        ),
    ]
    assert ImportPlan(ROOT, ROOT, snapshots[:1], {}, (), ()).warnings() == []


def test_links_that_lead_nowhere_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "r/a/file.txt", "x")
    for name, target in (
        ("r/broken", "none"),
        ("r/itself", "itself"),
        ("r/up", "."),
        ("r/copy", "a"),
        ("r/away", "../other"),
    ):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "other").mkdir()
    found = list_release_files(tmp_path / "r")
    names = [path.relative_to(tmp_path / "r").as_posix() for path in found.paths]
    assert names == ["a/file.txt", "copy/file.txt"]
    assert [path.name for path in found.external_links] == ["away", "broken", "itself"]


def test_prior_datasets_are_folders_with_metadata(tmp_path: Path) -> None:
    for name in ("second", "first", "plain"):
        write(tmp_path / name / "queries.txt", "1\twater\n")
    write(tmp_path / "first/metadata.json", '{"prior-datasets": "../plain/"}')
    named = '{"prior-datasets": ["../first/", "first", 3, "../plain/", "../none\\u0000/"]}'
    write(tmp_path / "second/metadata.json", named)
    found = list_release_files(tmp_path / "second")
    assert [path.relative_to(tmp_path).as_posix() for path in found.paths] == [
        "first/metadata.json",
        "first/queries.txt",
        "second/metadata.json",
        "second/queries.txt",
    ]
    assert found.missing_datasets == ["../plain/", "../none\0/"]
    assert found.external_links == []


@pytest.mark.parametrize(
    ("described", "own", "is_escaped", "language"),
    [
        ('{"markup": "none", "languages": ["en"]}', True, False, "en"),
        ('{"markup": "TREC tags are escaped", "languages": ["fr", "en"]}', True, True, None),
        ('{"markup": "TREC tags are escaped", "languages": "fr"}', True, True, None),
        ('{"languages": ["fr"]}', False, False, "fr"),
        ("[]", False, False, None),
        (None, False, False, None),
    ],
)
def test_the_nearest_description_of_an_export_counts(
    described: str | None, own: bool, is_escaped: bool, language: str | None, tmp_path: Path
) -> None:
    write(tmp_path / "a/deep/b.txt", "x")
    if described is not None:
        outer = '{"markup": "other", "languages": ["de"]}'
        write(tmp_path / "longeval-export.json", outer)
        write(tmp_path / "a/longeval-export.json", described)
    path = tmp_path / "a/deep/b.txt"
    found = (is_own_export(path), has_escaped_markup(path), exported_language(path))
    assert found == (own, is_escaped, language)


def test_lines_of_more_than_a_megabyte_are_rejected(tmp_path: Path) -> None:
    longest = "1\t" + "a" * (2**20 - 2)
    write(tmp_path / "q.txt", f"{longest}\n{longest}b\n3\tsel\n")
    log = ImportLog()
    found = read_queries(tmp_path / "q.txt", "q.txt", "test", log)
    assert found.select("query_id", "split", "line").rows() == [("1", "test", 1), ("3", "test", 3)]
    assert rejects(log, tmp_path) == [("line_too_long", "q.txt", 2, None)]
    assert log.records_read == 3


def test_a_file_that_is_cut_off_counts_as_one_more_record(tmp_path: Path) -> None:
    lines = "".join(f"{n} 0 {n * 7919 % 1009} 1\n" for n in range(1000))
    write(tmp_path / "q.txt.gz", gzip.compress(lines.encode())[:-2000])
    log = ImportLog()
    found = read_qrels(tmp_path / "q.txt.gz", "q", log)
    (reject,) = rejects(log, tmp_path)
    assert 0 < found.height < 1000
    assert reject[:2] == ("file_truncated", "q")
    assert (log.records_read, reject[2]) == (found.height + 1, found.height + 1)


def test_values_that_are_nested_too_deeply_are_no_json(tmp_path: Path) -> None:
    deep = '{"id": ' + "[" * 100_000
    write(tmp_path / "a.jsonl", f'{deep}\n{{"id": "2", "contents": "b"}}\n')
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.jsonl", "a", log, is_markup_escaped=False))
    assert found == [("2", "", "b", 2, "")]
    assert rejects(log, tmp_path) == [("not_json", "a", 1, None)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("[1]", "not_an_object"),
        ('{"contents": "a"}', "document_without_id"),
        ('{"id": true, "contents": "a"}', "document_without_id"),
        ('{"id": 1.5, "contents": "a"}', "document_without_id"),
        ('{"id": "1"}', "document_without_text"),
        ('{"id": "\\ud800", "contents": "a"}', "lone_surrogate"),
        ('{"id": "1", "contents": "a", "url": "\\ud800"}', "lone_surrogate"),
        ('{"id": "1", "title": "\\ud83d\\ude00", "contents": "a"}', None),
    ],
)
def test_records_of_json_that_are_no_documents(
    record: str, reason: str | None, tmp_path: Path
) -> None:
    write(tmp_path / "a.json", f'{{"id": 7, "contents": "x"}}\n{record}')
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.json", "a", log, is_markup_escaped=False))
    assert found[0] == ("7", "", "x", 1, "")
    if reason is None:
        assert found[1:] == [("1", "\U0001f600", "a", 2, "")]
    assert [each[0] for each in rejects(log, tmp_path)] == ([] if reason is None else [reason])
    assert log.records_read == 2


PAGE = "<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"


class Heard:
    """A progress display that remembers what it was told of an import."""

    def __init__(self) -> None:
        self.said: list[object] = []

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Remember the start of an operation."""
        self.said.append((label, total, unit))

    def advance(self, count: int) -> None:
        """Remember how many units are done."""
        self.said.append(count)

    def finish(self) -> None:
        """Remember the end of an operation."""
        self.said.append("end")


def test_the_first_of_several_documents_with_one_id_counts(tmp_path: Path) -> None:
    home = tmp_path / "r/publish"
    for name, pages in (
        ("French/Documents/a.txt", (("1", "x"), ("1", "x"), ("1", "y"), ("2", "z"), ("4", ""))),
        ("French/Documents/b.txt", (("2", "z"), ("3", "w"))),
        ("English/Documents/a.txt", (("1", "X"), ("1", "Y"), ("9", "Q"), ("9", "Q"), ("2", ""))),
    ):
        write(home / name, "".join(PAGE.format(own, text) for own, text in pages))
    write(home / "French/Queries/train.tsv", "q1\teau\n")
    write(home / "French/Qrels/train.txt", "q1 0 1 1\nq1 0 9 0\n")
    (tmp_path / "scratch").mkdir()
    heard = Heard()
    report = import_release(
        tmp_path / "r",
        "longeval-2023",
        tmp_path / "out",
        name="own",
        limits=ResourceLimits(tmp_path / "scratch"),
        progress=heard,
    )
    assert heard.said[:5] == [("import 2022-06", None, "documents"), 4, 2, 5, "end"]
    assert report.version == tmp_path / "out/1.0.0"
    assert report.rows == {"2022-06": {"queries": 1, "qrels": 2, "documents": 3}}
    ledger = report.ledgers["2022-06"]
    assert (ledger.rows_in, ledger.rows_out) == (1 + 2 + 12, 1 + 2 + 5)
    snapshot = opened(report).snapshot("2022-06")
    assert opened(report).name == "own"
    documents = snapshot.documents.select("doc_id", "text", "text_en", "shown").collect()
    assert documents.rows() == [
        ("1", "x", "X", True),
        ("2", "z", "", False),
        ("3", "w", None, False),
    ]
    rows = snapshot.rejects.select("reason", "file", "line", "key").sort("file", "line").collect()
    english, first, second = (
        f"publish/{name}/Documents/{file}.txt"
        for name, file in (("English", "a"), ("French", "a"), ("French", "b"))
    )
    assert rows.rows() == [
        ("contradicting_document", english, 2, "1"),
        ("english_without_french", english, 3, None),
        ("repeated_document", english, 4, "9"),
        ("repeated_document", first, 2, "1"),
        ("contradicting_document", first, 3, "1"),
        ("empty_text", first, 5, None),
        ("repeated_document", second, 1, "2"),
    ]
    ids = pl.read_parquet(snapshot.folder / "release_ids.parquet").filter(kind="document")
    assert ids["id"].to_list() == ["1", "2", "3", "9"]


def test_quotes_around_a_query_are_removed_as_in_csv(tmp_path: Path) -> None:
    lines = '1\t"\n2\t""\n3\t"a""b"\n4\t"a" b\n5\t"a\n6\ta"\n7\t"a\x0b b"\n\teau\n \tx\n'
    write(tmp_path / "a/q.txt", lines)
    log = ImportLog()
    found = read_queries(tmp_path / "a/q.txt", "q.txt", "train", log)
    assert dict(found.select("query_id", "text").iter_rows()) == {
        "1": '"',
        "3": 'a"b',
        "4": '"a" b',
        "5": '"a',
        "6": 'a"',
        "7": "a b",
    }
    assert rejects(log, tmp_path) == [
        ("empty_query", "q.txt", 2, None),
        ("no_tab", "q.txt", 8, None),
        ("no_tab", "q.txt", 9, None),
    ]
    write(tmp_path / "a/longeval-export.json", '{"markup": "none"}')
    own = read_queries(tmp_path / "a/q.txt", "q.txt", "train", ImportLog())
    assert own["text"].to_list() == ['"', '""', '"a""b"', '"a" b', '"a', 'a"', '"a b"']


def test_odd_lines_are_counted_with_the_first_as_the_example(tmp_path: Path) -> None:
    lines = "1\teau  douce\r\n2\t pain\r\n\x013\tsel  fin\n\ufeff4\tmer\n\x025\tsite:a.example x\n"
    write(tmp_path / "q.txt", lines)
    write(tmp_path / "r.txt", "1 0 7 1\n1 0 \x018 1\n\x022 0 7 1\n")
    log = ImportLog()
    found = read_queries(tmp_path / "q.txt", "q", "train", log)
    assert found["query_id"].to_list() == ["1", "2", "\x013", "\ufeff4", "\x025"]
    read_qrels(tmp_path / "r.txt", "r", log)
    log.write_tables(tmp_path)
    assert sorted(pl.read_parquet(tmp_path / "irregularities.parquet").rows()) == [
        ("q", "control_character_in_id", 2, 3, "\x013"),
        ("q", "crlf", 2, 1, "1\teau  douce"),
        ("q", "double_space", 2, 1, "eau  douce"),
        ("q", "mixed_line_ends", 1, 1, "2 of 5 lines end with CRLF"),
        ("q", "outer_space", 1, 2, " pain"),
        ("q", "search_operator", 1, 5, "site:a.example x"),
        ("r", "control_character_in_id", 2, 2, "1 \x018"),
    ]


def test_lines_of_a_url_list_need_an_id_and_a_url(tmp_path: Path) -> None:
    write(tmp_path / "urls.txt", " 1 \t https://a.example/a b \n\thttps://b.example\n3\t \n4\n")
    log = ImportLog()
    found = list(read_url_list(tmp_path / "urls.txt", "urls", log))
    assert found == [("1", "https://a.example/a b")]
    assert rejects(log, tmp_path) == [("no_address", "urls", n, None) for n in (2, 3, 4)]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (b"<DOCNO>" + b"a" * 200 + b"</DOCNO><TEXT>x</TEXT>", ("a" * 200, "", "x", 1, "")),
        (b"<DOCNO>" + b"a" * 201 + b"</DOCNO><TEXT>x</TEXT>", "document_without_id"),
        (b"<DOCID>" + b"a" * 200 + b"</DOCID><TEXT>x</TEXT>", ("a" * 200, "", "x", 1, "")),
        (b"<DOCID>" + b"a" * 201 + b"</DOCID><TEXT>x</TEXT>", "document_without_id"),
        (b"<DOCNO>\n1 </DOCNO><DOCID>2</DOCID><TEXT>x</TEXT>", ("1", "", "x", 1, "")),
        (b"<DOCNO>1 2</DOCNO><TEXT>x</TEXT>", "document_without_id"),
        (b"<TEXT>x</TEXT><DOCNO>1</DOCNO>", "document_without_id"),
        (b"<DOCNO>1</DOCNO><DOCNO>2</DOCNO><TEXT>x</TEXT>", "document_with_several_ids"),
        (b"<DOCNO>1</DOCNO><TEXT>x", "document_without_text"),
        (b"<DOCNO>1</DOCNO></TEXT><TEXT>x", "document_without_text"),
        (b"<DOCNO>1</DOCNO>x</TEXT>", "document_without_text"),
        (b"<DOCNO>1</DOCNO><TEXT></TEXT>", ("1", "", "", 1, "")),
        (b"<DOCNO>1</DOCNO><TEXT>\xe9</TEXT>", "not_utf8"),
        (b"<DOCNO>1</DOCNO><TITLE>\xe9</TITLE><TEXT>x</TEXT>", "not_utf8"),
        (b"<DOCNO>\xe9</DOCNO><URL>\xe8</URL><TEXT>x</TEXT>", ("\ufffd", "", "x", 1, "\ufffd")),
        (
            b"<DOCNO>1</DOCNO><TEXT>a</TEXT> b <TEXT>c</TEXT>",
            ("1", "", "a</TEXT> b <TEXT>c", 1, ""),
        ),
    ],
)
def test_elements_that_are_documents_or_not(
    element: bytes, expected: tuple[object, ...] | str, tmp_path: Path
) -> None:
    write(tmp_path / "a.trec", b"\xef\xbb\xbf<DOC>" + element + b" </DOC>\n")
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.trec", "a", log, is_markup_escaped=False))
    if isinstance(expected, str):
        assert found == []
        assert rejects(log, tmp_path) == [(expected, "a", 1, None)]
    else:
        assert found == [expected]
        assert rejects(log, tmp_path) == []
    assert log.records_read == 1


def test_a_damaged_value_costs_the_rest_of_its_line(tmp_path: Path) -> None:
    first, third, fifth = (f'{{"id": {n}, "contents": "é{n}"}}' for n in (1, 3, 5))
    data = f'\ufeff [{first}, {{"id": 2 "x": 0}}, {third},\n{third},\n[7], {fifth}]\n'
    write(tmp_path / "a.json", data)
    log = ImportLog()
    found = read_documents(tmp_path / "a.json", "a", log, is_markup_escaped=False)
    assert [(each.doc_id, each.text, each.number) for each in found] == [
        ("1", "é1", 1),
        ("3", "é3", 3),
        ("5", "é5", 5),
    ]
    assert rejects(log, tmp_path) == [("not_json", "a", 2, None), ("not_an_object", "a", 4, None)]
    assert log.records_read == 5


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_values_of_json_may_be_cut_anywhere(size: int) -> None:
    data = '[{"a": "é\\n"}, null,\n{"b": [1, {"c": "]"}]}]\n{"d": 2} x\n{"e": 3}'.encode()
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(_iter_json_values(iter(parts))) == [
        {"a": "é\n"},
        None,
        {"b": [1, {"c": "]"}]},
        {"d": 2},
        None,
        {"e": 3},
    ]


@pytest.mark.parametrize("text", [PAGE.format("{0}", "é" * 9), '{{"id": {0}, "contents": "ab"}}\n'])
def test_a_file_of_documents_that_is_cut_off_counts_as_one_more_record(
    text: str, tmp_path: Path
) -> None:
    pages = "".join(text.format(n * 7919 % 1009) for n in range(1000))
    write(tmp_path / "a.gz", gzip.compress(pages.encode())[:-1500])
    log = ImportLog()
    found = list(read_documents(tmp_path / "a.gz", "a", log, is_markup_escaped=False))
    reasons = [reject[0] for reject in rejects(log, tmp_path)]
    assert 0 < len(found) < 1000
    assert "file_truncated" in reasons
    assert log.records_read == len(found) + len(reasons)
