"""What a build checks before it publishes, and which files a version has, with literal stages."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.collection.guards import (
    check_definition_unchanged,
    check_stages_unchanged,
    check_tables_not_empty,
    check_topics_unchanged,
)
from builder.collection.manifest import resolve_definition
from builder.collection.publish import is_published_and_current, publish_version
from builder.collection.read import Collection
from builder.definition.model import Definition
from builder.errors import DataError, DefinitionError
from builder.runtime.publisher import canonical_json, describe_files, write_manifest
from builder.runtime.scope import Scope
from builder.runtime.stage import SCHEMAS
from builder.runtime.store import Store
from schemas import Topics
from tests.collection.literal import Row, write_rows

SHA256_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
WORKFLOW = """
[collection]
name = "tiny"
version = "{version}"
topics = "topics.tsv"
licence = "CC0-1.0"
[[snapshots]]
name = "2022-06"
start = 2022-06-01
end = 2022-07-01
log = ["a.log"]
crawl = ["a.crawl"]
[[snapshots]]
name = "2022-07"
start = 2022-07-01
end = 2022-08-01T12:00:00Z
log = ["a.log"]
crawl = ["a.crawl"]
judgements = ["b.tsv"]
"""
LEDGER = {"unit": "rows", "rows_in": 9, "rows_out": 9, "rejected": {}, "notes": []}
MONTHS = ("2022-06", "2022-07")


def _define(folder: Path, version: str = "1.0.0", more: str = "") -> tuple[Definition, Store]:
    for name in ("a.log", "a.crawl", "b.tsv"):
        (folder / name).write_text("a")
    (folder / "topics.tsv").write_text("label\ttopic_id\neau\teau\npain\tpain\n")
    (folder / "workflow.toml").write_text(WORKFLOW.format(version=version) + more)
    return Definition.load(folder / "workflow.toml"), Store(folder / "out")


def _stage(name: str, *tables: str, scope: Scope = Scope.SNAPSHOT, version: str = "1") -> Any:
    return SimpleNamespace(name=name, version=version, scope=scope, output_tables=tables)


def _record(
    store: Store,
    stage: str,
    key: str,
    tables: Mapping[str, list[Row]] | None = None,
    files: Mapping[str, str] | None = None,
    **entries: Any,
) -> None:
    """The outputs of a step: tables, other files, and its record."""
    home = store.work / stage / key / "x"
    home.mkdir(parents=True)
    for name, rows in (tables or {}).items():
        suffix = "/part-00000.parquet" if name == "documents" else ".parquet"
        write_rows(home / f"{name}{suffix}", SCHEMAS[name], rows)
    for name, text in (files or {}).items():
        (home / name).write_text(text)
    record = {
        "id": "x",
        "files": describe_files(home),
        "content": {name: f"{len(rows)}-{stage}" for name, rows in (tables or {}).items()},
        "ledger": LEDGER,
        "identity": {"version": "1", "parameters": {"p": 1}, "inputs": {"i": "2"}},
        **entries,
    }
    store.save_record(stage, key, record)


def _publish(store: Store, folder_name: str, /, **manifest: Any) -> Path:
    folder = store.root / folder_name
    folder.mkdir(parents=True)
    write_manifest(folder, manifest)
    return folder


def test_a_definition_is_resolved_with_the_hashes_of_its_files(tmp_path: Path) -> None:
    more = '[snapshots.overrides.log]\nformat = "csv"\n'
    found = resolve_definition(*_define(tmp_path, more=more))
    assert found["snapshots"] == [
        {
            "name": "2022-06",
            "start": "2022-06-01",
            "end": "2022-07-01",
            "log": {"a.log": SHA256_OF_A},
            "crawl": {"a.crawl": SHA256_OF_A},
            "judgements": {},
        },
        {
            "name": "2022-07",
            "start": "2022-07-01",
            "end": "2022-08-01T12:00:00+00:00",
            "log": {"a.log": SHA256_OF_A},
            "crawl": {"a.crawl": SHA256_OF_A},
            "judgements": {"b.tsv": SHA256_OF_A},
            "overrides": {"log": {"format": "csv"}},
        },
    ]
    assert list(found["topics"]) == ["topics.tsv"]
    assert found["collection"]["languages"] == ["fr"]
    assert found["parameters"]["select"]["min_users"] == 5
    assert not {"collection", "snapshots"} & found["parameters"].keys()


def test_the_definition_of_a_release_may_not_change(tmp_path: Path) -> None:
    definition, store = _define(tmp_path)
    check_definition_unchanged(definition, store)
    recorded = json.loads(canonical_json(resolve_definition(definition, store)))
    _publish(store, "1.0.0", definition=recorded)
    check_definition_unchanged(definition, store)
    changed, _ = _define(tmp_path, more="[select]\nmin_users = 6\n[qrels]\nmin_judged = 2\n")
    with pytest.raises(DefinitionError) as raised:
        check_definition_unchanged(changed, store)
    assert str(raised.value) == (
        f"{tmp_path}/workflow.toml: collection.version: version 1.0.0 is already published and "
        "cannot be changed (parameters.qrels.min_judged: 3 -> 2; parameters.select.min_users: 5 "
        "-> 6); set a new version in the definition"
    )
    draft, _ = _define(tmp_path, "0.1.0")
    _publish(store, "0.1.0", definition={})
    check_definition_unchanged(draft, store)


def _steps(*, select: str = "1", drift: str = "1", **more: str) -> dict[str, Any]:
    versions = {f"select {name}": select for name in MONTHS}
    versions |= {"changes 2022-06_2022-07": "1", "drift all": drift, **more}
    return {step: {"version": version} for step, version in versions.items()}


STAGES = (
    _stage("select", "queries", "candidates"),
    _stage("changes", "qrel_changes", scope=Scope.PAIR),
    _stage("drift", "topics", scope=Scope.COLLECTION),
)
CONTRACTS = {
    path: {"rows": 1, "contract": SCHEMAS[name].signature()}
    for path, name in (
        ("snapshots/2022-06/queries", "queries"),
        ("snapshots/2022-07/queries", "queries"),
        ("changes/qrels/2022-06_2022-07", "qrel_changes"),
        ("topics", "topics"),
    )
}


@pytest.mark.parametrize(
    ("steps", "tables", "reasons"),
    [
        (_steps(), CONTRACTS, None),
        (_steps(select="2"), CONTRACTS, "stage select"),
        (_steps(select="2", drift="2"), CONTRACTS, "stage drift, stage select"),
        (_steps(**{"old all": "1"}), CONTRACTS, "stage old"),
        (_steps(), {**CONTRACTS, "topics": {"contract": "Topics/0()"}}, "table topics"),
        (
            _steps(drift="2"),
            {},
            "stage drift, " + ", ".join(f"table {path}" for path in list(CONTRACTS)[:3]),
        ),
    ],
)
def test_stages_and_schemas_of_a_release_may_not_change(
    steps: dict[str, Any], tables: dict[str, Any], reasons: str | None, tmp_path: Path
) -> None:
    definition, store = _define(tmp_path)
    check_stages_unchanged(definition, store, STAGES)
    _publish(store, "1.0.0", units=steps, tables=tables)
    if reasons is None:
        check_stages_unchanged(definition, store, STAGES)
    else:
        with pytest.raises(DefinitionError) as raised:
            check_stages_unchanged(definition, store, STAGES)
        assert str(raised.value) == (
            f"{tmp_path}/workflow.toml: collection.version: version 1.0.0 was published by another "
            f"version of longeval-builder, whose output differs ({reasons}); set a new version in "
            "the definition"
        )
    draft, _ = _define(tmp_path, "0.1.0")
    _publish(store, "0.1.0", units={}, tables={})
    check_stages_unchanged(draft, store, STAGES)


def _with_topics(store: Store, version: str, *topics: str, **entries: Any) -> Path:
    manifest = {
        "name": "tiny",
        "version": version,
        "signature": "",
        "definition": {"snapshots": [], "parameters": {}},
        "tables": {},
        "units": {},
        "tools": {},
        **entries,
    }
    folder = _publish(store, version, **manifest)
    rows = [{"topic_id": topic, "label": topic, "language": "fr"} for topic in topics]
    write_rows(folder / "topics.parquet", Topics, rows)
    return folder


def test_topics_are_those_of_all_other_releases(tmp_path: Path) -> None:
    definition, store = _define(tmp_path, "1.1.0")
    assert check_topics_unchanged(definition, store) == ()
    _with_topics(store, "0.9.0", "sel")
    _with_topics(store, "1.1.0", "sel")
    _with_topics(store, "1.0.0", "eau", "pain")
    _with_topics(store, "2.0.0", "sel", kind="classification")
    imported = {"snapshots": [], "parameters": {}, "imported": {"layout": "longeval-web"}}
    _with_topics(store, "3.0.0", "sel", definition=imported)
    assert check_topics_unchanged(definition, store) == ()
    shutil.rmtree(store.root / "1.1.0")
    _with_topics(store, "0.9.1", "vin")
    draft, _ = _define(tmp_path, "0.9.0")
    assert check_topics_unchanged(draft, store) == (
        "topics added: eau, pain",
        "topics removed: sel",
    )
    (store.root / "0.9.0/topics.parquet").unlink()
    assert check_topics_unchanged(draft, store) == ()
    _with_topics(store, "1.2.0", "sel")
    with pytest.raises(DataError, match=r"^expected the topics of the published collection, found"):
        check_topics_unchanged(definition, store)
    (store.root / "1.2.0/topics.parquet").unlink()
    with pytest.raises(DataError) as raised:
        check_topics_unchanged(definition, store)
    assert str(raised.value).endswith(
        ". The topics must be the same in all releases in a folder: restore release 1.2.0, or "
        "build in another folder with --out"
    )


def test_snapshots_without_rows_are_not_published(tmp_path: Path) -> None:
    """Topics may be missing, and a log may be allowed to be empty."""
    definition, store = _define(tmp_path)
    stages = (_stage("out", "queries", "qrels", "topics"), _stage("crawl", "documents"))
    content = {"queries": "3-a", "qrels": "0-a", "topics": "0-a"}
    for name, rejected in (("2022-06", {"bad_time": 9}), ("2022-07", {"bad_url": 1})):
        _record(store, "out", name, content=content)
        _record(store, "crawl", name, content={"documents": "10-a"})
        _record(store, "log", name, ledger={**LEDGER, "rejected": rejected})
    check_tables_not_empty(definition, store, stages[1:])
    check_tables_not_empty(definition, store, (_stage("out", "queries"),))
    advice = (
        "log 2022-06: 9 of 9 records were rejected as bad_time: if times have a different format, "
        "set log.time_format or log.time_unit. Check the rejects of the stages, or pass "
        "--allow-empty to publish empty tables"
    )
    with pytest.raises(DataError) as raised:
        check_tables_not_empty(definition, store, stages)
    empty = "2022-06 has no judgements; 2022-07 has no judgements"
    assert str(raised.value) == f"nothing was published: {empty}. {advice}"
    allowed, _ = _define(tmp_path, more='[log]\nempty = "allow"\n')
    check_tables_not_empty(allowed, store, stages)


QUERY: Row = {"query_id": "q1", "text": "eau", "topics": ["eau"], "split": "train"}
ADDED = {"query_id": "q1", "from_snapshot": "2022-06", "to_snapshot": "2022-07", "status": "kept"}
REJECT = {"stage": "select", "reason": "no_topic", "rows": 2}


def _outputs(store: Store) -> tuple[Any, ...]:
    """Stages of all scopes, and their outputs."""
    for name in MONTHS:
        rows = [QUERY] if name == "2022-06" else [QUERY, {**QUERY, "query_id": "q2"}]
        rejected = {"no_topic": 2} if name == "2022-06" else {}
        ledger = {**LEDGER, "rejected": rejected}
        tables: dict[str, list[Row]] = {"queries": rows, "candidates": []}
        tables |= {"rejects": [REJECT]} if rejected else {}
        _record(store, "select", name, tables, {"notes.txt": name}, ledger=ledger)
        tables = {kind: [] for kind in ("qrels", "click_diagnostics", "translations")}
        _record(store, "rest", name, {**tables, "documents": [{"doc_id": f"d{name}"}]})
    _record(store, "changes", "2022-06_2022-07", {"query_changes": [ADDED]})
    topics = {"topics": [{"topic_id": "eau"}]}
    _record(store, "maps", "all", topics, {"drift.json": "{}", "report.html": "<p>"})
    return (
        _stage("select", "queries", "candidates"),
        _stage("rest", "qrels", "documents", "click_diagnostics", "translations"),
        _stage("changes", "query_changes", scope=Scope.PAIR),
        _stage("maps", "topics", scope=Scope.COLLECTION),
    )


def test_a_version_has_the_published_outputs_of_all_stages(tmp_path: Path) -> None:
    definition, store = _define(tmp_path)
    stages = _outputs(store)
    assert not is_published_and_current(definition, store, stages)
    version = publish_version(definition, store, stages)
    assert version == tmp_path / "out/1.0.0"
    names = {p.relative_to(version).as_posix() for p in version.rglob("*") if p.is_file()}
    tables = ("queries", "qrels", "click_diagnostics", "translations", "rejects")
    whole = {"manifest.json", "SHA256SUMS", "README.md", "croissant.json", "topics.parquet"}
    whole |= {"changes/queries.parquet", "drift.json", "report.html"}
    assert names == whole | {
        name
        for month in MONTHS
        for name in (
            f"select/{month}/notes.txt",
            f"snapshots/{month}/documents/part-00000.parquet",
            *(f"snapshots/{month}/{table}.parquet" for table in tables),
        )
    }
    collection = Collection(version)
    found = collection.snapshot("2022-06").rejects.select("stage", "reason", "rows").collect()
    assert found.rows() == [("select", "no_topic", 2)]
    assert collection.snapshot("2022-07").rejects.collect().rows() == []
    changes = pl.read_parquet(version / "changes/queries.parquet")
    assert changes["status"].to_list() == ["kept"]
    manifest = collection.manifest
    assert {path: (e["rows"], e["content"]) for path, e in manifest["tables"].items()} == {
        "snapshots/2022-06/queries": (1, "1-select"),
        "snapshots/2022-07/queries": (2, "2-select"),
        **{
            f"snapshots/{month}/{table}": (rows, f"{rows}-rest")
            for month in MONTHS
            for table, rows in (
                ("qrels", 0),
                ("documents", 1),
                ("click_diagnostics", 0),
                ("translations", 0),
            )
        },
        "changes/queries/2022-06_2022-07": (1, "1-changes"),
        "topics": (1, "1-maps"),
    }
    assert manifest["tables"]["topics"]["contract"] == Topics.signature()
    assert manifest["units"]["maps all"] == {
        "id": "x",
        "version": "1",
        "parameters": {"p": 1},
        "inputs": {"i": "2"},
        "ledger": LEDGER,
    }
    assert len(manifest["units"]) == 6
    funnels = manifest["selection"]
    assert [funnels[name][-1]["left_out"] for name in MONTHS] == [2, 0]
    assert [funnels[name][-1]["remaining"] for name in MONTHS] == [7, 9]
    listed = json.loads((version / "croissant.json").read_text())["distribution"]
    assert [entry["name"] for entry in listed] == [
        f"snapshots/{month}/{file}.parquet"
        for month in MONTHS
        for file in ("documents/part-00000", "queries", "qrels")
    ]
    assert list(store.work.glob("*.partial")) == []


def test_a_release_is_current_or_refused(tmp_path: Path) -> None:
    definition, store = _define(tmp_path)
    stages = _outputs(store)
    version = publish_version(definition, store, stages)
    assert is_published_and_current(definition, store, stages)
    (version / "report.html").unlink()
    with pytest.raises(DataError, match=r"changed or deleted afterwards \(report\.html\)"):
        is_published_and_current(definition, store, stages)
    with pytest.raises(DataError) as raised:
        is_published_and_current(definition, store, stages[:-1])
    assert str(raised.value) == (
        f"{version} is already published and its content would change; set a new version in the "
        "definition"
    )


def test_a_draft_is_built_again(tmp_path: Path) -> None:
    definition, store = _define(tmp_path, "0.1.0")
    stages = _outputs(store)
    version = publish_version(definition, store, stages)
    assert is_published_and_current(definition, store, stages)
    assert not is_published_and_current(definition, store, stages[:-1])
    changed, _ = _define(tmp_path, "0.1.0", "[select]\nmin_users = 6\n")
    assert not is_published_and_current(changed, store, stages)
    (version / "report.html").unlink()
    assert not is_published_and_current(definition, store, stages)
