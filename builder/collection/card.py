"""The dataset card of a version: what it holds, how it was made, how to load it."""

from pathlib import Path
from typing import Any

from builder.collection.evidence import evidence, percent
from builder.collection.layout import CARD, snapshot_folder

_FRONT = """---
pretty_name: {name} {version}
language: [{languages}]
task_categories: [text-retrieval]
configs:
{configs}---

# {name} {version}

A longitudinal test collection for information retrieval: the same topics, queried and crawled at
{count} points in time, with graded relevance judgements derived from clicks. Licence: {licence}.

| snapshot | interval | documents | queries | judgements |
|---|---|--:|--:|--:|
{rows}
Document ids and query ids are stable: the same page or query has the same id in every snapshot.

## Files

- `snapshots/<snapshot>/documents/`, `queries.parquet`, `qrels.parquet`: the test collection
- `snapshots/<snapshot>/click_estimates.parquet`: the click counts behind every grade
- `snapshots/<snapshot>/rejects.parquet`: what was left out, and why
- `changes/`: what was added, removed, updated between consecutive snapshots
- `documents_map.parquet`, `queries_map.parquet`: which snapshot holds which id
- `drift.json`, `report.html`: change statistics
- `trec/<snapshot>/`: the same in TREC formats
- `manifest.json`, `SHA256SUMS`: every file, parameter and input by hash; check with
  `sha256sum -c SHA256SUMS`

## How queries were selected

Distinct queries that each rule left out, in the order of the rules.

{funnel}
## Evidence

{evidence}
## Parameters

{parameters}
"""


def write_card(
    folder: Path, defined: dict[str, Any], tables: dict[str, Any], selection: dict[str, Any]
) -> None:
    """Write the card.

    Args:
        folder: The assembled version.
        defined: The definition with defaults and input hashes.
        tables: Rows of every table by path.
        selection: The funnel of queries of each snapshot.
    """
    collection = defined["collection"]
    snapshots = defined["snapshots"]
    text = _FRONT.format(
        name=collection["name"],
        version=collection["version"],
        languages=", ".join(collection["languages"]),
        licence=" ".join(collection["licence"].split()),
        count=len(snapshots),
        configs="".join(
            _configuration(kind, snapshots) for kind in ("documents", "queries", "qrels")
        ),
        rows="".join(_row(s, tables) for s in snapshots),
        funnel=_funnel(selection),
        evidence=_evidence(folder, [s["name"] for s in snapshots]),
        parameters=_parameters(defined["parameters"]),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def _configuration(kind: str, snapshots: list[dict[str, Any]]) -> str:
    """One dataset configuration; split names take no dash."""
    suffix = "/part-*.parquet" if kind == "documents" else ".parquet"
    lines = [f"  - config_name: {kind}\n    data_files:\n"]
    for snapshot in snapshots:
        name = snapshot["name"]
        split = f"snapshot_{name.replace('-', '_')}"
        lines.append(f"      - split: {split}\n        path: snapshots/{name}/{kind}{suffix}\n")
    return "".join(lines)


def _funnel(selection: dict[str, Any]) -> str:
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


def _evidence(folder: Path, names: list[str]) -> str:
    """One row for each measure, one column for each snapshot."""
    rows = evidence([snapshot_folder(folder, name) for name in names])
    lines = [f"| share | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    lines += [f"| {name} | {' | '.join(map(percent, shares))} |" for name, shares in rows]
    return "\n".join(lines) + "\n\n"


def _row(snapshot: dict[str, Any], tables: dict[str, Any]) -> str:
    name = snapshot["name"]
    counts = [
        tables[f"snapshots/{name}/{kind}"]["rows"] for kind in ("documents", "queries", "qrels")
    ]
    cells = " | ".join(f"{count:,}" for count in counts)
    return f"| {name} | {snapshot['start']} to {snapshot['end']} | {cells} |\n"


def _parameters(parameters: dict[str, Any]) -> str:
    lines = ["| parameter | value |", "|---|---|"]
    for section, values in parameters.items():
        for key, value in values.items():
            cell = str(value).replace("|", "\\|").replace("\n", " ")
            lines.append(f"| `{section}.{key}` | `{cell}` |")
    return "\n".join(lines)
