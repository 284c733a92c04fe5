"""Writes the dataset card (`README.md`) of a version, with Hugging Face metadata."""

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from builder.collection.card_tables import (
    click_crawl_and_translation_table,
    input_file_table,
    parameter_table,
    selection_funnel_table,
    snapshot_size_table,
)
from builder.collection.layout import CARD
from builder.reporting.numbers import pluralize
from builder.reporting.render import render_markdown

Config = tuple[str, str, list[tuple[str, str]]]
"""Name of a table, glob of its files (empty if it has splits), and (name, glob) of each split."""

_CONTENTS = {
    "documents": "documents",
    "queries": "queries",
    "qrels": "relevance judgements",
}
"""Noun that the card uses for the rows of each main table, by table name."""
_SUFFIXES = {"documents": "/part-*.parquet", "queries": ".parquet", "qrels": ".parquet"}


def write_card(
    folder: Path, definition: dict[str, Any], tables: dict[str, Any], funnels: dict[str, Any]
) -> None:
    """Write the dataset card (`README.md`) of a version; see `render_card`."""
    text = render_card(folder, definition, tables, funnels)
    (folder / CARD).write_text(text, encoding="utf-8")


def render_card(
    folder: Path, definition: dict[str, Any], tables: dict[str, Any], funnels: dict[str, Any]
) -> str:
    """Return the text of the dataset card of a collection version, built or imported.

    Args:
        folder: Folder of the assembled version.
        definition: Definition as recorded in the manifest, with defaults and input hashes.
        tables: Manifest entry of each table, keyed by table path; `rows` is the row count.
        funnels: Number of queries that each selection rule removed, by snapshot; see
            `selection_funnels`. Empty if the version was imported.
    """
    snapshots = definition["snapshots"]
    patterns = {
        f"{kind} {s['name']}": f"snapshots/{s['name']}/{kind}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        for s in snapshots
    }
    common = {
        **card_template_variables(definition, tables, dataset_configs(patterns)),
        "provenance": input_file_table(snapshots),
    }
    if "imported" in definition:
        layout = definition["imported"]["layout"]
        return render_markdown("release_card.md", **common, layout=layout)
    return render_markdown(
        "card.md",
        **common,
        anonymity=_k_anonymity_clause(definition["parameters"]["select"]),
        trec=definition["parameters"]["export"]["trec"],
        is_translated=len(definition["collection"]["languages"]) > 1,
        funnel=selection_funnel_table(funnels),
        evidence=click_crawl_and_translation_table(folder, [s["name"] for s in snapshots]),
        parameters=parameter_table(definition["parameters"]),
    )


def _k_anonymity_clause(select_parameters: dict[str, Any]) -> str:
    """Return the k-anonymity rule as an English clause, such as `at least 5 users submitted it`."""
    k = select_parameters["min_users"]
    if select_parameters["anonymity"] == "users":
        return f"at least {pluralize(k, 'user')} submitted it"
    return f"it was submitted at least {pluralize(k, 'time')}"


def describe_collection(definition: dict[str, Any], tables: dict[str, Any]) -> str:
    """Return a short English description of a collection, with its license.

    Args:
        definition: Definition as recorded in the manifest.
        tables: Manifest entry of each table, keyed by table path; `rows` is the row count.
    """
    licence = collapse_whitespace(definition["collection"]["licence"])
    names = [snapshot["name"] for snapshot in definition["snapshots"]]
    contents = (
        f"{_describe_release_contents(names, tables)}, imported from a release"
        if "imported" in definition
        else f"{pluralize(len(names), 'snapshot')} of documents and queries on the same topics, "
        "with graded relevance judgements derived from clicks"
    )
    return (
        f"A longitudinal test collection for information retrieval: {contents}. Licence: {licence}."
    )


def _describe_release_contents(snapshots: list[str], tables: dict[str, Any]) -> str:
    """Return a phrase that describes a release, such as `2 snapshots with queries`."""
    contents: list[str] = []
    absent: list[str] = []
    for kind, noun in _CONTENTS.items():
        filled = sum(tables[f"snapshots/{name}/{kind}"]["rows"] > 0 for name in snapshots)
        if filled:
            share = "" if filled == len(snapshots) else f" (in {filled} of them)"
            contents.append(f"{noun}{share}")
        else:
            absent.append(noun)
    with_contents = f" with {_join_with_and(contents)}" if contents else ""
    without = f", without {_join_with_and(absent)}" if absent else ""
    return f"{pluralize(len(snapshots), 'snapshot')}{with_contents}{without}"


def _join_with_and(nouns: list[str]) -> str:
    return " and ".join([", ".join(nouns[:-1]), nouns[-1]] if len(nouns) > 1 else nouns)


def card_template_variables(
    definition: dict[str, Any], tables: dict[str, Any], configs: list[Config]
) -> dict[str, Any]:
    """Return the template variables that all dataset cards share.

    Args:
        definition: Definition as recorded in the manifest.
        tables: Manifest entry of each table, keyed by table path; `rows` is the row count.
        configs: Dataset configurations; see `dataset_configs`.
    """
    collection = definition["collection"]
    return {
        "name": collection["name"],
        "version": collection["version"],
        "title": f"{collection['name']} {collection['version']}",
        "languages": collection["languages"],
        "licence_name": json.dumps(collapse_whitespace(collection["licence"]), ensure_ascii=False),
        "configs": configs,
        "described": describe_collection(definition, tables),
        "snapshots": snapshot_size_table(definition["snapshots"], tables),
        "citation": collapse_whitespace(collection.get("citation", "")) or "Not stated.",
    }


def dataset_configs(patterns: dict[str, str]) -> list[Config]:
    """Return the dataset configurations for a Hugging Face card, one per table.

    Each snapshot becomes a split with a name such as `snapshot_2022_06`, because split names cannot
    contain hyphens.

    Args:
        patterns: Glob of the Parquet files of each table, keyed by `<table> <snapshot>`, or by
            `<table>` if the table covers the whole collection.
    """
    parts = [(*key.partition(" ")[::2], pattern) for key, pattern in patterns.items()]
    configs: list[Config] = []
    for table, rows in groupby(parts, itemgetter(0)):
        files = [(snapshot, pattern) for _, snapshot, pattern in rows]
        whole = "".join(pattern for snapshot, pattern in files if not snapshot)
        configs.append((table, whole, [(to_split_name(s), path) for s, path in files if s]))
    return configs


def to_split_name(snapshot: str) -> str:
    """Return the Hugging Face split name of a snapshot, such as `snapshot_2022_06`."""
    return f"snapshot_{snapshot.replace('-', '_')}"


def collapse_whitespace(text: str) -> str:
    """Replace each run of whitespace in a text, including line breaks, with a single space."""
    return " ".join(text.split())
