"""Writes the dataset card (`README.md`) of a Hugging Face export."""

from pathlib import Path
from typing import Any

from builder.collection.card import describe_collection, front_matter, single_line
from builder.collection.card_tables import snapshot_row
from builder.collection.layout import CARD

_EXPORT_CARD = """
# {name} {version}

{described}

| snapshot | interval | documents | queries | judgements |
|---|---|--:|--:|--:|
{rows}
Each table is a configuration with one split per snapshot (`snapshot_2022_06`):

```python
from datasets import load_dataset

qrels = load_dataset("<this repository>", "qrels", split="{split}")
```

- `documents/`, `queries/`, `qrels/`: the test collection, one folder per snapshot
- `topics.parquet`, `queries_map.parquet`: the topics, and the snapshots that contain each query
- `croissant.json`: name, type and description of every column
- `longeval-export.json`, `SHA256SUMS`: parameters of this export, and the hash of every file

The dataset card of the original version describes how the collection was built.

## Licence

{licence}

## Citation

{citation}
"""


def write_export_card(
    folder: Path, definition: dict[str, Any], tables: dict[str, Any], configs: str
) -> None:
    """Write the dataset card of a Hugging Face export.

    Args:
        folder: Folder of the export.
        definition: Definition as recorded in the manifest.
        tables: Manifest entries of the tables (with `rows`) by path.
        configs: Dataset configurations; see `dataset_configs`.
    """
    collection, snapshots = definition["collection"], definition["snapshots"]
    text = front_matter(definition, configs) + _EXPORT_CARD.format(
        name=collection["name"],
        version=collection["version"],
        described=describe_collection(definition),
        rows="".join(snapshot_row(s, tables) for s in snapshots),
        split=f"snapshot_{snapshots[0]['name'].replace('-', '_')}",
        licence=single_line(collection["licence"]),
        citation=single_line(collection["citation"]) or "Not stated.",
    )
    (folder / CARD).write_text(text, encoding="utf-8")
