"""The dataset card of a version: what it holds, how it was made, how to load it."""

import json
from pathlib import Path
from typing import Any

from builder.collection.card_tables import (
    evidence_table,
    funnel_table,
    parameter_table,
    provenance_table,
    snapshot_row,
)
from builder.collection.layout import CARD
from builder.reporting.numbers import pluralize

_FRONT = """---
pretty_name: {name}
language: [{languages}]
license: other
license_name: {licence}
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
{trec}- `manifest.json`, `SHA256SUMS`: every file, parameter and input by hash; check with
  `sha256sum -c SHA256SUMS`

## How queries were selected

Distinct queries that each rule left out, in the order of the rules.

{funnel}
## Evidence

{evidence}
## Personal data

A query is published only where {asked} in the snapshot, and where no pattern
with a valid check digit takes it for an address, a number of a person or of an account; what was
withheld is counted above. User identifiers are replaced at ingestion and are in no published
table; times of clicks are reduced to the snapshot. Pages are as their owners published them: they
may name people, and owners may ask for removal.

## Known limits

Grades come from clicks: what nobody saw has none, and what is shown high is clicked more, also
under a click model; `stability` says how sure a grade is. A change between two snapshots may come
from the world or from the construction: `drift.json` marks what looks like the latter.{translated}

## Citation

{citation}

## Provenance

{provenance}

## Parameters

{parameters}
"""


_TREC = "- `trec/<snapshot>/`: the same in TREC formats\n"
_TRANSLATED = """ English
texts are machine translations; `flags` of the sentence tables mark doubtful ones."""
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
        citation=one_line(collection["citation"]) or "Not stated.",
        provenance=provenance_table(snapshots),
        asked=_asked(defined["parameters"]["select"]),
        trec=_TREC if defined["parameters"]["export"]["trec"] else "",
        translated=_TRANSLATED if len(collection["languages"]) > 1 else "",
        rows="".join(snapshot_row(s, tables) for s in snapshots),
        funnel=funnel_table(selection),
        evidence=evidence_table(folder, [s["name"] for s in snapshots]),
        parameters=parameter_table(defined["parameters"]),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def _asked(select: dict[str, Any]) -> str:
    """What k-anonymity asks of a query."""
    if select["anonymity"] == "users":
        return f"at least {pluralize(select['min_users'], 'user')} asked it"
    return f"it was asked at least {pluralize(select['min_users'], 'time')}"


_RELEASE_CARD = """
# {name} {version}

{described}

Imported from a release in the layout `{layout}`; its licence and terms hold.

| snapshot | interval | documents | queries | judgements |
|---|---|--:|--:|--:|
{rows}
- `snapshots/<snapshot>/release_ids.parquet`: the keys by which ids are aligned over time
- `snapshots/<snapshot>/rejects.parquet`, `irregularities.parquet`: what was left out, what was odd
- `drift.json`, `report.html`, `changes/`: what changed from snapshot to snapshot
- `manifest.json`, `SHA256SUMS`: every file and input by hash

Ids are those of the release; maps, changes and drift have the keys of texts and addresses, which
are the same in every snapshot. What the release does not say is empty or 0: topics, impressions,
users, clicks, times of fetches.

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
        rows="".join(snapshot_row(s, tables) for s in snapshots),
        provenance=provenance_table(snapshots),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def described(defined: dict[str, Any]) -> str:
    """A collection in two sentences."""
    licence = one_line(defined["collection"]["licence"])
    moments = pluralize(len(defined["snapshots"]), "point")
    return (
        "A longitudinal test collection for information retrieval: the same topics, queried and "
        f"crawled at {moments} in time, with graded relevance judgements derived from clicks. "
        f"Licence: {licence}."
    )


def front_matter(defined: dict[str, Any], configs: str) -> str:
    """The metadata at the beginning of a card, with its dataset configurations."""
    collection = defined["collection"]
    return _FRONT.format(
        name=f"{collection['name']} {collection['version']}",
        languages=", ".join(collection["languages"]),
        licence=json.dumps(one_line(collection["licence"]), ensure_ascii=False),
        configs=configs,
    )


def configurations(patterns: dict[str, str]) -> str:
    """Dataset configurations, one a table; split names take no dash.

    Args:
        patterns: Paths of the files of each table of a snapshot, by `<table> <snapshot>`; of the
            whole collection by `<table>`.
    """
    lines = []
    before = ""
    for key, pattern in patterns.items():
        kind, _, snapshot = key.partition(" ")
        if not snapshot:
            lines.append(f"  - config_name: {kind}\n    data_files: {pattern}\n")
            continue
        if kind != before:
            lines.append(f"  - config_name: {kind}\n    data_files:\n")
        before = kind
        split = f"snapshot_{snapshot.replace('-', '_')}"
        lines.append(f"      - split: {split}\n        path: {pattern}\n")
    return "".join(lines)


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())
