"""What a build is refused for: before anything runs, and before anything is published.

In: a definition, the store of its collection, the stages. Out: nothing, or an error that says what
differs and what to do.
"""

import json
from collections.abc import Iterable

from builder.collection.compare.definitions import differences
from builder.collection.layout import PUBLISHED
from builder.collection.manifest import define
from builder.collection.publish import describe_table, table_path
from builder.definition.model import Definition, is_draft
from builder.errors import DataError, DefinitionError
from builder.io import parquet
from builder.queries import parse_topics, require_same_topics, topic_differences
from builder.runtime.publisher import MANIFEST, canonical_json, find_manifest
from builder.runtime.stage import CONTRACTS, Stage
from builder.runtime.store import Store

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
    manifest = find_manifest(store.root / collection.version)
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
    manifest = find_manifest(store.root / collection.version)
    if manifest is None or collection.is_draft:
        return
    keyed = [(stage, key) for stage in stages for key in stage.scope.keys(definition.workflow)]
    made = {unit: str(entry["version"]) for unit, entry in manifest["units"].items()}
    now = {f"{stage.name} {key}": stage.version for stage, key in keyed}
    units = [unit for unit in sorted({*made, *now}) if made.get(unit) != now.get(unit)]
    contracts = {
        table_path(stage, key, name): CONTRACTS[name].signature()
        for stage, key in keyed
        for name in stage.writes
        if name in PUBLISHED
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
        manifest = find_manifest(path.parent)
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
        (key, name): int(describe_table(store, stage, key, name)["rows"])
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
