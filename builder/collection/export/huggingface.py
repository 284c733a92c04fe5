"""Parquet files with a card whose `configs:` say what `datasets.load_dataset` loads.

```
README.md  croissant.json  topics.parquet  queries_map.parquet
<documents|queries|qrels>/<snapshot>/part-*.parquet
```
The files are those of the version, byte by byte, but for qrels: their grades are signed (int64), as
readers such as ranx want them.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from builder.collection.card import configurations
from builder.collection.card_export import write_export_card
from builder.collection.croissant import write_croissant
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.io import parquet
from builder.runtime.progress import Progress

LOST = ("evidence tables, changes and reports: they stay in the version",)
KINDS = ("documents", "queries", "qrels")
WHOLE = ("topics", "queries_map")
"""Tables of the whole collection."""


def export_huggingface(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],  # noqa: ARG001 - all are columns of the same tables
    max_bytes: int,  # noqa: ARG001 - files are those of the version
    progress: Progress,  # noqa: ARG001 - files are copied whole
) -> None:
    """Write a collection into a folder."""
    files: dict[str, list[str]] = {}
    for kind in KINDS:
        for name in collection.snapshots:
            paths = getattr(SnapshotTables(collection, name), kind).paths
            names = [f"{kind}/{name}/part-{place:05d}.parquet" for place in range(len(paths))]
            for path, target in zip(paths, names, strict=True):
                (_write_signed if kind == "qrels" else _copy)(path, out / target)
            files[f"{kind} {name}"] = names
    held = {key: paths for key, paths in files.items() if paths}
    patterns = {key: f"{key.replace(' ', '/')}/part-*.parquet" for key in held}
    for name in WHOLE:
        if (collection.path / f"{name}.parquet").is_file():
            _copy(collection.path / f"{name}.parquet", out / f"{name}.parquet")
            patterns[name] = f"{name}.parquet"
    defined = collection.manifest["definition"]
    write_export_card(out, defined, collection.manifest["tables"], configurations(patterns))
    write_croissant(out, defined, held)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write_signed(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    grades = parquet.read(source).with_columns(pl.col("grade").cast(pl.Int64))
    pq.write_table(
        grades.to_arrow(compat_level=pl.CompatLevel.oldest()), target, compression="zstd"
    )
