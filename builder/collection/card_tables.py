"""Builds the Markdown tables of the dataset card."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.collection.evidence import click_crawl_and_translation_shares, format_percent
from builder.collection.layout import snapshot_folder
from builder.collection.markdown import table_cell
from builder.reporting.render import markdown_table


def input_file_table(snapshots: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the input files and the first digits of their SHA-256."""
    rows = [
        (snapshot["name"], kind, table_cell(name), f"`{digest[:16]}...`")
        for snapshot in snapshots
        for kind in ("log", "crawl", "judgements", "release")
        for name, digest in snapshot.get(kind, {}).items()
    ]
    return markdown_table(("snapshot", "input", "file", "sha256"), ["---"] * 4, rows)


def selection_funnel_table(funnels: dict[str, Any]) -> str:
    """Return a Markdown table of the number of queries that each rule removed, by snapshot.

    Rules that removed no query in any snapshot are omitted.
    """
    names = list(funnels)
    first: list[dict[str, Any]] = next(iter(funnels.values()), [])
    start = [steps[0]["left_out"] + steps[0]["remaining"] for steps in funnels.values()]
    rows = [("in the log", start)]
    for index, step in enumerate(first):
        removed = [funnels[name][index]["left_out"] for name in names]
        if any(removed):
            rows.append((step["rule"].replace("_", " "), removed))
    rows.append(("selected", [steps[-1]["remaining"] for steps in funnels.values()]))
    return _table_with_snapshot_columns(
        "rule", names, [(rule, *(f"{n:,}" for n in counts)) for rule, counts in rows]
    )


def click_crawl_and_translation_table(version: Path, snapshots: list[str]) -> str:
    """Return a Markdown table of percentages for clicks, crawl coverage and translations.

    The table has one column per snapshot.
    """
    rows = click_crawl_and_translation_shares(
        [snapshot_folder(version, name) for name in snapshots]
    )
    return _table_with_snapshot_columns(
        "share", snapshots, [(name, *map(format_percent, shares)) for name, shares in rows]
    )


def _table_with_snapshot_columns(
    heading: str, snapshots: list[str], rows: list[tuple[str, ...]]
) -> str:
    return markdown_table((heading, *snapshots), ("---", *["--:"] * len(snapshots)), rows)


def snapshot_size_table(snapshots: list[dict[str, Any]], tables: dict[str, Any]) -> str:
    """Return a Markdown table of the time interval and the table sizes of each snapshot."""
    rows = [
        (s["name"], f"{s['start']} to {s['end']}", *_format_row_counts(s["name"], tables))
        for s in snapshots
    ]
    columns = ("snapshot", "interval", "documents", "queries", "judgements")
    return markdown_table(columns, ("---", "---", "--:", "--:", "--:"), rows)


def _format_row_counts(snapshot: str, tables: dict[str, Any]) -> list[str]:
    kinds = ("documents", "queries", "qrels")
    return [f"{tables[f'snapshots/{snapshot}/{kind}']['rows']:,}" for kind in kinds]


def parameter_table(parameters: dict[str, Any]) -> str:
    """Return a Markdown table of all parameters and their values, one row per parameter."""
    rows = [(table_cell(key), value) for key, value in _flatten_parameters(parameters)]
    return markdown_table(("parameter", "value"), ("---", "---"), rows)


def _flatten_parameters(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted key and formatted value of each parameter in a section, recursively."""
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _flatten_parameters(value, f"{prefix}{name}.")
        elif value is None:
            yield prefix + name, "absent"
        else:
            yield prefix + name, table_cell(json.dumps(value, ensure_ascii=False))
