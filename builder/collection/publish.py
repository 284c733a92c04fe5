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
from builder.collection.compare.definitions import differences
from builder.collection.croissant import write_croissant
from builder.collection.files import link
from builder.collection.manifest import define, write_collection_manifest
from builder.definition.model import Definition, is_draft
from builder.errors import DataError, DefinitionError
from builder.io import parquet
from builder.io.tables import Table, TableWriter, table_at, write_frame
from builder.queries import funnel, parse_topics, require_same_topics, topic_differences
from builder.runtime.publisher import (
    MANIFEST,
    PARTIAL,
    canonical_json,
    private_folder,
    publish,
    published_manifest,
)
from builder.runtime.scope import Scope
from builder.runtime.stage import CONTRACTS, Stage
from builder.runtime.store import Store
from schemas import Rejects

NEEDED = {"documents": "documents", "queries": "queries", "qrels": "judgements"}
"""Tables without which a snapshot is no test collection, in words."""
SHOWN = 3
"""Tables that are named in a message."""


def check_version(definition: Definition, store: Store) -> None:
    """Refuse to change a released version, before any work is done.

    Raises:
        DefinitionError: the version is published with another definition or other inputs.
    """
    collection = definition.workflow.collection
    manifest = published_manifest(store.root / collection.version)
    if manifest is None or collection.is_draft:
        return
    now = json.loads(canonical_json(define(definition, store)))
    if manifest["definition"] != now:
        differing = "; ".join(differences(manifest["definition"], now))
        raise DefinitionError(
            f"version {collection.version} is published and cannot change ({differing}); "
            "give the definition a new version",
            definition.file,
            "collection.version",
        )


def check_program(definition: Definition, store: Store, stages: Iterable[Stage]) -> None:
    """Refuse to build a released version with a program that would make it otherwise.

    Raises:
        DefinitionError: the version was published by stages of other versions, or its tables have
            other columns.
    """
    collection = definition.workflow.collection
    manifest = published_manifest(store.root / collection.version)
    if manifest is None or collection.is_draft:
        return
    keyed = [(stage, key) for stage in stages for key in stage.scope.keys(definition.workflow)]
    made = {unit: str(entry["version"]) for unit, entry in manifest["units"].items()}
    now = {f"{stage.name} {key}": stage.version for stage, key in keyed}
    units = [unit for unit in sorted({*made, *now}) if made.get(unit) != now.get(unit)]
    contracts = {
        _table_path(stage, key, name): CONTRACTS[name].signature()
        for stage, key in keyed
        for name in stage.writes
        if name in layout.PUBLISHED
    }
    tables = [
        path
        for path, contract in contracts.items()
        if manifest["tables"].get(path, {}).get("contract") != contract
    ]
    stages_changed = dict.fromkeys(f"stage {unit.partition(' ')[0]}" for unit in units)
    reasons = [*stages_changed, *(f"table {path}" for path in tables[:SHOWN])]
    if reasons:
        raise DefinitionError(
            f"version {collection.version} is published, and this program would make it otherwise "
            f"({', '.join(reasons)}); give the definition a new version",
            definition.file,
            "collection.version",
        )


def check_topics(definition: Definition, store: Store) -> tuple[str, ...]:
    """Refuse other topics than those of the released versions beside this one.

    Returns:
        What differs from the topics of the draft that a build would replace, in words.

    Raises:
        DataError: a topic was added, removed or changed.
    """
    (source,) = definition.sources((definition.workflow.collection.topics,))
    topics, _ = parse_topics(source)
    said: tuple[str, ...] = ()
    for path in sorted(store.root.glob(f"*/{MANIFEST}")):
        manifest = published_manifest(path.parent)
        if manifest is None or "imported" in manifest.get("definition", {}):
            continue
        published = parquet.read(path.with_name("topics.parquet"))
        if not is_draft(str(manifest["version"])):
            require_same_topics(published, topics)
        elif path.parent.name == definition.workflow.collection.version:
            said = topic_differences(published, topics)
    return said


def check_sizes(definition: Definition, store: Store, stages: Iterable[Stage]) -> None:
    """Refuse to publish a snapshot that lacks documents, queries or judgements.

    One whose log may be empty by definition (`log.empty = "allow"`) may lack them, too.

    Raises:
        DataError: a table of it has no row.
    """
    sizes = {
        (key, name): int(_describe(store, stage, key, name)["rows"])
        for stage in stages
        for name in stage.writes
        if name in NEEDED
        for key in stage.scope.keys(definition.workflow)
        if getattr(definition.section("log", key), "empty", "") != "allow"
    }
    empty = [f"{key} has no {NEEDED[name]}" for (key, name), rows in sizes.items() if not rows]
    if empty:
        raise DataError(
            f"nothing is published: {'; '.join(empty)}. Look at the rejects of the stages, or "
            "give --allow-empty if that is what the data are"
        )


def is_published(definition: Definition, store: Store, stages: Iterable[Stage]) -> bool:
    """Whether the version folder holds just what the valid units of the stages make.

    Raises:
        DataError: a released version would change, because stages of another version ran.
    """
    collection = definition.workflow.collection
    final = store.root / collection.version
    manifest = published_manifest(final)
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
                entry = _describe(store, stage, key, name)
                tables[_table_path(stage, key, name)] = entry
                if stage.scope is not Scope.PAIR:
                    _link_table(store, stage, key, name, folder)
        for key in keys:
            _link_files(store, stage, key, folder)
    for snapshot in definition.workflow.names:
        rejects = layout.snapshot_folder(folder, snapshot) / "rejects.parquet"
        _gather_rejects(store, stages, snapshot, rejects)
    return tables


def _table_path(stage: Stage, key: str, name: str) -> str:
    if stage.scope is Scope.SNAPSHOT:
        return f"snapshots/{key}/{layout.PUBLISHED[name]}"
    suffix = f"/{key}" if stage.scope is Scope.PAIR else ""
    return layout.PUBLISHED[name] + suffix


def _describe(store: Store, stage: Stage, key: str, name: str) -> dict[str, Any]:
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
