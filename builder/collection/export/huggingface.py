"""Parquet files with a card whose `configs:` say what `datasets.load_dataset` loads.

```
README.md  croissant.json  topics.parquet  queries_map.parquet
<documents|queries|qrels>/<snapshot>/part-*.parquet
```
The files are those of the version, byte by byte.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from builder.collection.card import configurations, front_matter
from builder.collection.croissant import write_croissant
from builder.collection.export.source import SnapshotTables
from builder.collection.layout import CARD
from builder.collection.read import Collection
from builder.runtime.progress import Progress

LOST = ("evidence tables, changes and reports: they stay in the version",)
KINDS = ("documents", "queries", "qrels")


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
                _copy(path, out / target)
            files[f"{kind} {name}"] = names
    for name in ("topics", "queries_map"):
        if (collection.path / f"{name}.parquet").is_file():
            _copy(collection.path / f"{name}.parquet", out / f"{name}.parquet")
    held = {key: paths for key, paths in files.items() if paths}
    card = (collection.path / CARD).read_text("utf-8").partition("\n---\n")[2]
    defined = collection.manifest["definition"]
    configs = configurations({key: f"{key.replace(' ', '/')}/part-*.parquet" for key in held})
    (out / CARD).write_text(front_matter(defined, configs) + card, "utf-8")
    write_croissant(out, defined, held)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
