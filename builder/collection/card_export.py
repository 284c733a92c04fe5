"""Writes the dataset card (`README.md`) of a Hugging Face export."""

from pathlib import Path
from typing import Any

from builder.collection.card import (
    Config,
    card_template_variables,
    collapse_whitespace,
    to_split_name,
)
from builder.collection.layout import CARD
from builder.reporting.render import render_markdown


def write_export_card(
    folder: Path, definition: dict[str, Any], tables: dict[str, Any], configs: list[Config]
) -> None:
    """Write the dataset card (`README.md`) of a Hugging Face export.

    Args:
        folder: Folder of the export.
        definition: Definition as recorded in the manifest.
        tables: Manifest entry of each table, keyed by table path; `rows` is the row count.
        configs: Dataset configurations; see `dataset_configs`.
    """
    text = render_markdown(
        "export_card.md",
        **card_template_variables(definition, tables, configs),
        split=to_split_name(definition["snapshots"][0]["name"]),
        licence=collapse_whitespace(definition["collection"]["licence"]),
    )
    (folder / CARD).write_text(text, encoding="utf-8")
