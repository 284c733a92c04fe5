"""Measures how a published collection changes between snapshots: `longeval drift`.

Statistics of consecutive snapshots are read from the published `drift.json`. Statistics of other
pairs of snapshots are computed in the same format from the tables of the collection.
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.drift_file import read_drift
from builder.collection.imports.publish import write_tables_with_stable_ids
from builder.collection.manifest import snapshot_parameters
from builder.collection.read import Collection, open_collection
from builder.documents.coverage import NOT_IN_COLLECTION, measure_coverage
from builder.drift import (
    FORMAT,
    OptionalInputs,
    compare_snapshots,
    measure_all_snapshots,
    select_pair,
)
from builder.drift.pair_drift import OPTIONAL_TABLES
from builder.errors import FormatError, UsageError, suggest
from builder.io.tables import Table, table_at
from builder.parameters import ChangeParameters, DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.text.keys import id_to_key
from schemas import TABLES, Pages, ShownDocuments

MAIN = ("documents", "queries", "qrels")


def compute_drift(
    path: Path, start: str | None, end: str | None, limits: ResourceLimits, progress: Progress
) -> dict[str, Any]:
    """Return drift statistics of one pair of snapshots or, by default, of all consecutive pairs.

    Args:
        path: Version folder, or its parent folder.
        start: Earlier snapshot; defaults to the first snapshot if only `end` is given.
        end: Later snapshot; defaults to the last snapshot if only `start` is given.
        limits: Memory limit, thread count and scratch folder.
        progress: Progress display; advanced by the number of compared documents.

    Returns:
        The statistics in the format of `drift.json`.

    Raises:
        UsageError: The version has no `drift.json`, a snapshot is unknown, or `end` is not after
            `start`.
        FormatError: `drift.json` is not valid.
    """
    collection = open_collection(path)
    measured = _read_published_drift(collection.path)
    if start is None and end is None:
        return measured
    names = collection.snapshots
    pair = (
        _check_snapshot_name(start or names[0], names),
        _check_snapshot_name(end or names[-1], names),
    )
    first, second = (names.index(name) for name in pair)
    if first >= second:
        raise UsageError(
            f"--from, --to: expected an earlier and a later snapshot, found {pair[0]}, {pair[1]}"
        )
    if second == first + 1:
        return select_pair(measured, pair)
    return _compute_pair_drift(collection, pair, limits, progress)


def _read_published_drift(version: Path) -> dict[str, Any]:
    path, content = version / layout.DRIFT, read_drift(version)
    if content is None:
        raise UsageError(f"{path}: file not found; rebuild the collection")
    found = content.get("format")
    if found != FORMAT:
        raise FormatError(f"expected format {FORMAT}, found {found}; rebuild the collection", path)
    return content


def _check_snapshot_name(name: str, snapshots: tuple[str, ...]) -> str:
    if name not in snapshots:
        raise UsageError(f"unknown snapshot {name!r}; {suggest(name, snapshots)}")
    return name


def _compute_pair_drift(
    collection: Collection, pair: tuple[str, str], limits: ResourceLimits, progress: Progress
) -> dict[str, Any]:
    """Compute the drift statistics of two snapshots that need not be consecutive."""
    out = limits.scratch / "maps"
    out.mkdir()
    tables = {name: _open_main_tables(collection, name, limits) for name in pair}
    main = {kind: {name: tables[name][kind] for name in pair} for kind in MAIN}
    parameters = collection.manifest["definition"].get("parameters", {})
    params = ChangeParameters(**parameters.get("changes", {}))
    series, _ = compare_snapshots(
        out,
        main,
        params,
        limits.with_scratch_folder("pair"),
        progress,
        _open_optional_inputs(collection, pair, limits),
    )
    diagnostics = {name: _open_table(collection, name, "click_diagnostics") for name in pair}
    existing = {name: table for name, table in diagnostics.items() if table.paths}
    return measure_all_snapshots(
        series, params, limits.with_scratch_folder("drift"), progress, existing
    )


def _open_main_tables(
    collection: Collection, snapshot: str, limits: ResourceLimits
) -> dict[str, Table]:
    """Return the documents, queries and qrels of a snapshot, with ids stable across snapshots.

    An imported release may use different ids in each snapshot; these ids are replaced with keys
    that are the same in all snapshots.
    """
    if "imported" in collection.manifest["definition"]:
        return write_tables_with_stable_ids(collection.path, snapshot, limits)
    return {kind: _open_table(collection, snapshot, kind) for kind in MAIN}


def _open_table(collection: Collection, snapshot: str, name: str) -> Table:
    return table_at(layout.snapshot_folder(collection.path, snapshot), name, TABLES[name])


def _open_optional_inputs(
    collection: Collection, pair: tuple[str, str], limits: ResourceLimits
) -> OptionalInputs:
    parameters = collection.manifest["definition"].get("parameters", {})
    if not parameters:
        return OptionalInputs()
    shown = _missing_shown_documents(collection, pair[1], limits.scratch)
    return OptionalInputs(
        _crawled_documents(collection, pair, limits.scratch) if shown else {},
        {
            kind: {name: _open_table(collection, name, kind) for name in pair}
            for kind in OPTIONAL_TABLES
        },
        DocumentParameters(**parameters.get("documents", {})),
        {name: snapshot_parameters(collection.manifest, name) for name in pair},
        {pair[1]: shown} if shown else {},
    )


def _missing_shown_documents(
    collection: Collection, snapshot: str, scratch: Path
) -> Table[ShownDocuments] | None:
    """Return the documents that were shown to users but are missing from the given snapshot.

    The documents are read from the rejects of the snapshot.

    Returns:
        Table with one row per document; None if some rejects have no document id.
    """
    rejects = collection.snapshot(snapshot).rejects
    left_out = rejects.filter(stage=measure_coverage.name, reason=NOT_IN_COLLECTION).collect()
    if left_out["key"].null_count():
        return None
    path = scratch / f"left-out-{snapshot}.parquet"
    left_out.select(doc=id_to_key("key")).write_parquet(path)
    return Table((path,), ShownDocuments)


def _crawled_documents(
    collection: Collection, pair: tuple[str, str], scratch: Path
) -> dict[str, Table[Pages]]:
    """Return a dict mapping each snapshot name to a table of the documents in its crawl.

    The result is empty if the collection does not record which crawls contained a document.
    """
    documents = collection.table("documents_map").select("doc_id", "crawled").collect()
    if documents["crawled"].null_count():
        return {}
    tables = {}
    for name in pair:
        path = scratch / f"crawled-{name}.parquet"
        documents.filter(pl.col("crawled").list.contains(name)).select(
            doc=id_to_key("doc_id")
        ).write_parquet(path)
        tables[name] = Table((path,), Pages)
    return tables
