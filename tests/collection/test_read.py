"""What opening a collection costs, and what is said where its documents are gone."""

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.collection import read
from builder.collection.read import Snapshot
from builder.collection.summary import SnapshotSummary, summarize_snapshots
from builder.errors import DataError, FormatError, UsageError
from tests.collection.literal import Row, write_version

JUNE, JULY = "snapshots/2022-06", "snapshots/2022-07"


def test_the_manifest_is_parsed_once(built: BuildReport, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    parse = read.read_manifest

    def counted(path: Path) -> dict[str, object]:
        calls["read"] += 1
        return parse(path)

    monkeypatch.setattr(read, "read_manifest", counted)
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        snapshot = collection.snapshot(name)
        for _ in range(3):
            assert snapshot.documents.head(1).collect().height == 1
    assert calls["read"] == 1


def test_documents_that_are_gone_are_missed(built: BuildReport, tmp_path: Path) -> None:
    assert built.version is not None
    shutil.copytree(built.version, tmp_path / "0.1.0")
    collection = builder.open_collection(tmp_path)
    name = collection.snapshots[0]
    shutil.rmtree(tmp_path / "0.1.0/snapshots" / name / "documents")
    with pytest.raises(FormatError, match="documents according to the manifest, found none"):
        _ = collection.snapshot(name).documents


def test_a_snapshot_without_documents_has_an_empty_table(tmp_path: Path) -> None:
    assert Snapshot(tmp_path, "2022-06").documents.collect().rows() == []
    with pytest.raises(FormatError, match="expected 3 documents according to the manifest, found"):
        Snapshot(tmp_path, "2022-06", 3).document_files()


def test_rejects_of_a_version_are_those_of_its_stages(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        rejects = collection.snapshot(name).rejects.group_by("stage").agg(pl.col("rows").sum())
        counted = {
            result.step.stage.name: sum(result.ledger.rejected.values())
            for result in built.results
            if result.step.key == name and result.ledger is not None
        }
        assert dict(rejects.collect().rows()) == {k: n for k, n in counted.items() if n}


def test_texts_of_all_snapshots_are_aligned_by_stable_ids(tmp_path: Path) -> None:
    def documents(**texts: str) -> list[Row]:
        return [{"doc_id": k, "text": text, "text_en": f"E {text}"} for k, text in texts.items()]

    def keys(kind: str, **names: str) -> list[Row]:
        return [{"kind": kind, "id": name, "key": key} for name, key in names.items()]

    tables: dict[str, list[Row]] = {
        f"{JULY}/documents": documents(d2="b", d1="a"),
        f"{JUNE}/documents": documents(d1="c", d3="d"),
        f"{JUNE}/queries": [{"query_id": "1", "text": "eau"}, {"query_id": "2", "text": "sel"}],
        f"{JULY}/queries": [{"query_id": "9", "text": "pain"}],
    }
    version = write_version(tmp_path / "a", tables, languages=("fr", "en"))
    rows = [("d1", "2022-06", "c"), ("d1", "2022-07", "a"), ("d2", "2022-07", "b")]
    rows.append(("d3", "2022-06", "d"))
    found = version.aligned_texts("documents").collect()
    assert (found.columns, found.rows()) == (["doc_id", "snapshot", "text"], rows)
    english = version.aligned_texts("documents", language="en").collect()
    assert english.rows() == [(name, month, f"E {text}") for name, month, text in rows]
    tables[f"{JUNE}/release_ids"] = keys("query", **{"1": "qb", "2": "qa"}) + keys(
        "document", **{"1": "dx", "2": "dy"}
    )
    tables[f"{JULY}/release_ids"] = keys("query", **{"9": "qb"})
    release = write_version(tmp_path / "b", tables, imported={})
    assert release.aligned_texts("queries").collect().rows() == [
        ("qa", "2022-06", "sel"),
        ("qb", "2022-06", "eau"),
        ("qb", "2022-07", "pain"),
    ]
    with pytest.raises(UsageError) as raised:
        release.aligned_texts("qrels")
    assert str(raised.value) == "kind: expected 'documents' or 'queries', found 'qrels'"


def test_names_that_a_collection_has_not_are_refused(tmp_path: Path) -> None:
    version = write_version(tmp_path, {}, languages=("fr", "en"))
    assert version.resolve_language() == ("fr", "")
    assert version.resolve_language("en") == ("en", "_en")
    with pytest.raises(UsageError) as raised:
        version.resolve_language("de")
    assert str(raised.value) == (f"{tmp_path}: no texts in 'de'; available languages: fr and en")
    with pytest.raises(UsageError) as raised:
        version.snapshot("2022-08")
    assert str(raised.value) == (
        f"{tmp_path}: unknown snapshot '2022-08'; available snapshots: 2022-06, 2022-07"
    )
    with pytest.raises(UsageError) as raised:
        version.table("documents")
    assert str(raised.value) == (
        "unknown collection table 'documents'; available tables: topics, documents_map, "
        "queries_map, near_leaks, document_changes, query_changes, qrel_changes"
    )
    del version.manifest["definition"]["collection"]
    assert write_version(tmp_path, {}, languages=()).languages == {"fr": ""}
    with pytest.raises(DataError, match="expected one or two distinct languages"):
        assert write_version(tmp_path, {}, languages=("fr", "en", "de")).languages


def test_rows_are_counted_as_the_manifest_says(tmp_path: Path) -> None:
    counts = {f"{JUNE}/documents": 1000, f"{JUNE}/queries": 2, f"{JUNE}/qrels": 3}
    tables = {path: {"rows": rows} for path, rows in counts.items()}
    version = write_version(tmp_path, {}, tables=tables)
    assert (version.name, version.version, version.signature) == ("tiny", "0.1.0", "tiny 0.1.0")
    assert version.row_counts() == [("2022-06", 1000, 2, 3), ("2022-07", 0, 0, 0)]
    page = version._repr_html_()
    cells = "<td>2022-06</td><td>1,000</td><td>2</td><td>3</td>"
    assert cells in page.replace("\n", "")
    assert version.snapshot("2022-06").document_count == 1000
    assert version.snapshot("2022-07").document_count == 0


def test_a_snapshot_is_shown_with_its_tables(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "doc_id": "d1"}, {"query_id": "q1", "doc_id": "d2"}]
    names = ("click_estimates", "rejects", "queries")
    tables: dict[str, list[Row]] = {f"{JUNE}/{name}": [] for name in names}
    snapshot = write_version(tmp_path, {f"{JUNE}/qrels": rows, **tables}).snapshot("2022-06")
    page = snapshot._repr_html_().replace("\n", "")
    assert "<td>documents</td><td>0</td><td>doc_id, url, url_key, " in page
    assert "<td>qrels</td><td>2</td><td>query_id, doc_id, grade, " in page
    assert page.count("<tr>") == 4
    columns = [frame.collect_schema().names()[0] for frame in (snapshot.click_estimates,)]
    assert (columns, snapshot.rejects.collect_schema().names()[0]) == (["query"], "stage")


def test_core_queries_occur_in_all_snapshots(tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "core": True}, {"query_id": "q2", "core": False}]
    version = write_version(tmp_path, {"queries_map": rows})
    assert version.core_queries().collect()["query_id"].to_list() == ["q1"]
    assert version.table("queries_map").collect().height == 2


def test_a_snapshot_is_summarized_with_its_changes(tmp_path: Path) -> None:
    statuses = {
        "added": 1,
        "returned": 2,
        "updated": 3,
        "unchanged": 4,
        "removed": 5,
        "not_sampled": 6,
        "not_shown": 7,
        "left_out": 8,
    }
    changes = [
        {"doc_id": f"d{n}", "status": status, "from_snapshot": "2022-06", "to_snapshot": "2022-07"}
        for status, count in statuses.items()
        for n in range(count)
    ]
    changes.append({"doc_id": "d1", "status": "added", "to_snapshot": "2022-06"})
    judged = [{"query_id": f"q{n}", "grade": grade} for n, grade in enumerate([0, 2, 2, 0, 2])]
    tables: dict[str, list[Row]] = {
        "changes/documents": changes,
        f"{JUNE}/qrels": judged,
        f"{JULY}/qrels": judged[:1],
    }
    rows = {f"{month}/documents": {"rows": 10} for month in (JUNE, JULY)}
    rows |= {f"{month}/queries": {"rows": 4} for month in (JUNE, JULY)}
    version = write_version(tmp_path, tables, tables=rows)
    assert summarize_snapshots(version) == [
        SnapshotSummary("2022-06", 10, 4, (2, 0, 3)),
        SnapshotSummary("2022-07", 10, 4, (1, 0, 0), added=3, removed=5, not_kept=21, updated=3),
    ]
