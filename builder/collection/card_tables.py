"""Markdown tables for the dataset card."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.collection.evidence import evidence_shares, format_percent
from builder.collection.layout import snapshot_folder
from builder.collection.markdown import table_cell


def provenance_table(snapshots: list[dict[str, Any]]) -> str:
    """Return a table of the input files of each snapshot with their SHA-256."""
    lines = ["| snapshot | input | file | sha256 |", "|---|---|---|---|"]
    for snapshot in snapshots:
        for kind in ("log", "crawl", "judgements", "release"):
            for name, digest in snapshot.get(kind, {}).items():
                lines.append(
                    f"| {snapshot['name']} | {kind} | {table_cell(name)} | `{digest[:16]}...` |"
                )
    return "\n".join(lines)


def funnel_table(funnels: dict[str, Any]) -> str:
    """Return a table of how many queries each selection rule removed, one column per snapshot.

    Rules that removed no query in any snapshot are omitted.
    """
    names = list(funnels)
    first = next(iter(funnels.values()))
    start = [steps[0]["left_out"] + steps[0]["remaining"] for steps in funnels.values()]
    rows = [("in the log", start)]
    for index, step in enumerate(first):
        removed = [funnels[name][index]["left_out"] for name in names]
        if any(removed):
            rows.append((step["rule"].replace("_", " "), removed))
    rows.append(("selected", [steps[-1]["remaining"] for steps in funnels.values()]))
    lines = [f"| rule | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    lines += [f"| {rule} | {' | '.join(f'{n:,}' for n in counts)} |" for rule, counts in rows]
    return "\n".join(lines) + "\n\n"


def evidence_table(version: Path, snapshots: list[str]) -> str:
    """Return a table of click, coverage and translation shares, one column per snapshot."""
    rows = evidence_shares([snapshot_folder(version, name) for name in snapshots])
    lines = [f"| share | {' | '.join(snapshots)} |", f"|---|{'--:|' * len(snapshots)}"]
    lines += [f"| {name} | {' | '.join(map(format_percent, shares))} |" for name, shares in rows]
    return "\n".join(lines) + "\n\n"


def snapshot_row(snapshot: dict[str, Any], tables: dict[str, Any]) -> str:
    """Return a table row with the time interval and the table sizes of a snapshot."""
    name = snapshot["name"]
    counts = [
        tables[f"snapshots/{name}/{kind}"]["rows"] for kind in ("documents", "queries", "qrels")
    ]
    cells = " | ".join(f"{count:,}" for count in counts)
    return f"| {name} | {snapshot['start']} to {snapshot['end']} | {cells} |\n"


def parameter_table(parameters: dict[str, Any]) -> str:
    """Return a table of all parameters and their values, one row per parameter."""
    lines = ["| parameter | value |", "|---|---|"]
    lines += [f"| {table_cell(key)} | {value} |" for key, value in _flatten_parameters(parameters)]
    return "\n".join(lines)


def _flatten_parameters(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted key and the formatted value of each parameter, including subsections."""
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _flatten_parameters(value, f"{prefix}{name}.")
        elif value is None:
            yield prefix + name, "absent"
        else:
            yield prefix + name, table_cell(json.dumps(value, ensure_ascii=False))
