"""The tables of a dataset card, in Markdown."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.collection.evidence import evidence, percent
from builder.collection.layout import snapshot_folder
from builder.collection.markdown import as_cell


def provenance_table(snapshots: list[dict[str, Any]]) -> str:
    """The raw files of each snapshot, by their sha256."""
    lines = ["| snapshot | input | file | sha256 |", "|---|---|---|---|"]
    for snapshot in snapshots:
        for kind in ("log", "crawl", "judgements", "release"):
            for name, digest in snapshot.get(kind, {}).items():
                lines.append(
                    f"| {snapshot['name']} | {kind} | {as_cell(name)} | `{digest[:16]}...` |"
                )
    return "\n".join(lines)


def funnel_table(selection: dict[str, Any]) -> str:
    """One row for each rule that left a query out anywhere, one column for each snapshot."""
    names = list(selection)
    first = next(iter(selection.values()))
    start = [steps[0]["left_out"] + steps[0]["remaining"] for steps in selection.values()]
    rows = [("in the log", start)]
    for place, step in enumerate(first):
        left_out = [selection[name][place]["left_out"] for name in names]
        if any(left_out):
            rows.append((step["rule"].replace("_", " "), left_out))
    rows.append(("selected", [steps[-1]["remaining"] for steps in selection.values()]))
    lines = [f"| rule | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    lines += [f"| {rule} | {' | '.join(f'{n:,}' for n in counts)} |" for rule, counts in rows]
    return "\n".join(lines) + "\n\n"


def evidence_table(folder: Path, names: list[str]) -> str:
    """One row for each measure, one column for each snapshot."""
    rows = evidence([snapshot_folder(folder, name) for name in names])
    lines = [f"| share | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    lines += [f"| {name} | {' | '.join(map(percent, shares))} |" for name, shares in rows]
    return "\n".join(lines) + "\n\n"


def snapshot_row(snapshot: dict[str, Any], tables: dict[str, Any]) -> str:
    """A row with the interval of a snapshot, and the rows of its tables."""
    name = snapshot["name"]
    counts = [
        tables[f"snapshots/{name}/{kind}"]["rows"] for kind in ("documents", "queries", "qrels")
    ]
    cells = " | ".join(f"{count:,}" for count in counts)
    return f"| {name} | {snapshot['start']} to {snapshot['end']} | {cells} |\n"


def parameter_table(parameters: dict[str, Any]) -> str:
    """One row for each parameter, with its value as a definition has it."""
    lines = ["| parameter | value |", "|---|---|"]
    lines += [f"| {as_cell(key)} | {value} |" for key, value in _values(parameters)]
    return "\n".join(lines)


def _values(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Parameters of a section and its subsections, keyed by their qualified names."""
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _values(value, f"{prefix}{name}.")
        elif value is None:
            yield prefix + name, "absent"
        else:
            yield prefix + name, as_cell(json.dumps(value, ensure_ascii=False))
