"""Imports a published release, compares its snapshots and publishes them as a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection import layout as collection_layout
from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.layouts import LAYOUTS, detect_source_language
from builder.collection.imports.origin import Release
from builder.collection.imports.plan import ImportPlan, check_version_is_new, plan_import
from builder.collection.imports.publish import complete_release_version
from builder.collection.imports.shared import log_contradicting_urls, read_shared_queries
from builder.collection.imports.snapshot import (
    map_stable_query_ids,
    read_snapshot_queries,
    write_snapshot,
)
from builder.errors import DataError
from builder.io.disk import reraise_as_user_errors
from builder.reporting.numbers import pluralize
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits, limits_or_default
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import (
    PARTIAL,
    WORK,
    lock_collection,
    publish_folder,
    temporary_folder,
)
from builder.text.names import ENGLISH, FRENCH


@dataclass(frozen=True)
class ImportReport:
    """Result of an import: the published version and the number of imported records.

    Args:
        version: Version folder.
        ledgers: Counts of records read, kept and rejected, by snapshot.
        rows: Row counts of `queries`, `qrels` and `documents`, by snapshot.
        plan: Files of the release.
    """

    version: Path
    ledgers: Mapping[str, RowLedger]
    rows: Mapping[str, Mapping[str, int]]
    plan: ImportPlan


def import_release(
    release: Path | str,
    layout: str,
    out: Path | str,
    *,
    name: str | None = None,
    version: str = "1.0.0",
    qrels_variant: str | None = None,
    allow_empty: bool = False,
    limits: ResourceLimits | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a published release as a collection.

    Args:
        release: Folder of the release.
        layout: One of `LAYOUTS`.
        out: Folder of the collection, in which the version is published.
        name: Name of the collection; default: the layout.
        version: Version of the collection.
        qrels_variant: Qrels variant to import, such as `dctr`; default: the variant that the
            layout prefers.
        allow_empty: Whether to publish even if a snapshot has no queries, or its query, qrels or
            document files have no valid row.
        limits: Memory, threads and scratch space; default: 4 GiB, all cores and a temporary folder.
        progress: Progress display; default: none.

    Raises:
        UsageError: The release does not have this layout or qrels variant, or the version exists.
        FormatError: A file cannot be read.
        DataError: Another process is writing to the collection, a snapshot has no queries, or its
            files have no valid row.
    """
    plan = plan_import(release, layout, Path(out) / version, qrels_variant)
    root, final, snapshots = plan.root, plan.version, plan.snapshots
    release_info = Release(root, layout, detect_source_language(snapshots))
    meter = progress or NoProgress()
    ledgers: dict[str, RowLedger] = {}
    rows: dict[str, dict[str, int]] = {}
    try:
        with (
            limits_or_default(limits) as allowed,
            reraise_as_user_errors("the import", final.parent, allowed.scratch),
            lock_collection(final.parent),
        ):
            check_version_is_new(final)
            with temporary_folder(final.parent / WORK / f"{version}{PARTIAL}") as partial:
                _write_snapshots(release_info, snapshots, partial, allowed, meter, ledgers, rows)
                if not allow_empty:
                    _check_tables_not_empty(release_info, snapshots, rows, ledgers)
                description = (name or layout, version, layout)
                complete_release_version(
                    partial,
                    *description,
                    snapshots,
                    root,
                    release_info.source_language,
                    allowed,
                    meter,
                )
                publish_folder(partial, final)
    finally:
        meter.finish()
    return ImportReport(final, ledgers, rows, plan)


def _write_snapshots(
    release: Release,
    snapshots: Sequence[SnapshotFiles],
    folder: Path,
    limits: ResourceLimits,
    progress: Progress,
    ledgers: dict[str, RowLedger],
    row_counts: dict[str, dict[str, int]],
) -> None:
    """Write the tables of every snapshot to `folder`, and fill in `ledgers` and `row_counts`.

    Both mappings are keyed by snapshot name. Problems in the queries and URLs that all snapshots
    share are logged only once, under the first snapshot.
    """
    shared_log = ImportLog()
    texts = read_shared_queries(snapshots[0].query_texts, release.root, shared_log)
    log_contradicting_urls(snapshots[0].url_databases, release.root, shared_log)
    snapshot_queries = [read_snapshot_queries(release, snapshot, texts) for snapshot in snapshots]
    snapshot_queries[0].import_log.merge_rejects(shared_log)
    stable_query_keys = map_stable_query_ids(release, snapshot_queries, texts)
    for snapshot, queries in zip(snapshots, snapshot_queries, strict=True):
        snapshot_folder = collection_layout.snapshot_folder(folder, snapshot.name)
        snapshot_folder.mkdir(parents=True)
        progress.start(f"import {snapshot.name}", None, "documents")
        ledgers[snapshot.name], row_counts[snapshot.name] = write_snapshot(
            release, snapshot, queries, stable_query_keys, snapshot_folder, limits, progress
        )
        progress.finish()


def _check_tables_not_empty(
    release: Release,
    snapshots: Sequence[SnapshotFiles],
    row_counts: Mapping[str, Mapping[str, int]],
    ledgers: Mapping[str, RowLedger],
) -> None:
    """Raise an error if a snapshot has no queries, or if a table has input files but no rows.

    Raises:
        DataError: A snapshot has no queries, or its query, qrels or document files yield no row.
    """
    for snapshot in snapshots:
        if not (snapshot.queries or row_counts[snapshot.name]["queries"]):
            raise DataError(
                f"{snapshot.name}: found no query file; expected "
                f"{LAYOUTS[release.layout].expected_files}; nothing was published; use "
                "--allow-empty if the release has no such data"
            )
        if not row_counts[snapshot.name]["queries"]:
            _check_source_queries(release, snapshot)
        files_by_table: dict[str, Sequence[object]] = {
            "queries": snapshot.queries,
            "qrels": snapshot.qrels,
            "documents": [path for paths in snapshot.documents.values() for path in paths],
        }
        for table, files in files_by_table.items():
            if files and not row_counts[snapshot.name][table]:
                reasons = ledgers[snapshot.name].rejected
                counts = ", ".join(
                    f"{count:,} {reason}" for reason, count in sorted(reasons.items())
                )
                raise DataError(
                    f"{snapshot.name}: no {table} could be read from "
                    f"{pluralize(len(files), 'file')} ({counts or 'the files are empty'}); nothing "
                    "was published; use --allow-empty if the release has no such data"
                )


def _check_source_queries(release: Release, snapshot: SnapshotFiles) -> None:
    """Raise an error if a snapshot of a French release has only English query files.

    Raises:
        DataError: The snapshot has only English query files.
    """
    languages = {language for _, language, _ in snapshot.queries}
    if release.source_language == FRENCH and languages == {ENGLISH}:
        files = ", ".join(relative_path(path, release.root) for path, _, _ in snapshot.queries)
        raise DataError(
            f"{snapshot.name}: expected queries in French, the language of the release, found only "
            f"English queries in {files}; nothing was published; add the French queries, or use "
            "--allow-empty to import the snapshot without queries"
        )
