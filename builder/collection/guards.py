"""Defines the checks that a build runs before its stages and before it publishes a version.

The checks protect released versions from changes and prevent the publication of empty snapshots.
Each check raises an error that lists what is wrong.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from builder.collection.compare.definitions import diff_values
from builder.collection.layout import PUBLISHED
from builder.collection.manifest import resolve_definition
from builder.collection.manifest_schema import read_manifest
from builder.collection.publish import manifest_table_entry, manifest_table_path
from builder.definition.model import Definition, is_draft
from builder.errors import DataError, DefinitionError, LongEvalError
from builder.ingest.advice import CRAWL_ADVICE, LOG_ADVICE, advise_on_rejects
from builder.io import parquet
from builder.queries import parse_topics, require_same_topics, topic_differences
from builder.runtime.ledger import RowLedger
from builder.runtime.publisher import MANIFEST, canonical_json, read_manifest_or_none
from builder.runtime.stage import SCHEMAS, Stage
from builder.runtime.store import Store

REQUIRED_TABLES = {"documents": "documents", "queries": "queries", "qrels": "judgements"}
"""Tables that must not be empty in any snapshot, and the noun for their rows in messages."""
MAX_LISTED = 3
"""Maximum number of tables listed in an error message."""


def check_definition_unchanged(definition: Definition, store: Store) -> None:
    """Raise an error if the definition of a released version has changed.

    Drafts and unpublished versions always pass.

    Raises:
        DefinitionError: The version was published with a different definition or other inputs.
    """
    collection = definition.workflow.collection
    manifest = read_manifest_or_none(store.root / collection.version)
    if manifest is None or collection.is_draft:
        return
    now = json.loads(canonical_json(resolve_definition(definition, store)))
    if manifest["definition"] != now:
        differing = "; ".join(diff_values(manifest["definition"], now))
        raise DefinitionError(
            f"version {collection.version} is already published and cannot be changed "
            f"({differing}); set a new version in the definition",
            definition.file,
            "collection.version",
        )


def check_stages_unchanged(definition: Definition, store: Store, stages: Iterable[Stage]) -> None:
    """Raise an error if stages or table schemas have changed since the version was released.

    Drafts and unpublished versions always pass.

    Raises:
        DefinitionError: The version was published with different stage versions or table schemas.
    """
    collection = definition.workflow.collection
    manifest = read_manifest_or_none(store.root / collection.version)
    if manifest is None or collection.is_draft:
        return
    keyed = [(stage, key) for stage in stages for key in stage.scope.keys(definition.workflow)]
    published = {step: str(entry["version"]) for step, entry in manifest["units"].items()}
    now = {f"{stage.name} {key}": stage.version for stage, key in keyed}
    steps = [step for step in sorted({*published, *now}) if published.get(step) != now.get(step)]
    schemas = {
        manifest_table_path(stage, key, name): SCHEMAS[name].signature()
        for stage, key in keyed
        for name in stage.output_tables
        if name in PUBLISHED
    }
    tables = [
        path
        for path, schema in schemas.items()
        if manifest["tables"].get(path, {}).get("contract") != schema
    ]
    stages_changed = dict.fromkeys(f"stage {step.partition(' ')[0]}" for step in steps)
    reasons = [*stages_changed, *(f"table {path}" for path in tables[:MAX_LISTED])]
    if reasons:
        raise DefinitionError(
            f"version {collection.version} was published by another version of longeval-builder, "
            f"whose output differs ({', '.join(reasons)}); set a new version in the definition",
            definition.file,
            "collection.version",
        )


def check_topics_unchanged(definition: Definition, store: Store) -> tuple[str, ...]:
    """Raise an error if the topics differ from those of a released version of the collection.

    If the version to build is itself a release, `check_definition_unchanged` compares its topics.

    Returns:
        Differences from the topics of the published draft that the build would replace, one line
        per kind of change; empty if there is no such draft. All other drafts are ignored.

    Raises:
        DataError: A topic was added, removed or changed since a release.
    """
    (source,) = definition.expand_sources((definition.workflow.collection.topics,))
    topics, _ = parse_topics(source)
    version = definition.workflow.collection.version
    differences: tuple[str, ...] = ()
    for path in sorted(store.root.glob(f"*/{MANIFEST}")):
        is_release = not is_draft(path.parent.name)
        if is_release == (path.parent.name == version):
            continue
        try:
            published = _read_published_topics(path)
        except LongEvalError as error:
            if is_release:
                raise DataError(
                    f"{error}. The topics must be the same in all releases in a folder: restore "
                    f"release {path.parent.name}, or build in another folder with --out"
                ) from error
            continue
        if published is not None and is_release:
            require_same_topics(published, topics)
        elif published is not None:
            differences = topic_differences(published, topics)
    return differences


def _read_published_topics(manifest_file: Path) -> pl.DataFrame | None:
    """Return the topics of a version; None if it is an imported or a classification collection.

    Raises:
        FormatError: The manifest or the topics cannot be read.
        UsageError: `topics.parquet` is missing.
    """
    kind = (read_manifest_or_none(manifest_file.parent) or {}).get("kind")
    if kind == "classification" or "imported" in read_manifest(manifest_file)["definition"]:
        return None
    return parquet.read(manifest_file.with_name("topics.parquet"))


def check_tables_not_empty(definition: Definition, store: Store, stages: Iterable[Stage]) -> None:
    """Raise an error if a snapshot has no documents, queries or judgements.

    Snapshots with `log.empty = "allow"` are not checked.

    Raises:
        DataError: A required table of a snapshot is empty.
    """
    sizes = {
        (key, name): int(manifest_table_entry(store, stage, key, name)["rows"])
        for stage in stages
        for name in stage.output_tables
        if name in REQUIRED_TABLES
        for key in stage.scope.keys(definition.workflow)
        if getattr(definition.section("log", key), "empty", "") != "allow"
    }
    empty = [
        f"{key} has no {REQUIRED_TABLES[name]}" for (key, name), rows in sizes.items() if not rows
    ]
    if empty:
        snapshots = dict.fromkeys(key for (key, _), rows in sizes.items() if not rows)
        notes = _advise_on_frequent_rejects(store, snapshots)
        raise DataError(
            f"nothing was published: {'; '.join(empty)}. {''.join(f'{note}. ' for note in notes)}"
            "Check the rejects of the stages, or pass --allow-empty to publish empty tables"
        )


def _advise_on_frequent_rejects(store: Store, snapshots: Iterable[str]) -> Iterator[str]:
    """Yield advice on the frequent reject reasons in the logs and crawls of the given snapshots."""
    for snapshot in snapshots:
        for stage, advice in (("log", LOG_ADVICE), ("crawl", CRAWL_ADVICE)):
            if record := store.read_record(stage, snapshot):
                counts = RowLedger(**record["ledger"])
                notes = advise_on_rejects(counts.rejected, counts.rows_in, advice)
                yield from (f"{stage} {snapshot}: {note}" for note in notes)
