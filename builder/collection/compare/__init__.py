"""Implements `longeval diff`, which compares two published versions of a collection.

The result lists the rows added, removed and changed in each table, the differences between the
definitions and the tools, and why grades changed. If a version is an imported release, only the
data that its file layout can represent are compared; data that are not compared are listed.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.compare.changes import (
    EVIDENCE,
    definition_parts_affecting_judged_pairs,
    find_definition_changes,
    find_grading_changes,
)
from builder.collection.compare.definitions import (
    diff_code_versions,
    diff_definitions,
    diff_drift_files,
)
from builder.collection.compare.judgements import (
    JudgementDifference,
    count_grade_changes,
    count_text_mismatches,
    scan_queries_and_qrels,
)
from builder.collection.compare.tables import (
    RELEASE_COLUMNS,
    ReleaseIdFrame,
    TableDifference,
    compare_tables,
    release_value_exprs,
)
from builder.collection.export import LAYOUTS
from builder.collection.export.longeval_web import OMITTED
from builder.collection.files import find_changed_table_files
from builder.collection.manifest import code_versions
from builder.collection.read import Collection, Snapshot, open_collection
from builder.errors import UsageError
from builder.io import parquet
from builder.io.tables import Table, table_at
from builder.runtime.stage import SCHEMAS
from builder.trec.released import read_release_ids


@dataclass(frozen=True)
class VersionDifference:
    """Differences between two versions of a collection.

    Args:
        old: Signature of the old version.
        new: Signature of the new version.
        definition: Changed keys of the definition, one line per key.
        tools: Stages and libraries whose version changed, one line each.
        lost: Data that were not compared because the file layout of an imported release does not
            contain them.
        tables: Number of added, removed and changed rows of each table that differs.
        judgements: Differences of each snapshot whose grades or judged query texts changed.
        drift: Top-level keys of `drift.json` whose values differ, sorted; empty if only one version
            is an imported release.
        changed_files: Files that differ from the manifest of their version, one line each.
    """

    old: str
    new: str
    definition: tuple[str, ...]
    tools: tuple[str, ...]
    lost: tuple[str, ...]
    tables: tuple[TableDifference, ...]
    judgements: tuple[JudgementDifference, ...]
    drift: tuple[str, ...]
    changed_files: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all tables of the two versions are equal."""
        return not self.tables

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as a dictionary that can be serialized to JSON."""
        return asdict(self)


def compare(old: Path | str, new: Path | str) -> VersionDifference:
    """Compare two published versions of a collection.

    Args:
        old: Folder of the old version, or a parent folder of it.
        new: Folder of the new version, or a parent folder of it.

    Raises:
        UsageError: A path contains no published collection, or one of the versions is an imported
            release and their source languages differ.
        FormatError: A manifest or table file is not valid.
    """
    sides = open_collection(old), open_collection(new)
    before, after = (side.manifest for side in sides)
    imported = [m["definition"]["imported"] for m in (before, after) if _is_imported(m)]
    if imported:
        _require_same_source_language(*sides)
    tables, changed_files = _compare_all_tables(*sides, imported)
    return VersionDifference(
        sides[0].signature,
        sides[1].signature,
        () if imported else tuple(diff_definitions(before, after)),
        tuple(diff_code_versions(code_versions(before), code_versions(after))),
        tuple(
            dict.fromkeys(line for i in imported for line in _describe_omitted_data(i["layout"]))
        ),
        tuple(pair for pair in tables if not pair.is_empty),
        tuple(_iter_judgement_differences(*sides)),
        diff_drift_files(*(side.path for side in sides)) if len(imported) != 1 else (),
        tuple(dict.fromkeys(changed_files)),
    )


def _require_same_source_language(old: Collection, new: Collection) -> None:
    """Raise an error if the versions have different source languages.

    Queries are matched by their source texts, so they must be in the same language.

    Raises:
        UsageError: The source languages differ.
    """
    languages = [next(iter(side.languages)) for side in (old, new)]
    if languages[0] != languages[1]:
        raise UsageError(
            f"expected versions with the same source language, found {languages[0]} in {old.path} "
            f"and {languages[1]} in {new.path}; queries are matched by their source texts, so "
            "import a release in the language of the other version, or an export made with "
            "--language in that language"
        )


def _compare_all_tables(
    old: Collection, new: Collection, imported: list[dict[str, Any]]
) -> tuple[list[TableDifference], list[str]]:
    """Return the differences of all tables, and the files that differ from their manifest.

    Tables with the same content hash in both manifests are skipped, unless a file was changed.
    """
    layouts = [release["layout"] for release in imported]
    differences, changed_files = [], []
    for path, name, tables in _iter_table_pairs(old, new, main_only=bool(imported)):
        changed = [line for side in (old, new) for line in _describe_changed_files(side, path)]
        changed_files += changed
        hashes = [_content_hash(side.manifest, path) for side in (old, new)]
        if not changed and hashes[0] is not None and hashes[0] == hashes[1]:
            continue
        columns = release_value_exprs(name, layouts) if imported else None
        ids = _release_id_tables(old, new, path) if len(imported) == 1 else (None, None)
        differences.append(compare_tables(path, *tables, columns, ids))
    return differences, changed_files


def _describe_changed_files(version: Collection, table: str) -> list[str]:
    changed = find_changed_table_files(version.path, version.manifest["files"], table)
    return [f"{version.path / name}: {change.description}" for name, change in changed.items()]


def _release_id_tables(
    old: Collection, new: Collection, path: str
) -> tuple[ReleaseIdFrame, ReleaseIdFrame]:
    """Return the old and the new `ReleaseIds` table of the snapshot that contains a table.

    Either is None if that version is not an imported release.

    Args:
        old: Old version.
        new: New version.
        path: Path of the table in the version folder.

    Returns:
        The tables of the old and of the new version.
    """
    before, after = (read_release_ids((side.path / path).parent) for side in (old, new))
    return before, after


def _describe_omitted_data(layout: str) -> tuple[str, ...]:
    """Return descriptions of the data that a release in the given file layout does not contain.

    If there is no exporter for the layout, the descriptions of LongEval Web are returned.
    """
    return LAYOUTS[layout].omitted if layout in LAYOUTS else OMITTED


def _is_imported(manifest: dict[str, Any]) -> bool:
    return "imported" in manifest["definition"]


def _content_hash(manifest: dict[str, Any], path: str) -> str | None:
    """Return the content hash of a table; None if the manifest has none."""
    return manifest["tables"].get(path, {}).get("content") or None


def _iter_table_pairs(
    old: Collection, new: Collection, *, main_only: bool
) -> Iterator[tuple[str, str, tuple[Table, Table]]]:
    """Yield (path, schema name, (old, new) tables) for each table that either version may contain.

    Args:
        old: Old version.
        new: New version.
        main_only: Yield only documents, queries and qrels. Set if either version is an imported
            release, which has no other tables.
    """
    if not main_only:
        for name, path in {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}.items():
            yield path, name, _open_table_pair((old.path, new.path), path, name)
    for snapshot in sorted({*old.snapshots, *new.snapshots}):
        folders = tuple(layout.snapshot_folder(side.path, snapshot) for side in (old, new))
        for name in RELEASE_COLUMNS if main_only else layout.SNAPSHOT_TABLES:
            tables = _open_table_pair(folders, name, name)
            if not (main_only and name == "documents" and not all(t.paths for t in tables)):
                yield f"snapshots/{snapshot}/{name}", name, tables


def _open_table_pair(folders: tuple[Path, ...], path: str, name: str) -> tuple[Table, Table]:
    first, second = (table_at(home, path, SCHEMAS[name]) for home in folders)
    parquet.check_readable(*first.paths, *second.paths)
    return first, second


def _iter_judgement_differences(old: Collection, new: Collection) -> Iterator[JudgementDifference]:
    imported = any(_is_imported(side.manifest) for side in (old, new))
    pairs = {
        name: (old.snapshot(name), new.snapshot(name))
        for name in old.snapshots
        if name in new.snapshots
    }
    differ = {name: _judged_documents_differ(*pair) for name, pair in pairs.items()}
    manifests = old.manifest, new.manifest
    for name, (before, after) in pairs.items():
        grading = find_grading_changes(manifests, name, differ)
        evidence = find_definition_changes(manifests, name, EVIDENCE)
        causes = count_grade_changes(before.qrels, after.qrels, evidence, grading)
        texts = count_text_mismatches(scan_queries_and_qrels(before), scan_queries_and_qrels(after))
        if causes or texts[1]:
            judged = find_definition_changes(
                manifests, name, *definition_parts_affecting_judged_pairs(differ[name])
            )
            shown = judged if texts[1] else grading
            cause = "unknown" if imported else judged.cause_of_judged_pair_changes
            yield JudgementDifference(
                name,
                before.qrels.select(pl.len()).collect().item(),
                causes,
                (*shown.evidence, *shown.thresholds),
                *texts,
                cause if texts[1] else None,
                imported,
            )


def _judged_documents_differ(before: Snapshot, after: Snapshot) -> bool:
    """Whether any document judged in one version of a snapshot is missing from the other."""
    return any(
        not judges.qrels.join(other.documents, on="doc_id", how="anti").head(1).collect().is_empty()
        for judges, other in ((before, after), (after, before))
    )
