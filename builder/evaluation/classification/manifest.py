"""The manifest and the card of a classification collection.

In: the finished folder of a version. Out: `manifest.json` with what it was made from and every file
by hash, `SHA256SUMS` that any tool checks, and a dataset card that usual dataset tools load.
"""

import hashlib
import json
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from builder.evaluation.classification.contracts import Labels, Posts
from builder.evaluation.classification.definition import (
    LABELLED,
    SPLITS,
    ClassificationDefinition,
)
from schemas import Rejects

MANIFEST, SUMS, CARD = "manifest.json", "SHA256SUMS", "README.md"
DRIFT, REJECTS = "drift.json", "rejects.parquet"
FORMAT = 1
ENGINES = ("longeval-builder", "polars", "duckdb", "pyarrow")
CONTRACTS = {"posts": Posts, "labels": Labels, "rejects": Rejects}


def file_sha256(path: Path) -> str:
    """Hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def published_origin(folder: Path) -> dict[str, Any] | None:
    """What a published version was made from, or None where there is no such version."""
    try:
        return dict(orjson.loads((folder / MANIFEST).read_text("utf-8"))["made_from"])
    except (OSError, ValueError, KeyError):
        return None


def write_manifest(
    folder: Path, definition: ClassificationDefinition, origin: dict[str, Any]
) -> None:
    """Write `manifest.json` and `SHA256SUMS` over all files of a finished folder.

    Args:
        folder: The folder.
        definition: What it was made by.
        origin: The definition and the hashes of its inputs, as plain values.
    """
    files = {
        path.relative_to(folder).as_posix(): {
            "sha256": file_sha256(path),
            "bytes": path.stat().st_size,
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    collection = definition.collection
    digest = hashlib.sha256(_canonical(files).encode()).hexdigest()[:12]
    manifest = {
        "format": FORMAT,
        "kind": "classification",
        "name": collection.name,
        "version": collection.version,
        "signature": f"{collection.name} {collection.version}|classification|files {digest}",
        "made_from": origin,
        "tools": {engine: installed_version(engine) for engine in ENGINES},
        "tables": {name: _table(folder / name) for name in files if name.endswith(".parquet")},
        "files": files,
    }
    (folder / MANIFEST).write_text(_canonical(manifest), encoding="utf-8")
    sums = {name: entry["sha256"] for name, entry in files.items()}
    sums[MANIFEST] = file_sha256(folder / MANIFEST)
    lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


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
