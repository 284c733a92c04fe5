"""The manifest and the card of a classification collection.

In: the finished folder of a version. Out: `manifest.json` with what it was made from and every file
by hash, `SHA256SUMS` that any tool checks, and a dataset card that usual dataset tools load.
"""

import hashlib
import json
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from builder.runtime.publisher import (
    canonical_json,
    find_manifest,
    sha256,
    write_manifest,
)
from builder.tasks.classification.contracts import Labels, Posts
from builder.tasks.classification.definition import (
    LABELLED,
    SPLITS,
    ClassificationDefinition,
)
from schemas import Rejects

CARD = "README.md"
DRIFT, REJECTS = "drift.json", "rejects.parquet"
FORMAT = 1
ENGINES = ("longeval-builder", "polars", "duckdb", "pyarrow")
CONTRACTS = {"posts": Posts, "labels": Labels, "rejects": Rejects}


def published_origin(folder: Path) -> dict[str, Any] | None:
    """What a published version was made from, or None where there is no such version."""
    found = (find_manifest(folder) or {}).get("made_from")
    return dict(found) if isinstance(found, dict) else None


def write_classification_manifest(
    folder: Path, definition: ClassificationDefinition, origin: dict[str, Any]
) -> None:
    """Write `manifest.json` and `SHA256SUMS` over all files of a finished folder.

    Args:
        folder: The folder.
        definition: What it was made by.
        origin: The definition and the hashes of its inputs, as plain values.
    """
    collection = definition.collection
    paths = sorted(folder.rglob("*.parquet"))
    tables = {path.relative_to(folder).as_posix(): _table(path) for path in paths}
    sums = {name: sha256(folder / name) for name in tables}
    digest = hashlib.sha256(canonical_json(sums).encode()).hexdigest()[:12]
    manifest = {
        "format": FORMAT,
        "kind": "classification",
        "name": collection.name,
        "version": collection.version,
        "signature": f"{collection.name} {collection.version}|classification|tables {digest}",
        "made_from": origin,
        "tools": {engine: installed_version(engine) for engine in ENGINES},
        "tables": tables,
    }
    write_manifest(folder, manifest)


def _table(path: Path) -> dict[str, Any]:
    kind = path.stem if path.stem in CONTRACTS else path.parent.name
    return {"rows": pq.read_metadata(path).num_rows, "contract": CONTRACTS[kind].signature()}


def write_card(folder: Path, definition: ClassificationDefinition, drift: dict[str, Any]) -> None:
    """Write `README.md`: how to load the splits, and their sizes."""
    collection = definition.collection
    lines = ["---", f"license_name: {json.dumps(collection.licence)}", "configs:"]
    for kind, splits in (("posts", SPLITS), ("labels", LABELLED)):
        lines += [f"- config_name: {kind}", "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: {kind}/{split}.parquet"]
    lines += ["---", "", f"# {collection.name} {collection.version}", ""]
    lines += ["Sentiment of timestamped posts over time: splits are disjoint in author and text,"]
    lines += ["and tests lie within, shortly after and long after the period of training.", ""]
    lines += ["| split | posts | positive | negative | authors |", "|---|---|---|---|---|"]
    for split in SPLITS:
        row = drift["splits"][split]
        counts = (row[name] for name in ("posts", "positive", "negative", "authors"))
        lines.append(f"| {split} | {' | '.join(map(str, counts))} |")
    (folder / CARD).write_text("\n".join(lines) + "\n", encoding="utf-8")
