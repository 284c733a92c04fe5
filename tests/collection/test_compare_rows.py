"""Tables of two versions of a few literal rows: which are compared, and which rows differ."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.collection.compare import VersionDifference, compare
from builder.collection.compare.judgements import JudgementDifference, scan_queries_and_qrels
from builder.collection.compare.tables import TableDifference, compare_tables, release_value_exprs
from builder.collection.export import LAYOUTS
from builder.collection.export.longeval_web import OMITTED
from builder.collection.read import Collection
from builder.errors import FormatError, UsageError
from builder.io.tables import Table
from schemas import Documents, NearLeaks, Qrels, Queries, Rejects, TableSchema
from tests.collection.literal import JULY, JUNE, Row, write_rows, write_version


def _table(path: Path, schema: type[TableSchema], rows: list[Row]) -> Table:
    write_rows(path, schema, rows)
    return Table((path,), schema)


def _qrels(**grades: int) -> list[Row]:
    """Judgements of pairs such as `q1d1`."""
    return [{"query_id": k[:2], "doc_id": k[2:], "grade": grade} for k, grade in grades.items()]


def test_rows_are_matched_by_their_keys(tmp_path: Path) -> None:
    old = _qrels(q3d1=1, q1d1=0, q1d2=1, q1d3=2, q2d1=0, q2d2=1)
    new = _qrels(q4d1=1, q1d1=0, q1d2=2, q2d1=1, q2d2=1, q5d1=1, q6d1=1)
    tables = _table(tmp_path / "a", Qrels, old), _table(tmp_path / "b", Qrels, new)
    found = compare_tables("x/qrels", *tables, None)
    assert found == TableDifference("x/qrels", 3, 2, 2, ("q1 d2", "q1 d3", "q2 d1"))
    assert not found.is_empty
    nothing = Table[TableSchema]((), Qrels)
    assert compare_tables("x", tables[0], nothing, None).removed == 6
    assert compare_tables("x", nothing, tables[1], None).added == 7
    assert compare_tables("x", nothing, nothing, None) == TableDifference("x", 0, 0, 0, ())
    assert compare_tables("x", tables[0], tables[0], None).is_empty


@pytest.mark.parametrize(
    ("counts", "columns", "expected"),
    [
        ((0, 0, 0), (), True),
        ((1, 0, 0), (), False),
        ((0, 1, 0), (), False),
        ((0, 0, 1), (), False),
        ((0, 0, 0), ("a: added",), False),
    ],
)
def test_a_difference_of_rows_or_columns_is_one(
    counts: tuple[int, int, int], columns: tuple[str, ...], expected: bool
) -> None:
    difference = TableDifference("x", *counts, (), columns)
    assert difference.is_empty is expected
    version = VersionDifference("a", "b", (), (), (), () if expected else (difference,), (), ())
    assert version.is_empty is expected


def test_rows_of_one_key_are_matched_in_their_order(tmp_path: Path) -> None:
    """The rejects have no primary key, and their values may be null."""
    one = {"stage": "log", "reason": "bad", "line": 1, "rows": 1}
    old: list[Row] = [one, {**one, "rows": 2}, {**one, "key": "k"}]
    new: list[Row] = [one, {**one, "rows": 3}, {**one, "rows": 4}, {**one, "key": "k"}]
    tables = _table(tmp_path / "a", Rejects, old), _table(tmp_path / "b", Rejects, new)
    found = compare_tables("rejects", *tables, None)
    assert (found.added, found.removed, found.changed) == (1, 0, 1)


def test_columns_that_differ_are_not_compared(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "text": "eau", "split": "test", "impressions": 1}]
    new = _table(tmp_path / "b", Queries, rows)
    frame = pl.read_parquet(tmp_path / "b")
    changed = frame.drop("users").with_columns(pl.col("impressions").cast(pl.Int64) + 1, more=1)
    changed.write_parquet(tmp_path / "a")
    old = Table[TableSchema]((tmp_path / "a",), Queries)
    columns = ("impressions: Int64 -> UInt32", "more: removed", "users: added")
    assert compare_tables("q", old, new, None) == TableDifference("q", 0, 0, 0, (), columns)
    assert compare_tables("q", old, new, {"text": pl.col("text")}).is_empty
    nothing = Table[TableSchema]((), Queries)
    found = compare_tables("q", nothing, new, None)
    assert (found.added, found.columns) == (1, ())
    frame.with_columns(query_id=1).write_parquet(tmp_path / "a")
    with pytest.raises(FormatError) as raised:
        compare_tables("q", old, new, None)
    assert str(raised.value) == (
        "q: expected the same key columns in both versions, found query_id: Int32 -> String; if "
        "`longeval validate` finds no error in either version, rebuild the old version to compare "
        "it"
    )


def test_rows_of_which_only_the_key_is_left_are_compared(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "text": "a"}, {"query_id": "q2", "text": "b"}]
    new = _table(tmp_path / "b", Queries, rows)
    pl.DataFrame({"query_id": ["q1"]}).write_parquet(tmp_path / "a")
    found = compare_tables("q", Table[TableSchema]((tmp_path / "a",), Queries), new, None)
    assert (found.added, found.removed, found.changed, found.examples) == (1, 0, 0, ("q2",))
    assert len(found.columns) == len(Queries.columns()) - 1


def test_keys_of_a_release_are_matched_instead_of_ids(tmp_path: Path) -> None:
    release = _qrels(q1d1=0, q2d1=1, q2d2=2)
    built = [
        {"query_id": "qa", "doc_id": "da", "grade": 0},
        {"query_id": "qb", "doc_id": "db", "grade": 1},
    ]
    tables = _table(tmp_path / "a", Qrels, release), _table(tmp_path / "b", Qrels, built)
    kinds = [("query", "q1", "qa"), ("query", "q2", "qb"), ("document", "d1", "da")]
    kinds += [("document", "d2", "db"), ("document", "q1", "x"), ("query", "d1", "x")]
    ids = pl.DataFrame(kinds, schema=["kind", "id", "key"], orient="row")
    exprs = release_value_exprs("qrels", ["longeval-web"])
    found = compare_tables("qrels", *tables, exprs, (ids, None))
    assert found == TableDifference("qrels", 0, 1, 1, ("qb da", "qb db"))
    found = compare_tables("qrels", *tables[::-1], exprs, (None, ids))
    assert found == TableDifference("qrels", 1, 0, 1, ("qb da", "qb db"))


@pytest.mark.parametrize(
    ("table", "layouts", "expected"),
    [
        ("documents", ["longeval-web"], ["french", "english", "fetched_at"]),
        ("documents", ["longeval-web", "longeval-web"], ["french", "english", "fetched_at"]),
        ("documents", ["longeval-web", "longeval-2023"], ["french", "english"]),
        ("documents", ["longeval-2023"], ["french", "english"]),
        ("documents", ["longeval-web", "longeval-sci"], ["french"]),
        ("queries", ["longeval-web"], ["text", "text_en"]),
        ("queries", ["longeval-sci"], ["text"]),
        ("qrels", ["longeval-web"], ["grade"]),
    ],
)
def test_values_that_a_release_has(table: str, layouts: list[str], expected: list[str]) -> None:
    assert list(release_value_exprs(table, layouts)) == expected


def test_titles_and_texts_of_releases_are_compared_together(tmp_path: Path) -> None:
    old = {"doc_id": "d1", "title": "", "text": "Titre\ntexte", "title_en": "T", "text_en": "t"}
    new = {**old, "title": "Titre", "text": "texte"}
    tables = _table(tmp_path / "a", Documents, [old]), _table(tmp_path / "b", Documents, [new])
    exprs = release_value_exprs("documents", ["longeval-2023"])
    assert compare_tables("d", *tables, exprs).is_empty
    other = _table(tmp_path / "c", Documents, [{**new, "text_en": "u"}])
    assert compare_tables("d", tables[0], other, exprs).changed == 1
    later = _table(tmp_path / "d", Documents, [{**new, "fetched_at": 1}])
    assert compare_tables("d", tables[0], later, exprs).is_empty
    exprs = release_value_exprs("documents", ["longeval-web"])
    assert compare_tables("d", tables[0], later, exprs).changed == 1


def test_rows_of_near_leaks_are_compared_by_three_columns(tmp_path: Path) -> None:
    row = {"query_id": "q1", "trained_id": "q2", "trained_snapshot": "2022-06"}
    old = _table(tmp_path / "a", NearLeaks, [{**row, "snapshot": "2022-07"}])
    new = _table(tmp_path / "b", NearLeaks, [{**row, "snapshot": "2022-08"}])
    found = compare_tables("near_leaks", old, new, None)
    assert (found.added, found.removed, found.changed) == (1, 1, 0)


def _version(folder: Path, qrels: Mapping[str, int], **options: Any) -> Collection:
    """A version of one snapshot with three queries; the judgements are given as `q1d1`."""
    rows: dict[str, list[Row]] = {
        f"{JUNE}/queries": [{"query_id": f"q{n}", "text": f"t{n}"} for n in (1, 2, 3)],
        f"{JUNE}/qrels": _qrels(**qrels),
        f"{JUNE}/documents": [{"doc_id": f"d{n}", "text": f"t{n}"} for n in (1, 2, 3)],
        **options.pop("rows", {}),
    }
    return write_version(folder, rows, **{"snapshots": ("2022-06",), **options})


COUNTS = {"impressions": 9, "examinations": 9, "clicks": 1, "last_clicks": 1, "source": "click"}


def test_versions_are_compared_table_by_table(tmp_path: Path) -> None:
    """The topics have one hash in both manifests, and are not read."""
    listed = {"topics": {"rows": 1, "content": "same"}}
    judged = {f"{JUNE}/qrels": {"rows": 3, "content": "another"}}
    before = [{**row, **COUNTS} for row in _qrels(q1d1=0, q1d2=1, q2d1=1)]
    old = _version(
        tmp_path / "a",
        {},
        rows={f"{JUNE}/qrels": before, "topics": [{"topic_id": "a"}], f"{JULY}/queries": []},
        tables=listed,
        tools={"polars": "1", "duckdb": "1"},
    )
    after = [{**row, **COUNTS} for row in _qrels(q1d1=2, q3d1=1, q2d2=1)]
    new = _version(
        tmp_path / "b",
        {},
        rows={
            f"{JUNE}/qrels": after,
            "topics": [{"topic_id": "b"}],
            f"{JULY}/qrels": _qrels(q1d1=0),
            f"{JULY}/queries": [{"query_id": "q1"}],
            "changes/documents": [
                {"doc_id": "d1", "from_snapshot": "2022-06", "to_snapshot": "2022-07"}
            ],
        },
        snapshots=("2022-06", "2022-07"),
        tables=listed | judged,
        tools={"polars": "2"},
        signature="tiny 0.2.0",
    )
    (tmp_path / "b/drift.json").write_text('{"checks": []}')
    found = compare(old.path, new.path)
    assert found == VersionDifference(
        old="tiny 0.1.0",
        new="tiny 0.2.0",
        definition=("snapshots changed",),
        tools=("duckdb: 1 -> None", "polars: 1 -> 2"),
        lost=(),
        tables=(
            TableDifference("changes/documents", 1, 0, 0, ("d1 2022-06 2022-07",)),
            TableDifference(f"{JUNE}/qrels", 2, 2, 1, ("q1 d1", "q1 d2", "q2 d1")),
            TableDifference(f"{JULY}/queries", 1, 0, 0, ("q1",)),
            TableDifference(f"{JULY}/qrels", 1, 0, 0, ("q1 d1",)),
        ),
        judgements=(JudgementDifference("2022-06", 3, {"code": 1}, (), 3, 2, "code"),),
        drift=("checks",),
    )


def test_tables_that_were_edited_are_compared_despite_their_hashes(tmp_path: Path) -> None:
    listed = {f"{JUNE}/qrels": {"rows": 1, "content": "same"}}
    old = _version(tmp_path / "a", {"q1d1": 0}, tables=listed)
    new = _version(tmp_path / "b", {"q1d1": 0}, tables=listed)
    write_rows(new.path / f"{JUNE}/qrels.parquet", Qrels, _qrels(q1d1=0, q1d2=1, q3d3=1))
    write_rows(old.path / f"{JUNE}/qrels.parquet", Qrels, _qrels(q1d1=0, q1d2=1))
    found = compare(old.path, new.path)
    assert [(t.table, t.added) for t in found.tables] == [(f"{JUNE}/qrels", 1)]
    assert [line.partition(": ")[0] for line in found.changed_files] == [
        str(side.path / f"{JUNE}/qrels.parquet") for side in (old, new)
    ]


@pytest.mark.parametrize("entry", [{"rows": 1}, {"rows": 1, "content": ""}])
def test_tables_without_a_hash_are_compared(entry: dict[str, Any], tmp_path: Path) -> None:
    listed = {f"{JUNE}/qrels": entry}
    old = _version(tmp_path / "a", {"q1d1": 0}, tables=listed)
    new = _version(tmp_path / "b", {"q1d1": 0, "q1d2": 1}, tables=listed)
    found = compare(old.path, new.path)
    assert [(t.table, t.added) for t in found.tables] == [(f"{JUNE}/qrels", 1)]


IDS = [
    *({"kind": "query", "id": f"q{n}", "key": f"qk{n}", "text_key": f"qt{n}"} for n in (1, 2, 3)),
    *({"kind": "document", "id": f"d{n}", "key": f"dk{n}"} for n in (1, 2, 3)),
]


def test_a_release_is_compared_by_what_it_has(tmp_path: Path) -> None:
    """Drift is compared only if both versions are releases, of which one has other drift."""
    rows: dict[str, list[Row]] = {f"{JUNE}/release_ids": IDS, "topics": [{"topic_id": "a"}]}
    web = {"layout": "longeval-web"}
    old = _version(tmp_path / "a", {"q1d1": 0, "q1d2": 1}, rows=rows, imported=web)
    new = _version(tmp_path / "b", {"q1d1": 1, "q2d2": 1}, rows=rows, imported=web)
    (tmp_path / "b/drift.json").write_text('{"checks": []}')
    found = compare(old.path, new.path)
    assert found.lost == OMITTED
    assert (found.definition, found.drift) == ((), ("checks",))
    assert found.tables == (TableDifference(f"{JUNE}/qrels", 1, 1, 1, ("q1 d1", "q1 d2", "q2 d2")),)
    assert found.judgements == (
        JudgementDifference("2022-06", 2, {"unknown": 1}, (), 2, 1, "unknown", released=True),
    )
    built = _version(
        tmp_path / "c",
        {},
        rows={
            f"{JUNE}/qrels": [{"query_id": "qk1", "doc_id": "dk1", "grade": 0}],
            f"{JUNE}/queries": [{"query_id": f"qk{n}", "text": f"t{n}"} for n in (1, 2, 3)],
            f"{JUNE}/documents": [{"doc_id": f"dk{n}", "text": f"t{n}"} for n in (1, 2)],
        },
    )
    found = compare(old.path, built.path)
    assert (found.drift, found.lost) == ((), OMITTED)
    assert [(t.table, t.added, t.removed, t.changed) for t in found.tables] == [
        (f"{JUNE}/documents", 0, 1, 0),
        (f"{JUNE}/qrels", 0, 1, 0),
    ]
    sci = _version(tmp_path / "d", {}, rows=rows, imported={"layout": "longeval-sci"})
    lost = compare(old.path, sci.path).lost
    assert lost == tuple(dict.fromkeys((*OMITTED, *LAYOUTS["longeval-sci"].omitted)))


def test_documents_that_a_release_has_not_are_not_compared(tmp_path: Path) -> None:
    rows: dict[str, list[Row]] = {f"{JUNE}/release_ids": IDS}
    old = _version(tmp_path / "a", {"q1d1": 0}, rows=rows, imported={})
    new = _version(tmp_path / "b", {"q1d1": 0}, rows=rows, imported={})
    part = new.path / f"{JUNE}/documents/part-00000.parquet"
    part.unlink()
    assert compare(old.path, new.path).tables == ()
    part.write_text("text")
    with pytest.raises(FormatError):
        compare(old.path, new.path)
    built = _version(tmp_path / "c", {"q1d1": 0})
    (built.path / f"{JUNE}/documents/part-00000.parquet").unlink()
    other = _version(tmp_path / "d", {"q1d1": 0})
    found = compare(built.path, other.path)
    assert [(t.table, t.added) for t in found.tables] == [(f"{JUNE}/documents", 3)]


def test_releases_in_two_languages_are_not_compared(tmp_path: Path) -> None:
    french = _version(tmp_path / "a", {}, imported={}, languages=("fr", "en"))
    english = _version(tmp_path / "b", {}, languages=("en",))
    with pytest.raises(UsageError) as raised:
        compare(french.path, english.path)
    assert str(raised.value) == (
        f"expected versions with the same source language, found fr in {french.path} and en in "
        f"{english.path}; queries are matched by their source texts, so import a release in the "
        "language of the other version, or an export made with --language in that language"
    )
    built = _version(tmp_path / "c", {})
    assert compare(built.path, english.path).definition == ("collection.languages[0]: fr -> en",)
    assert compare(built.path, french.path).definition == ()


def test_queries_of_a_release_are_identified_by_their_texts(tmp_path: Path) -> None:
    rows: dict[str, list[Row]] = {
        f"{JUNE}/release_ids": [
            {"kind": "query", "id": "q1", "key": "k1", "text_key": "t1"},
            {"kind": "query", "id": "q2", "key": "k2"},
            {"kind": "document", "id": "q3", "key": "k3"},
        ]
    }
    version = _version(tmp_path, {"q1d1": 1, "q2d1": 1, "q3d1": 1}, rows=rows, imported={})
    found = [
        sorted(frame.collect()["query_id"])
        for frame in scan_queries_and_qrels(version.snapshot("2022-06"))
    ]
    assert found == [["k2", "t1"], ["k2", "t1"]]
