"""Assembles the outputs of all stages in a version folder, and publishes it atomically.

A released version is immutable; a draft (0.x or a pre-release) is replaced as a whole.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.card import write_card
from builder.collection.croissant import write_croissant
from builder.collection.files import is_intact, link_or_copy
from builder.collection.manifest import resolve_definition, write_collection_manifest
from builder.definition.model import Definition
from builder.errors import DataError
from builder.io import parquet
from builder.io.tables import Table, TableWriter, table_at, write_frame
from builder.queries import funnel_steps
from builder.runtime.publisher import (
    PARTIAL,
    canonical_json,
    publish_folder,
    read_manifest_or_none,
    temporary_folder,
)
from builder.runtime.scope import Scope
from builder.runtime.stage import SCHEMAS, Stage
from builder.runtime.store import Store
from schemas import Rejects


def is_published_and_current(definition: Definition, store: Store, stages: Iterable[Stage]) -> bool:
    """Whether the version that a definition names is published, up to date and intact.

    Raises:
        DataError: The published version is not a draft, but the stage outputs have changed since,
            or its files were changed.
    """
    collection = definition.workflow.collection
    final = store.root / collection.version
    manifest = read_manifest_or_none(final)
    if manifest is None:
        return False
    recorded = {"definition": resolve_definition(definition, store)}
    recorded["units"] = _step_records(definition, store, stages)
    if {key: manifest.get(key) for key in recorded} != json.loads(canonical_json(recorded)):
        if collection.is_draft:
            return False
        raise DataError(
            f"{final} is already published and its content would change; "
            "set a new version in the definition"
        )
    return is_intact(final, manifest.get("files", {}), is_draft=collection.is_draft)


def publish_version(definition: Definition, store: Store, stages: Iterable[Stage]) -> Path:
    """Assemble the outputs of all stages in a version folder, and publish it.

    Returns:
        Folder of the published version.
    """
    collection = definition.workflow.collection
    final = store.root / collection.version
    defined = resolve_definition(definition, store)
    with temporary_folder(store.work / f"{collection.version}{PARTIAL}") as partial:
        tables = _assemble_version(definition, store, list(stages), partial)
        steps = _step_records(definition, store, stages)
        selected = selection_funnels(definition, steps)
        write_card(partial, defined, tables, selected)
        plain = json.loads(canonical_json(defined))
        write_croissant(partial, plain, tables, _main_table_paths(partial, definition))
        write_collection_manifest(partial, defined, steps, tables, selected)
        publish_folder(partial, final)
    return final


def _main_table_paths(version_folder: Path, definition: Definition) -> dict[str, list[str]]:
    """Return the file paths of documents, queries and qrels, keyed by `<table> <snapshot>`."""
    found = {}
    for name in definition.workflow.snapshot_names:
        home = layout.snapshot_folder(version_folder, name)
        for kind in ("documents", "queries", "qrels"):
            paths = table_at(home, kind, SCHEMAS[kind]).paths
            found[f"{kind} {name}"] = [
                path.relative_to(version_folder).as_posix() for path in paths
            ]
    return found


def _step_records(definition: Definition, store: Store, stages: Iterable[Stage]) -> dict[str, Any]:
    records: dict[str, Any] = {}
    for stage in stages:
        for key in stage.scope.keys(definition.workflow):
            record = store.read_record(stage.name, key) or {}
            identity = record["identity"]
            records[f"{stage.name} {key}"] = {
                "id": record["id"],
                "version": identity["version"],
                "parameters": identity["parameters"],
                "inputs": identity["inputs"],
                "ledger": record["ledger"],
            }
    return records


def selection_funnels(definition: Definition, steps: dict[str, Any]) -> dict[str, Any]:
    """Return the query selection funnel of each snapshot, keyed by snapshot name.

    A funnel lists the selection rules in order, with the number of queries that each rule removed
    and the number of queries that remained.
    """
    ledgers = {
        name: steps[f"select {name}"]["ledger"] for name in definition.workflow.snapshot_names
    }
    return {
        name: [vars(step) for step in funnel_steps(ledger["rows_in"], ledger["rejected"])]
        for name, ledger in ledgers.items()
    }


def _assemble_version(
    definition: Definition, store: Store, stages: list[Stage], version_folder: Path
) -> dict[str, Any]:
    """Write the stage outputs to a version folder; return the manifest entry of each table."""
    tables: dict[str, Any] = {}
    for stage in stages:
        keys = stage.scope.keys(definition.workflow)
        for name in stage.output_tables:
            if name not in layout.PUBLISHED:
                continue
            if stage.scope is Scope.PAIR:
                found = [store.open_table(stage.name, key, name, SCHEMAS[name]) for key in keys]
                _write_concatenated_table(
                    found, name, version_folder / f"{layout.PUBLISHED[name]}.parquet"
                )
            for key in keys:
                entry = manifest_table_entry(store, stage, key, name)
                tables[manifest_table_path(stage, key, name)] = entry
                if stage.scope is not Scope.PAIR:
                    _link_table(store, stage, key, name, version_folder)
        for key in keys:
            _link_non_table_files(store, stage, key, version_folder)
    for snapshot in definition.workflow.snapshot_names:
        rejects = layout.snapshot_folder(version_folder, snapshot) / "rejects.parquet"
        _write_rejects(store, stages, snapshot, rejects)
    return tables


def manifest_table_path(stage: Stage, key: str, name: str) -> str:
    """Return the path by which the manifest identifies a table that a stage wrote."""
    if stage.scope is Scope.SNAPSHOT:
        return f"snapshots/{key}/{layout.PUBLISHED[name]}"
    suffix = f"/{key}" if stage.scope is Scope.PAIR else ""
    return layout.PUBLISHED[name] + suffix


def manifest_table_entry(store: Store, stage: Stage, key: str, name: str) -> dict[str, Any]:
    """Return the manifest entry of a table: `rows`, `content` hash and schema (`contract`)."""
    record = store.read_record(stage.name, key) or {}
    content = record["content"][name]
    return {
        "rows": int(content.partition("-")[0]),
        "content": content,
        "contract": SCHEMAS[name].signature(),
    }


def _link_table(store: Store, stage: Stage, key: str, name: str, version_folder: Path) -> None:
    base = (
        layout.snapshot_folder(version_folder, key)
        if stage.scope is Scope.SNAPSHOT
        else version_folder
    )
    target = base / layout.PUBLISHED[name]
    paths = store.open_table(stage.name, key, name, SCHEMAS[name]).paths
    for path in paths:
        in_parts = path.parent.name == name
        link_or_copy(path, target / path.name if in_parts else target.with_suffix(".parquet"))


def _link_non_table_files(store: Store, stage: Stage, key: str, version_folder: Path) -> None:
    """Link the non-table output files of a stage, such as `drift.json`, into a version folder."""
    record = store.read_record(stage.name, key) or {}
    home = store.folder_of_record(stage.name, key, record)
    for name in record["files"]:
        if not name.endswith(".parquet"):
            base = (
                version_folder / stage.name / key
                if stage.scope is Scope.SNAPSHOT
                else version_folder
            )
            link_or_copy(home / name, base / name)


def _write_concatenated_table(tables: list[Table], name: str, path: Path) -> None:
    with TableWriter(path, SCHEMAS[name]) as writer:
        for table in tables:
            for batch in table.iter_batches():
                writer.write(batch)


def _write_rejects(store: Store, stages: list[Stage], snapshot: str, path: Path) -> None:
    frames = [pl.DataFrame(schema=Rejects.dtypes())]
    for stage in stages:
        if stage.scope is Scope.SNAPSHOT:
            record = store.read_record(stage.name, snapshot) or {}
            folder = store.folder_of_record(stage.name, snapshot, record)
            if record["ledger"]["rejected"]:
                frames.append(parquet.read(folder / "rejects.parquet"))
    write_frame(pl.concat(frames), path, Rejects)
