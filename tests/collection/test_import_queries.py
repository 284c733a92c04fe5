"""Queries and judgements of an import of a few rows: which are read, and what belongs to them."""

from pathlib import Path

import polars as pl
import pytest

from builder.collection.imports.files import SnapshotFiles
from builder.collection.imports.ids import KeyAssigner
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
from builder.collection.imports.lines import QUERY_COLUMNS
from builder.collection.imports.origin import Release
from builder.collection.imports.snapshot import (
    SnapshotQueries,
    map_stable_query_ids,
    read_snapshot_queries,
)
from builder.text.keys import key64, query_id
from builder.trec.released import strip_doc_prefix
from tests.collection.release_files import ROOT, WEB, rejects
from tests.collection.releases import query_of, write


def queries(*rows: tuple[str, str]) -> pl.DataFrame:
    """Queries of one file by id and text."""
    numbered = [(own, text, "train", "q.txt", n) for n, (own, text) in enumerate(rows, 1)]
    return pl.DataFrame(numbered, schema=QUERY_COLUMNS, orient="row")


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
