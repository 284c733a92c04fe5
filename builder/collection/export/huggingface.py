"""Exports a collection as Parquet files that `datasets.load_dataset` can load.

```
README.md  croissant.json  topics.parquet  queries_map.parquet
<documents|queries|qrels>/<snapshot>/part-*.parquet
```
All tables are copied unchanged, except that grades in qrels are converted to signed integers
(int64), as required by tools such as ranx.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from builder.collection.card import dataset_configs
from builder.collection.card_export import write_export_card
from builder.collection.croissant import write_croissant
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.io import parquet
from builder.runtime.progress import Progress

OMITTED = ("evidence tables, change tables and reports (available in the published version)",)
SNAPSHOT_TABLES = ("documents", "queries", "qrels")
COLLECTION_TABLES = ("topics", "queries_map")
"""Names of the exported tables that cover the whole collection."""


def export_huggingface(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],  # noqa: ARG001 - all languages are columns of the same tables
    max_bytes: int,  # noqa: ARG001 - files are copied unchanged
    progress: Progress,  # noqa: ARG001 - files are copied unchanged
) -> None:
    """Export a collection as Parquet files with a Hugging Face dataset card."""
    files: dict[str, list[str]] = {}
    for kind in SNAPSHOT_TABLES:
        for name in collection.snapshots:
            paths = getattr(SnapshotTables(collection, name), kind).paths
            names = [f"{kind}/{name}/part-{index:05d}.parquet" for index in range(len(paths))]
            for path, target in zip(paths, names, strict=True):
                (_write_qrels_with_signed_grades if kind == "qrels" else _copy_file)(
                    path, out / target
                )
            files[f"{kind} {name}"] = names
    non_empty = {key: paths for key, paths in files.items() if paths}
    patterns = {key: f"{key.replace(' ', '/')}/part-*.parquet" for key in non_empty}
    for name in COLLECTION_TABLES:
        if (collection.path / f"{name}.parquet").is_file():
            _copy_file(collection.path / f"{name}.parquet", out / f"{name}.parquet")
            patterns[name] = f"{name}.parquet"
    definition, tables = collection.manifest["definition"], collection.manifest["tables"]
    write_export_card(out, definition, tables, dataset_configs(patterns))
    write_croissant(out, definition, tables, non_empty)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write_qrels_with_signed_grades(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    grades = parquet.read(source).with_columns(pl.col("grade").cast(pl.Int64))
    pq.write_table(
        grades.to_arrow(compat_level=pl.CompatLevel.oldest()), target, compression="zstd"
    )
