"""Writes the dataset card of a version (`README.md`), with Hugging Face metadata."""

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
Document ids and query ids are stable: a page or query has the same id in every snapshot.

## Files

- `snapshots/<snapshot>/documents/`, `queries.parquet`, `qrels.parquet`: the test collection
- `snapshots/<snapshot>/click_estimates.parquet`: the click counts behind every grade
- `snapshots/<snapshot>/rejects.parquet`: rejected input rows, with the reason
- `changes/`: documents, queries and judgements added, removed or updated between consecutive
  snapshots
- `documents_map.parquet`, `queries_map.parquet`: the snapshots that contain each id
- `drift.json`, `report.html`: change statistics
{trec}- `manifest.json`, `SHA256SUMS`: all parameters, and the hashes of all files and inputs;
  verify with `sha256sum -c SHA256SUMS`

## How queries were selected

Number of distinct queries removed by each rule, in the order in which the rules are applied.

{funnel}
## Evidence

{evidence}
## Personal data

A query is published only if {anonymity} in the snapshot, and if no pattern identifies it as an
e-mail address, a phone number, or a personal or account number with a valid check digit; the
queries withheld by these rules are counted above. User identifiers are replaced during ingestion
and appear in no published table; the time of a click is published only as its snapshot. Pages
appear as their owners published them: they may contain names of people, and owners may request
their removal.

## Known limits

Grades are estimated from clicks: a document that was never shown has no grade, and documents at
high ranks receive more clicks, which a click model corrects only in part. The column `stability`
states how reliable a grade is. A change between two snapshots may have been caused by the real
world or by the construction of the collection; `drift.json` marks changes that were probably
caused by the construction.{translated}

## Citation

{citation}

## Provenance

{provenance}

## Parameters

{parameters}
"""


_TREC = "- `trec/<snapshot>/`: documents, topics and qrels in TREC formats\n"
_TRANSLATED = """
English texts are machine translations; the column `flags` of the sentence tables marks those that
are probably wrong."""
_SUFFIXES = {"documents": "/part-*.parquet", "queries": ".parquet", "qrels": ".parquet"}


def write_card(
    folder: Path, definition: dict[str, Any], tables: dict[str, Any], funnels: dict[str, Any]
) -> None:
    """Write the dataset card of a version built by this package.

    Args:
        folder: Folder of the assembled version.
        definition: Definition as recorded in the manifest, with defaults and input hashes.
        tables: Manifest entries of the tables (with `rows`) by path.
        funnels: Query selection funnel of each snapshot; see `selection_funnels`.
    """
    collection = definition["collection"]
    snapshots = definition["snapshots"]
    patterns = {
        f"{kind} {s['name']}": f"snapshots/{s['name']}/{kind}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        for s in snapshots
    }
    text = front_matter(definition, dataset_configs(patterns)) + _CARD.format(
        name=collection["name"],
        version=collection["version"],
        described=describe_collection(definition),
        citation=single_line(collection["citation"]) or "Not stated.",
        provenance=provenance_table(snapshots),
        anonymity=_anonymity_rule(definition["parameters"]["select"]),
        trec=_TREC if definition["parameters"]["export"]["trec"] else "",
        translated=_TRANSLATED if len(collection["languages"]) > 1 else "",
        rows="".join(snapshot_row(s, tables) for s in snapshots),
        funnel=funnel_table(funnels),
        evidence=evidence_table(folder, [s["name"] for s in snapshots]),
        parameters=parameter_table(definition["parameters"]),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def _anonymity_rule(select: dict[str, Any]) -> str:
    """Return the k-anonymity condition of section `[select]` as an English clause."""
    if select["anonymity"] == "users":
        return f"at least {pluralize(select['min_users'], 'user')} submitted it"
    return f"it was submitted at least {pluralize(select['min_users'], 'time')}"


_RELEASE_CARD = """
# {name} {version}

{described}

Imported from a release in the layout `{layout}`; its licence and terms of use apply.

| snapshot | interval | documents | queries | judgements |
|---|---|--:|--:|--:|
{rows}
- `snapshots/<snapshot>/release_ids.parquet`: maps the ids of the release to stable keys
- `snapshots/<snapshot>/rejects.parquet`: rejected input rows, with the reason
- `snapshots/<snapshot>/irregularities.parquet`: unexpected values found in the release
- `drift.json`, `report.html`, `changes/`: changes between consecutive snapshots
- `manifest.json`, `SHA256SUMS`: hashes of all files and inputs

Documents, queries and qrels keep the ids of the release. Maps, changes and drift use keys derived
from texts and URLs, which are the same in every snapshot. Values that the release does not contain
(topics, impressions, users, clicks, fetch times) are empty or 0.

## Provenance

{provenance}
"""


def write_release_card(folder: Path, definition: dict[str, Any], tables: dict[str, Any]) -> None:
    """Write the dataset card of an imported release."""
    snapshots = definition["snapshots"]
    patterns = {
        f"{kind} {s['name']}": f"snapshots/{s['name']}/{kind}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        for s in snapshots
    }
    text = front_matter(definition, dataset_configs(patterns)) + _RELEASE_CARD.format(
        name=definition["collection"]["name"],
        version=definition["collection"]["version"],
        described=describe_collection(definition),
        layout=definition["imported"]["layout"],
        rows="".join(snapshot_row(s, tables) for s in snapshots),
        provenance=provenance_table(snapshots),
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def describe_collection(definition: dict[str, Any]) -> str:
    """Return a description of a collection in two sentences."""
    licence = single_line(definition["collection"]["licence"])
    snapshots = pluralize(len(definition["snapshots"]), "snapshot")
    return (
        f"A longitudinal test collection for information retrieval: {snapshots} of documents and "
        "queries on the same topics, with graded relevance judgements derived from clicks. "
        f"Licence: {licence}."
    )


def front_matter(definition: dict[str, Any], configs: str) -> str:
    """Return the YAML front matter of a dataset card.

    Args:
        definition: Definition as recorded in the manifest.
        configs: Dataset configurations; see `dataset_configs`.
    """
    collection = definition["collection"]
    return _FRONT.format(
        name=f"{collection['name']} {collection['version']}",
        languages=", ".join(collection["languages"]),
        licence=json.dumps(single_line(collection["licence"]), ensure_ascii=False),
        configs=configs,
    )


def dataset_configs(patterns: dict[str, str]) -> str:
    """Return the `configs:` list of a Hugging Face card, with a configuration per table.

    Each snapshot is a split, named `snapshot_2022_06` because split names cannot contain dashes.

    Args:
        patterns: Glob of the Parquet files of each table, by `<table> <snapshot>`, or by `<table>`
            for tables of the whole collection.
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


def single_line(text: str) -> str:
    """Replace every run of white space in a text, including line breaks, by a single space."""
    return " ".join(text.split())
