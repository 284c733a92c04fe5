"""Manifest, checksums and dataset card of a classification collection.

`manifest.json` records the definition, the hashes of the inputs and the hash of every file;
`README.md` is a dataset card in the format of the Hugging Face Hub.
"""

import hashlib
import json
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from builder.runtime.publisher import (
    canonical_json,
    read_manifest_or_none,
    sha256,
    write_manifest,
)
from builder.tasks.classification.definition import (
    LABELED_SPLITS,
    SPLITS,
    ClassificationDefinition,
)
from builder.tasks.classification.table_schemas import Labels, Posts
from schemas import Rejects

CARD_FILE = "README.md"
DRIFT_FILE, REJECTS_FILE = "drift.json", "rejects.parquet"
FORMAT_VERSION = 1
RECORDED_PACKAGES = ("longeval-builder", "polars", "duckdb", "pyarrow")
TABLE_SCHEMAS = {"posts": Posts, "labels": Labels, "rejects": Rejects}


def read_provenance(folder: Path) -> dict[str, Any] | None:
    """Return the definition and input hashes of a published version; None if it has no manifest."""
    provenance = (read_manifest_or_none(folder) or {}).get("made_from")
    return dict(provenance) if isinstance(provenance, dict) else None


def write_classification_manifest(
    folder: Path, definition: ClassificationDefinition, provenance: dict[str, Any]
) -> None:
    """Write `manifest.json` and `SHA256SUMS` for all files of a version.

    Args:
        folder: Version folder that contains all other files.
        definition: Definition of the collection.
        provenance: Definition and hashes of the input files, as JSON values.
    """
    collection = definition.collection
    paths = sorted(folder.rglob("*.parquet"))
    tables = {path.relative_to(folder).as_posix(): _describe_table(path) for path in paths}
    sums = {name: sha256(folder / name) for name in tables}
    digest = hashlib.sha256(canonical_json(sums).encode()).hexdigest()[:12]
    manifest = {
        "format": FORMAT_VERSION,
        "kind": "classification",
        "name": collection.name,
        "version": collection.version,
        "signature": f"{collection.name} {collection.version}|classification|tables {digest}",
        "made_from": provenance,
        "tools": {package: installed_version(package) for package in RECORDED_PACKAGES},
        "tables": tables,
    }
    write_manifest(folder, manifest)


def _describe_table(path: Path) -> dict[str, Any]:
    """Return the number of rows and the schema signature of a table."""
    kind = path.stem if path.stem in TABLE_SCHEMAS else path.parent.name
    return {"rows": pq.read_metadata(path).num_rows, "contract": TABLE_SCHEMAS[kind].signature()}


def write_dataset_card(
    folder: Path, definition: ClassificationDefinition, drift: dict[str, Any]
) -> None:
    """Write the dataset card `README.md`, with the file paths and sizes of the splits."""
    collection = definition.collection
    lines = ["---", f"license_name: {json.dumps(collection.licence)}", "configs:"]
    for kind, splits in (("posts", SPLITS), ("labels", LABELED_SPLITS)):
        lines += [f"- config_name: {kind}", "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: {kind}/{split}.parquet"]
    lines += ["---", "", f"# {collection.name} {collection.version}", ""]
    lines += ["Sentiment of timestamped posts over time. The splits share no author and no text;"]
    lines += ["the test sets lie within, shortly after and long after the training period.", ""]
    lines += ["| split | posts | positive | negative | authors |", "|---|---|---|---|---|"]
    for split in SPLITS:
        row = drift["splits"][split]
        counts = (row[name] for name in ("posts", "positive", "negative", "authors"))
        lines.append(f"| {split} | {' | '.join(map(str, counts))} |")
    (folder / CARD_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
