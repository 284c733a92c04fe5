"""The card of an export for Hugging Face: what is there, how to load it, its licence."""

from pathlib import Path
from typing import Any

from builder.collection.card import described, front_matter, one_line
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
- `topics.parquet`, `queries_map.parquet`: topics, and which snapshot holds which query
- `croissant.json`: every column by name, type and meaning
- `longeval-export.json`, `SHA256SUMS`: what was exported, and every file by hash

How the collection was made is in the card of the version that this is an export of.

## Licence

{licence}

## Citation

{citation}
"""


def write_export_card(
    folder: Path, defined: dict[str, Any], tables: dict[str, Any], configs: str
) -> None:
    """Write the card of an export for Hugging Face.

    Args:
        folder: The export.
        defined: The definition with defaults and input hashes.
        tables: Rows of every table by path.
        configs: See `configurations`.
    """
    collection, snapshots = defined["collection"], defined["snapshots"]
    text = front_matter(defined, configs) + _EXPORT_CARD.format(
        name=collection["name"],
        version=collection["version"],
        described=described(defined),
        rows="".join(snapshot_row(s, tables) for s in snapshots),
        split=f"snapshot_{snapshots[0]['name'].replace('-', '_')}",
        licence=one_line(collection["licence"]),
        citation=one_line(collection["citation"]) or "Not stated.",
    )
    (folder / CARD).write_text(text, encoding="utf-8")
