"""Counts the queries and documents that an export omits because they have no text in its language.

Only imported releases have such queries and documents.
"""

from collections.abc import Mapping

import polars as pl

from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.errors import DataError
from builder.io.tables import Table
from builder.reporting.numbers import pluralize
from builder.text.names import SOURCE_SUFFIX

OmittedRowCounts = dict[str, dict[str, dict[str, int]]]
"""Number of omitted rows by snapshot, language and table; zero counts are left out."""
TABLES = {"queries": "query", "documents": "document"}
"""Noun for one row of each table with texts, by table name."""


def count_omitted_rows(collection: Collection, languages: Mapping[str, str]) -> OmittedRowCounts:
    """Count the queries and documents of each snapshot that have no text in a language.

    Args:
        collection: Collection to export.
        languages: Column suffix of each language to export, by language code.

    Raises:
        DataError: A snapshot has queries or documents, but none in the given languages.
    """
    omitted: OmittedRowCounts = {}
    for name in collection.snapshots:
        for kind, noun in TABLES.items():
            table: Table = getattr(SnapshotTables(collection, name), kind)
            rows, missing = _count_missing_texts(table, languages)
            if rows and min(missing.values()) == rows:
                raise DataError(
                    f"{collection.path}: snapshot {name} has {pluralize(rows, noun, kind)}, "
                    f"but none with a text in {' or '.join(languages)}; choose another --language "
                    f"(this collection has {', '.join(collection.languages)})"
                )
            for language, count in missing.items():
                if count:
                    omitted.setdefault(name, {}).setdefault(language, {})[kind] = count
    return omitted


def describe_omitted_rows(omitted: OmittedRowCounts) -> list[str]:
    """Return one line per snapshot and language for which queries or documents are omitted."""
    return [
        f"omitted from {snapshot} (no text in {language}): "
        + ", ".join(
            pluralize(rows[kind], noun, kind) for kind, noun in TABLES.items() if kind in rows
        )
        for snapshot, languages in omitted.items()
        for language, rows in languages.items()
    ]


def _count_missing_texts(table: Table, languages: Mapping[str, str]) -> tuple[int, dict[str, int]]:
    """Return the number of rows, and for each language the number of rows without a text."""
    if not table.paths:
        return 0, dict.fromkeys(languages, 0)
    missing = (
        (pl.lit(0) if suffix == SOURCE_SUFFIX else pl.col(f"text{suffix}").null_count()).alias(name)
        for name, suffix in languages.items()
    )
    counts = table.scan().select(pl.len().alias("rows"), *missing).collect(engine="streaming")
    found = counts.row(0, named=True)
    return found.pop("rows"), found
