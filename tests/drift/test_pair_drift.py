"""The stage of one pair of snapshots, and the inputs that a release lacks."""

import json
from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl

from builder.definition.model import Workflow
from builder.drift.checks import NEIGHBORS_CHECK, PAIR_CHECKS, check_intermediate_crawls
from builder.drift.checks import create_outcome_record as record
from builder.drift.checks.outcome import Outcome
from builder.drift.measure import measure_drift
from builder.drift.pair_drift import (
    _recorded_parameters,
    create_optional_views,
    measure_pair,
    read_pair_drift,
)
from builder.drift.series import OptionalInputs, SnapshotSeries
from builder.drift.words import count_lost_words, count_snapshot_words
from builder.io.tables import Table, write_frame
from builder.parameters import DocumentParameters, StageParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.runtime.scope import Scope
from schemas import (
    ClickDiagnostics,
    Coverage,
    DocumentChanges,
    Documents,
    DocumentsMap,
    LostWords,
    Pages,
    PairDrift,
    QrelChanges,
    Qrels,
    Queries,
    QueryChanges,
    ShownDocuments,
    TableSchema,
    WordCounts,
)
from tests.drift.worlds import frame, query


def empty(folder: Path, contract: type[TableSchema]) -> Table:
    """A table without rows."""
    path = folder / f"{contract.__name__}.parquet"
    write_frame(frame([], contract), path, contract)
    return Table((path,), contract)


def test_a_pair_is_measured_in_four_parts(tmp_path: Path) -> None:
    """Of the optional tables, one is given and one has no file."""
    (tmp_path / "scratch").mkdir()
    row = query("eau", "t", impressions=7)
    change = {"query_id": row["query_id"], "status": "new", "impressions_to": 7}
    change |= {"from_snapshot": "2022-06", "to_snapshot": "2022-07"}
    path = tmp_path / "changes.parquet"
    write_frame(frame([change], QueryChanges), path, QueryChanges)
    ledger = measure_pair(
        tmp_path,
        documents_from=empty(tmp_path, Documents),
        documents_to=empty(tmp_path, Documents),
        queries_from=empty(tmp_path, Queries),
        queries_to=empty(tmp_path, Queries),
        qrels_from=empty(tmp_path, Qrels),
        qrels_to=empty(tmp_path, Qrels),
        document_changes=empty(tmp_path, DocumentChanges),
        query_changes=Table((path,), QueryChanges),
        qrel_changes=empty(tmp_path, QrelChanges),
        from_snapshot="2022-06",
        to_snapshot="2022-07",
        limits=ResourceLimits(tmp_path / "scratch", 1, 2**28),
        progress=NoProgress(),
        coverage_from=empty(tmp_path, Coverage),
        click_diagnostics_to=Table((), ClickDiagnostics),
        recorded={"2022-06": {"a.b": 1}, "2022-07": {"a.b": 2}},
    )
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("tables", 11, 11)
    rows = pl.read_parquet(tmp_path / "pair_drift.parquet")
    assert rows["part"].to_list() == ["checks", "documents", "qrels", "queries"]
    assert set(rows.select("from_snapshot", "to_snapshot").rows()) == {("2022-06", "2022-07")}
    found = read_pair_drift(Table((tmp_path / "pair_drift.parquet",), PairDrift))
    assert (found["queries"]["new"], found["queries"]["impressions_to"]) == (1, 7)
    assert (found["documents"]["updated"], found["qrels"]["pairs_common"]) == (0, 0)
    assert [check["check"] for check in found["checks"]] == [check.name for check in PAIR_CHECKS]
    assert {tuple(check["snapshots"]) for check in found["checks"]} == {("2022-06", "2022-07")}
    decided = [check for check in found["checks"] if check["verdict"] != "cannot tell"]
    assert [(check["check"], check["evidence"]) for check in decided] == [
        ("parameters_agree", "recorded parameters differ: a.b 1 -> 2")
    ]
    (text,) = rows.filter(part="queries")["content"]
    assert text == json.dumps(found["queries"], sort_keys=True)


def test_tables_that_are_missing_or_have_no_file_are_empty_views(tmp_path: Path) -> None:
    path = tmp_path / "coverage.parquet"
    row = {"scope": "kept_queries", "shown": 3, "in_crawl": 2}
    counts = row | {"impressions": 3, "impressions_in_crawl": 2}
    write_frame(frame([counts], Coverage), path, Coverage)
    connection = duckdb.connect()
    tables = {"coverage_to": Table((path,), Coverage), "coverage_from": Table((), Coverage)}
    create_optional_views(connection, tables | {"click_estimates_from": None})
    names = ("coverage", "host_coverage", "click_estimates", "click_diagnostics")
    rows = {
        f"{name}_{side}": len(connection.execute(f"FROM {name}_{side}").fetchall())
        for name in names
        for side in ("from", "to")
    }
    assert {name for name, count in rows.items() if count} == {"coverage_to"}
    assert len(rows) == 8


class Sections:
    """A workflow whose second snapshot has another section `[documents]`."""

    def section(self, section: str, name: str) -> Any:
        if (section, name) == ("documents", "2022-07"):
            return DocumentParameters(sample_share=0.5)
        return getattr(StageParameters(), section)


def test_parameters_of_both_snapshots_are_recorded_by_section_and_key() -> None:
    found = _recorded_parameters(cast("Workflow", Sections()), "2022-06_2022-07")
    assert list(found) == ["2022-06", "2022-07"]
    assert {key.partition(".")[0] for key in found["2022-06"]} == {*StageParameters.model_fields}
    assert found["2022-07"]["documents.sample_share"] == 0.5
    differ = [key for key, value in found["2022-06"].items() if found["2022-07"][key] != value]
    assert differ == ["documents.sample_share"]


def test_optional_inputs_of_a_pair() -> None:
    june, july = Table((Path("june"),), Pages), Table((Path("july"),), Pages)
    shown = {name: Table((Path(name),), ShownDocuments) for name in ("2022-06", "2022-07")}
    coverage = Table((Path("coverage"),), Coverage)
    sampling = DocumentParameters()
    inputs = OptionalInputs(
        pages={"2022-06": june, "2022-07": july},
        tables={"coverage": {"2022-07": coverage}},
        sampling=sampling,
        recorded={"2022-06": {"a.b": 1}},
        shown=shown,
    )
    assert inputs.alignment_arguments(("2022-06", "2022-07")) == {
        "pages_from": june,
        "pages_to": july,
        "shown_documents_to": shown["2022-07"],
        "sampling": sampling,
    }
    found = inputs.drift_arguments(("2022-06", "2022-07"))
    assert {name for name, value in found.items() if value} == {"coverage_to", "recorded"}
    assert found["coverage_to"] == coverage
    assert len(found) == 9
    nothing = OptionalInputs().alignment_arguments(("2022-06", "2022-07"))
    assert set(nothing.values()) == {None}


def test_tables_of_a_series_are_counted() -> None:
    """Documents, queries, qrels and words of three snapshots, two tables of two pairs, two maps."""
    table = Table((), Documents)
    names = ("2022-06", "2022-07", "2022-08")
    pairs = {(names[0], names[1]): table, (names[1], names[2]): table}
    each = dict.fromkeys(names, table)
    series = SnapshotSeries(each, each, each, each, pairs, pairs, table, table)
    assert (series.names, series.table_count) == (names, 18)


def test_records_of_outcomes() -> None:
    assert [
        record("one", "Is it?", Outcome(found, "so", {"n": 1}, "more"), ("a", "b"))
        for found in (True, False, None)
    ] == [
        {
            "check": "one",
            "asks": "Is it?",
            "snapshots": ["a", "b"],
            "verdict": verdict,
            "evidence": "so",
            "numbers": {"n": 1},
            "sees": "more",
        }
        for verdict in ("construction", "clear", "cannot tell")
    ]
    connection = duckdb.connect()
    connection.register("documents_map", frame([], DocumentsMap).to_arrow())
    assert check_intermediate_crawls(connection, ("a", "b", "c")) == [
        {
            "check": NEIGHBORS_CHECK,
            "asks": "Does the crawl contain the pages that both neighboring crawls contain?",
            "snapshots": ["b"],
            "verdict": "cannot tell",
            "evidence": "the contents of the crawls are not recorded",
            "numbers": {},
            "sees": "",
        }
    ]


def test_stages_of_drift_run_per_snapshot_per_pair_and_once() -> None:
    stages = (count_snapshot_words, count_lost_words, measure_pair, measure_drift)
    assert [(stage.name, stage.scope, stage.schemas) for stage in stages] == [
        ("words", Scope.SNAPSHOT, (WordCounts,)),
        ("lost_words", Scope.PAIR, (LostWords,)),
        ("pair_drift", Scope.PAIR, (PairDrift,)),
        ("drift", Scope.COLLECTION, ()),
    ]
