"""Assemble the outputs of all stages into a version folder and publish it by one rename.

A released version never changes; a draft (0.x or a pre-release) is replaced as a whole.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.card import write_card
from builder.collection.croissant import write_croissant
from builder.collection.files import link
from builder.collection.manifest import define, write_collection_manifest
from builder.definition.model import Definition
from builder.errors import DataError
from builder.io import parquet
from builder.io.tables import Table, TableWriter, table_at, write_frame
from builder.queries import funnel
from builder.runtime.publisher import (
    PARTIAL,
    canonical_json,
    find_manifest,
    private_folder,
    publish,
)
from builder.runtime.scope import Scope
from builder.runtime.stage import CONTRACTS, Stage
from builder.runtime.store import Store
from schemas import Rejects


def is_published(definition: Definition, store: Store, stages: Iterable[Stage]) -> bool:
    """Whether the version folder holds just what the valid units of the stages make.

    Raises:
        DataError: a released version would change, because stages of another version ran.
    """
    collection = definition.workflow.collection
    final = store.root / collection.version
    manifest = find_manifest(final)
    if manifest is None:
        return False
    if manifest["units"] == json.loads(canonical_json(_units(definition, store, stages))):
        return True
    if collection.is_draft:
        return False
    raise DataError(
        f"{final} is published and this program would make it otherwise; "
        "give the definition a new version"
    )


def publish_version(definition: Definition, store: Store, stages: Iterable[Stage]) -> Path:
    """Publish the collection; every unit of every stage is valid and undamaged.

    Returns:
        The version folder.
    """
    collection = definition.workflow.collection
    final = store.root / collection.version
    defined = define(definition, store)
    with private_folder(store.work / f"{collection.version}{PARTIAL}") as partial:
        tables = _assemble(definition, store, list(stages), partial)
        units = _units(definition, store, stages)
        selected = selection(definition, units)
        write_card(partial, defined, tables, selected)
        plain = json.loads(canonical_json(defined))
        write_croissant(partial, plain, _main_tables(partial, definition))
        write_collection_manifest(partial, defined, units, tables, selected)
        publish(partial, final)
    return final


def _main_tables(folder: Path, definition: Definition) -> dict[str, list[str]]:
    """Paths of documents, queries and judgements, by `<table> <snapshot>`."""
    found = {}
    for name in definition.workflow.names:
        home = layout.snapshot_folder(folder, name)
        for kind in ("documents", "queries", "qrels"):
            paths = table_at(home, kind, CONTRACTS[kind]).paths
            found[f"{kind} {name}"] = [path.relative_to(folder).as_posix() for path in paths]
    return found


def _units(definition: Definition, store: Store, stages: Iterable[Stage]) -> dict[str, Any]:
    units: dict[str, Any] = {}
    for stage in stages:
        for key in stage.scope.keys(definition.workflow):
            record = store.record(stage.name, key) or {}
            identity = record["identity"]
            units[f"{stage.name} {key}"] = {
                "id": record["id"],
                "version": identity["version"],
                "parameters": identity["parameters"],
                "inputs": identity["inputs"],
                "ledger": record["ledger"],
            }
    return units


def selection(definition: Definition, units: dict[str, Any]) -> dict[str, Any]:
    """The funnel of each snapshot's queries: rules in order, what each left out, what remains."""
    ledgers = {name: units[f"select {name}"]["ledger"] for name in definition.workflow.names}
    return {
        name: [vars(step) for step in funnel(ledger["rows_in"], ledger["rejected"])]
        for name, ledger in ledgers.items()
    }


def _assemble(
    definition: Definition, store: Store, stages: list[Stage], folder: Path
) -> dict[str, Any]:
    """Lay out all tables and files; returns rows, content hash and contract of each table."""
    tables: dict[str, Any] = {}
    for stage in stages:
        keys = stage.scope.keys(definition.workflow)
        for name in stage.writes:
            if name not in layout.PUBLISHED:
                continue
            if stage.scope is Scope.PAIR:
                found = [store.table(stage.name, key, name, CONTRACTS[name]) for key in keys]
                _concatenate(found, name, folder / f"{layout.PUBLISHED[name]}.parquet")
            for key in keys:
                entry = describe_table(store, stage, key, name)
                tables[table_path(stage, key, name)] = entry
                if stage.scope is not Scope.PAIR:
                    _link_table(store, stage, key, name, folder)
        for key in keys:
            _link_files(store, stage, key, folder)
    for snapshot in definition.workflow.names:
        rejects = layout.snapshot_folder(folder, snapshot) / "rejects.parquet"
        _gather_rejects(store, stages, snapshot, rejects)
    return tables


def table_path(stage: Stage, key: str, name: str) -> str:
    """Under which path a manifest names a published table of a unit."""
    if stage.scope is Scope.SNAPSHOT:
        return f"snapshots/{key}/{layout.PUBLISHED[name]}"
    suffix = f"/{key}" if stage.scope is Scope.PAIR else ""
    return layout.PUBLISHED[name] + suffix


def describe_table(store: Store, stage: Stage, key: str, name: str) -> dict[str, Any]:
    """Rows, content hash and contract of a table of a unit that is built."""
    record = store.record(stage.name, key) or {}
    content = record["content"][name]
    return {
        "rows": int(content.partition("-")[0]),
        "content": content,
        "contract": CONTRACTS[name].signature(),
    }


def _link_table(store: Store, stage: Stage, key: str, name: str, folder: Path) -> None:
    base = layout.snapshot_folder(folder, key) if stage.scope is Scope.SNAPSHOT else folder
    target = base / layout.PUBLISHED[name]
    paths = store.table(stage.name, key, name, CONTRACTS[name]).paths
    for path in paths:
        in_parts = path.parent.name == name
        link(path, target / path.name if in_parts else target.with_suffix(".parquet"))


def _link_files(store: Store, stage: Stage, key: str, folder: Path) -> None:
    """Files that are no tables: `drift.json`, `report.html`, exports."""
    record = store.record(stage.name, key) or {}
    home = store.folder(stage.name, key, record)
    for name in record["files"]:
        if not name.endswith(".parquet"):
            base = folder / stage.name / key if stage.scope is Scope.SNAPSHOT else folder
            link(home / name, base / name)


def _concatenate(tables: list[Table], name: str, path: Path) -> None:
    with TableWriter(path, CONTRACTS[name]) as writer:
        for table in tables:
            for batch in table.batches():
                writer.write(batch)


def _gather_rejects(store: Store, stages: list[Stage], snapshot: str, path: Path) -> None:
    frames = [pl.DataFrame(schema=Rejects.dtypes())]
    for stage in stages:
        if stage.scope is Scope.SNAPSHOT:
            record = store.record(stage.name, snapshot) or {}
            folder = store.folder(stage.name, snapshot, record)
            if record["ledger"]["rejected"]:
                frames.append(parquet.read(folder / "rejects.parquet"))
    write_frame(pl.concat(frames), path, Rejects)
