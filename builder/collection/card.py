"""The dataset card of a version: what it holds, how it was made, how to load it."""

from pathlib import Path
from typing import Any

from builder.collection.evidence import evidence, percent
from builder.collection.layout import CARD, snapshot_folder

_FRONT = """---
pretty_name: {name}
language: [{languages}]
task_categories: [text-retrieval]
configs:
{configs}---
"""

_CARD = """
# {name} {version}

{described}

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
## Personal data

A query is published only where at least {k} users asked it in the snapshot, and where no pattern
with a valid check digit takes it for an address, a number of a person or of an account; what was
withheld is counted above. User identifiers are replaced at ingestion and are in no published
table; times of clicks are reduced to the snapshot. Pages are as their owners published them: they
may name people, and owners may ask for removal.

## Known limits

Grades come from clicks: what nobody saw has none, and what is shown high is clicked more, also
under a click model; `stability` says how sure a grade is. A change between two snapshots may come
from the world or from the construction: `drift.json` marks what looks like the latter. English
texts are machine translations; `flags` of the sentence tables mark doubtful ones.

## Citation

{citation}

## Provenance

{provenance}

## Parameters

{parameters}
"""


_SUFFIXES = {"documents": "/part-*.parquet", "queries": ".parquet", "qrels": ".parquet"}


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
    patterns = {
        f"{kind} {s['name']}": f"snapshots/{s['name']}/{kind}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        for s in snapshots
    }
    text = front_matter(defined, configurations(patterns)) + _CARD.format(
        name=collection["name"],
        version=collection["version"],
        described=described(defined),
        citation=_one_line(collection["citation"]) or "Not stated.",
        provenance=_provenance(snapshots),
        k=defined["parameters"]["select"]["min_users"],
        rows="".join(_row(s, tables) for s in snapshots),
        funnel=_funnel(selection),
        evidence=_evidence(folder, [s["name"] for s in snapshots]),
        parameters=_parameters(defined["parameters"]),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


_RELEASE_CARD = """
# {name} {version}

{described}

Imported from a release in the layout `{layout}`; its licence and terms hold.

| snapshot | interval | documents | queries | judgements |
|---|---|--:|--:|--:|
{rows}
- `snapshots/<snapshot>/release_ids.parquet`: the ids of the release and the stable ones
- `snapshots/<snapshot>/rejects.parquet`, `irregularities.parquet`: what was left out, what was odd
- `drift.json`, `report.html`, `changes/`: what changed from snapshot to snapshot
- `manifest.json`, `SHA256SUMS`: every file and input by hash

What the release does not say is empty or 0: topics, impressions, users, clicks, times of fetches.

## Provenance

{provenance}
"""


def write_release_card(folder: Path, defined: dict[str, Any], tables: dict[str, Any]) -> None:
    """Write the card of an imported release; arguments as of `write_card`."""
    snapshots = defined["snapshots"]
    patterns = {
        f"{kind} {s['name']}": f"snapshots/{s['name']}/{kind}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        for s in snapshots
    }
    text = front_matter(defined, configurations(patterns)) + _RELEASE_CARD.format(
        name=defined["collection"]["name"],
        version=defined["collection"]["version"],
        described=described(defined),
        layout=defined["imported"]["layout"],
        rows="".join(_row(s, tables) for s in snapshots),
        provenance=_provenance(snapshots),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def described(defined: dict[str, Any]) -> str:
    """A collection in two sentences."""
    licence = _one_line(defined["collection"]["licence"])
    return (
        "A longitudinal test collection for information retrieval: the same topics, queried and "
        f"crawled at {len(defined['snapshots'])} points in time, with graded relevance judgements "
        f"derived from clicks. Licence: {licence}."
    )


def front_matter(defined: dict[str, Any], configs: str) -> str:
    """The metadata at the beginning of a card, with its dataset configurations."""
    collection = defined["collection"]
    return _FRONT.format(
        name=f"{collection['name']} {collection['version']}",
        languages=", ".join(collection["languages"]),
        configs=configs,
    )


def configurations(patterns: dict[str, str]) -> str:
    """Dataset configurations, one a table; split names take no dash.

    Args:
        patterns: Paths of the files of each table of a snapshot, by `<table> <snapshot>`.
    """
    lines = []
    before = ""
    for key, pattern in patterns.items():
        kind, _, snapshot = key.partition(" ")
        if kind != before:
            lines.append(f"  - config_name: {kind}\n    data_files:\n")
        before = kind
        split = f"snapshot_{snapshot.replace('-', '_')}"
        lines.append(f"      - split: {split}\n        path: {pattern}\n")
    return "".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _provenance(snapshots: list[dict[str, Any]]) -> str:
    """The raw files of each snapshot, by their sha256."""
    lines = ["| snapshot | input | file | sha256 |", "|---|---|---|---|"]
    for snapshot in snapshots:
        for kind in ("log", "crawl", "judgements", "release"):
            for name, digest in snapshot.get(kind, {}).items():
                cell = _one_line(name).replace("|", "\\|")
                lines.append(f"| {snapshot['name']} | {kind} | `{cell}` | `{digest[:16]}...` |")
    return "\n".join(lines)


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
