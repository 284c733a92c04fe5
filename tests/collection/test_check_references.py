"""Checks of references between tables on a few literal rows: ids, counts, maps and splits."""

from pathlib import Path
from typing import Any

import duckdb

from builder.collection.checks import ValidationContext
from builder.runtime.content import content_hash
from builder.runtime.limits import ResourceLimits
from tests.collection.literal import AUGUST, JULY, JUNE, Row, find, write_version

MONTHS = ("2022-06", "2022-07", "2022-08")


def _pairs(*pairs: str, **values: Any) -> list[Row]:
    """Judgements of pairs such as `q1 d1`."""
    named = [pair.split() for pair in pairs]
    return [{"query_id": query, "doc_id": document, **values} for query, document in named]


def _queries(*ids: str, **values: Any) -> list[Row]:
    return [{"query_id": query, **values} for query in ids]


def _documents(*ids: str, **values: Any) -> list[Row]:
    return [{"doc_id": document, **values} for document in ids]


def test_a_release_has_the_tables_that_it_lists(tmp_path: Path) -> None:
    ids = {"kind": "query", "id": "1", "key": "q1"}
    tables = {f"{JUNE}/release_ids": [ids], f"{JUNE}/queries": _queries("1")}
    listed = {f"{JUNE}/irregularities": {"rows": 0}, "queries_map": {"rows": 0}}
    version = write_version(
        tmp_path, tables, snapshots=("2022-06",), imported={}, tables=listed | {"a": {"rows": 0}}
    )
    context = ValidationContext(version)
    assert [(where, table.schema.__name__) for where, table in context.list_tables()] == [
        ("queries_map", "QueriesMap"),
        (f"{JUNE}/queries", "ReleasedQueries"),
        (f"{JUNE}/release_ids", "ReleaseIds"),
        (f"{JUNE}/irregularities", "Irregularities"),
    ]
    assert find("LB101", version) == [
        ("queries_map", "the table is missing (QueriesMap)", 1, ()),
        (f"{JUNE}/irregularities", "the table is missing (Irregularities)", 1, ()),
    ]


def test_rows_are_those_of_the_manifest(tmp_path: Path) -> None:
    """Hashes of change tables are those of a pair; those of another DuckDB are not compared."""
    change = {"query_id": "q1", "doc_id": "d1", "grade_from": 0, "grade_to": 1}
    pair = {"from_snapshot": "2022-06", "to_snapshot": "2022-07"}
    next_pair = {"from_snapshot": "2022-07", "to_snapshot": "2022-08"}
    tables = {
        "topics": [{"topic_id": "a"}, {"topic_id": "b"}],
        "changes/qrels": [{**change, **pair}, {**change, "grade_to": 2, **next_pair}],
        f"{JUNE}/qrels": _pairs("q1 d1"),
        f"{JULY}/qrels": _pairs("q1 d1"),
    }
    version = write_version(tmp_path / "a", tables)
    context = ValidationContext(version)
    limits = ResourceLimits(tmp_path)
    changes = context.open_table("changes/qrels")
    first = content_hash(changes, limits, ("2022-06", "2022-07"))
    topics = content_hash(context.open_table("topics"), limits)
    listed = {
        "topics": {"rows": 2, "content": topics},
        "near_leaks": {"rows": 2, "content": "0-0"},
        "changes/qrels/2022-06_2022-07": {"rows": 1, "content": first},
        "changes/qrels/2022-07_2022-08": {"rows": 1, "content": first},
        f"{JUNE}/qrels": {"rows": 1, "content": "1-0"},
        f"{JULY}/qrels": {"rows": 2, "content": ""},
        f"{AUGUST}/qrels": {"rows": 2, "content": ""},
    }
    tools = {"duckdb": duckdb.__version__}
    differ = "the rows differ from the content hash in the manifest"
    count = (f"{JULY}/qrels", "expected 2 rows according to the manifest, found 1", 1, ())
    version = write_version(tmp_path / "b", tables, tables=listed, tools=tools)
    assert find("LB105", version) == [
        ("changes/qrels/2022-07_2022-08", differ, 1, ()),
        (f"{JUNE}/qrels", differ, 1, ()),
        count,
    ]
    older = write_version(tmp_path / "c", tables, tables=listed, tools={"duckdb": "0.1"})
    assert find("LB105", older) == [count]
    listed[f"{JULY}/qrels"] = {"rows": 1, "content": ""}
    listed[f"{JUNE}/qrels"] = {"rows": 1}
    version = write_version(tmp_path / "d", tables, tables=listed, tools=tools)
    assert [where for where, *_ in find("LB105", version)] == ["changes/qrels/2022-07_2022-08"]


def test_values_that_only_a_release_may_omit(tmp_path: Path) -> None:
    counted = {"impressions": 1, "topics": ["eau"]}
    tables = {
        f"{JUNE}/queries": [
            *_queries("q1", **counted),
            *_queries("q2", topics=["eau"]),
            *_queries("q3", impressions=1),
        ],
        f"{JUNE}/qrels": [
            *_pairs("q1 d1", "q1 d2", "q1 d3", "q1 d4", source="release"),
            *_pairs("q2 d1", source="click"),
            *_pairs("q2 d2", source="manual"),
        ],
        f"{JUNE}/documents": [*_documents("d1", fetched_at=1), *_documents("d2")],
    }
    message = "rows lack values that only imported releases may omit"
    assert find("LB106", write_version(tmp_path / "a", tables)) == [
        (f"{JUNE}/queries", message, 2, ("q2", "q3")),
        (f"{JUNE}/qrels", message, 4, ("q1 d1", "q1 d2", "q1 d3")),
        (f"{JUNE}/documents", message, 1, ("d2",)),
    ]
    assert find("LB106", write_version(tmp_path / "b", tables, imported={})) == []


def test_judged_documents_that_are_missing_are_counted(tmp_path: Path) -> None:
    tables = {
        f"{JUNE}/documents": _documents("d1", "d3"),
        f"{JUNE}/qrels": _pairs("q1 d9", "q1 d1", "q2 d9", "q2 d2", "q2 d8", "q2 d7"),
        f"{JULY}/documents": _documents("d1", "d3"),
        f"{JULY}/qrels": _pairs("q1 d2", "q2 d2"),
    }
    message = "judgements refer to {} not in the snapshot"
    four = message.format("4 documents that are")
    assert find("LB111", write_version(tmp_path / "a", tables)) == [
        (f"{JUNE}/qrels", four, 5, ("d2", "d7", "d8")),
        (f"{JULY}/qrels", message.format("1 document that is"), 2, ("d2",)),
    ]
    release = write_version(tmp_path / "b", tables, imported={"documents": False})
    assert find("LB111", release) == []
    assert len(find("LB111", write_version(tmp_path / "c", tables, imported={}))) == 2


def test_judged_queries_that_are_missing_may_be_in_other_snapshots(tmp_path: Path) -> None:
    tables = {
        f"{JUNE}/queries": _queries("q1"),
        f"{JULY}/queries": _queries("q2"),
        f"{AUGUST}/queries": _queries("q1"),
        f"{JUNE}/qrels": _pairs("q1 d1", "q2 d1", "q3 d1", "q3 d2", "q4 d1", "q5 d1"),
        f"{JULY}/qrels": _pairs("q9 d1", "q2 d1"),
        f"{AUGUST}/qrels": _pairs("q2 d1", "q1 d2", "q2 d2"),
    }
    version = write_version(tmp_path, tables, snapshots=MONTHS)
    unknown = "judged queries are not in the snapshot: the query text is unknown for"
    rest = "the remaining texts occur only in other snapshots"
    elsewhere = "judged queries are not in the snapshot: their texts occur only in other snapshots"
    assert find("LB112", version) == [
        (f"{JUNE}/qrels", f"4 of 5 {unknown} 4 of the judgements; {rest}", 4, ("q2", "q3", "q4")),
        (f"{JULY}/qrels", f"1 of 2 {unknown} 1 of the judgements", 1, ("q9",)),
        (f"{AUGUST}/qrels", f"1 of 2 {elsewhere}", 1, ("q2",)),
    ]


def test_queries_without_judgements_and_with_other_counts(tmp_path: Path) -> None:
    queries = [
        *_queries("q9", "q8", "q7", "q6"),
        {"query_id": "q5", "judged": 3, "relevant": 2},
        {"query_id": "q4", "judged": 2, "relevant": 2},
        {"query_id": "q3", "judged": 3, "relevant": 1},
        {"query_id": "q2", "judged": 2, "relevant": 1},
        {"query_id": "q1", "judged": 1, "relevant": 1},
    ]
    qrels = [
        {"query_id": f"q{query}", "doc_id": f"d{grade}", "grade": grade}
        for query in (1, 2, 3, 4, 5)
        for grade in (0, 1, 2)
    ]
    version = write_version(tmp_path, {f"{JUNE}/queries": queries, f"{JUNE}/qrels": qrels})
    where = f"{JUNE}/queries"
    assert find("LB113", version) == [(where, "queries have no judgements", 4, ("q6", "q7", "q8"))]
    message = "the numbers of judgements recorded for queries differ from the qrels"
    assert find("LB115", version) == [(where, message, 4, ("q1", "q2", "q3"))]


def test_maps_list_the_snapshots_of_each_id(tmp_path: Path) -> None:
    tables: dict[str, list[Row]] = {
        f"{JUNE}/queries": _queries("q1", "q2", "q4"),
        f"{JULY}/queries": _queries("q1", "q3", "q5"),
        "queries_map": [
            {"query_id": "q1", "snapshots": ["2022-06", "2022-07"]},
            {"query_id": "q2", "snapshots": ["2022-06", "2022-07"]},
            {"query_id": "q3", "snapshots": ["2022-06"]},
            {"query_id": "q4", "snapshots": ["2022-06"]},
            {"query_id": "q6", "snapshots": ["2022-06"]},
        ],
        "documents_map": [],
        f"{JUNE}/documents": _documents("d1"),
    }
    message = "the id map and the snapshots contain different queries"
    version = write_version(tmp_path / "a", tables)
    assert find("LB117", version) == [("queries_map", message, 4, ("q2", "q3", "q5"))]
    tables.pop("queries_map")
    assert find("LB117", write_version(tmp_path / "b", tables)) == []


def test_maps_of_a_release_list_keys(tmp_path: Path) -> None:
    june = [
        {"kind": "document", "id": "1", "key": "da"},
        {"kind": "document", "id": "2", "key": "db"},
        {"kind": "query", "id": "1", "key": "qa"},
    ]
    july = [{"kind": "document", "id": "7", "key": "da"}]
    tables = {
        f"{JUNE}/documents": _documents("1", "2"),
        f"{JULY}/documents": _documents("7"),
        f"{JUNE}/release_ids": june,
        f"{JULY}/release_ids": july,
        "documents_map": [
            {"doc_id": "da", "snapshots": ["2022-06", "2022-07"]},
            {"doc_id": "db", "snapshots": ["2022-06"]},
        ],
    }
    assert find("LB117", write_version(tmp_path, tables, imported={})) == []


def test_intervals_end_before_the_next_one_starts(tmp_path: Path) -> None:
    version = write_version(tmp_path, {}, snapshots=MONTHS)
    june, july, _ = version.manifest["definition"]["snapshots"]
    assert find("LB118", version) == []
    july.update(start="2022-06-30", end="2022-08-02")
    overlaps = "the snapshot overlaps {}: it starts on {}, but {} ends on {}"
    first = overlaps.format("2022-06", "2022-06-30", "2022-06", "2022-07-01")
    second = overlaps.format("2022-07", "2022-08-01", "2022-07", "2022-08-02")
    assert find("LB118", version) == [(JULY, first, 1, ()), (AUGUST, second, 1, ())]
    june.update(end="2022-06-01")
    july.update(start="in July")
    expected = "expected ISO 8601 times whose start is before the end, found"
    assert find("LB118", version) == [
        (JUNE, f"{expected} 2022-06-01 to 2022-06-01", 1, ()),
        (JULY, f"{expected} in July to 2022-08-02", 1, ()),
    ]


def test_test_queries_and_their_variants_are_not_trained(tmp_path: Path) -> None:
    june = [
        *_queries("q1", split="train", variant_set="v1"),
        *_queries("q2", split="heldout", variant_set="v1"),
        *_queries("q3", split="heldout"),
        *_queries("q5", split="train"),
        *_queries("v9", split="train"),
    ]
    july = [
        *_queries("q1", split="seen", variant_set="v1"),
        *_queries("q4", split="test", variant_set="v1"),
        *_queries("q5", split="test"),
        *_queries("q6", split="test", variant_set="v9"),
        *_queries("q7", split="test", variant_set="v1"),
    ]
    tables = {f"{JUNE}/queries": june, f"{JULY}/queries": july}
    message = "queries or their variants are in both train and test splits"
    leaks = ("queries_map", message, 4, ("q2", "q4", "q5"))
    assert find("LB114", write_version(tmp_path / "a", tables)) == [leaks]
    assert find("LB114", write_version(tmp_path / "b", tables, imported={})) == []
    assert find("LB114", write_version(tmp_path / "c", {})) == []


def test_splits_fit_their_snapshot(tmp_path: Path) -> None:
    june = [{"query_id": f"q{9 - n}", "split": split} for n, split in enumerate(["seen"] * 4)]
    july = [{"query_id": "q1", "split": "train"}, {"query_id": "q2", "split": "test"}]
    tables = {f"{JUNE}/queries": june, f"{JULY}/queries": july}
    version = write_version(tmp_path, tables)
    first = (
        f"{JUNE}/queries",
        "expected the splits train and heldout, found seen",
        4,
        ("q6", "q7", "q8"),
    )
    message = "expected the splits {}, found {}"
    assert find("LB114", version) == [
        first,
        (f"{JULY}/queries", message.format("seen and test", "train"), 1, ("q1",)),
    ]
    version.manifest["definition"]["collection"]["train"] = ["2022-06", "2022-07"]
    assert find("LB114", version) == [
        first,
        (f"{JULY}/queries", message.format("train and heldout", "test"), 1, ("q2",)),
    ]


def test_query_ids_of_one_text_may_contradict_each_other(tmp_path: Path) -> None:
    ids = [
        {"kind": "query", "id": f"{n}", "key": f"q{n}", "text_key": text}
        for n, text in enumerate(["qb", "qa", "qb", "qa", "qc"])
    ]
    documents = [{"kind": "document", "id": f"{n}", "key": f"d{n}"} for n in range(2)]
    qrels = [
        *_pairs("0 d1", "0 d2", "1 d1", "1 d2", grade=0),
        *_pairs("2 d2", "3 d1", "4 d1", grade=0),
        *_pairs("2 d1", "3 d2", grade=1),
    ]
    tables: dict[str, list[Row]] = {f"{JUNE}/release_ids": ids + documents, f"{JUNE}/qrels": qrels}
    tables |= {f"{JULY}/release_ids": ids[3:], f"{JULY}/qrels": _pairs("3 d1", "4 d1")}
    same = "query ids have the same normalized text as another id"
    contradict = "judgements contradict the judgements of another query id with the same text"
    assert find("LB202", write_version(tmp_path, tables, imported={})) == [
        (f"{JUNE}/queries", same, 4, ("1", "3", "0")),
        (f"{JUNE}/qrels", contradict, 4, ("1 d2", "3 d2", "0 d1")),
    ]
