"""Import a release: read every snapshot, compare neighbours, publish as a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from builder.collection import layout as places
from builder.collection.imports.files import ReleasedSnapshot
from builder.collection.imports.found import source_language
from builder.collection.imports.judged import read_common_texts
from builder.collection.imports.origin import Release
from builder.collection.imports.plan import ImportPlan, check_absent, plan_import
from builder.collection.imports.publish import publish_release
from builder.collection.imports.snapshot import ids_of_all, name_queries, write_snapshot
from builder.errors import DataError
from builder.io.disk import explain_errors
from builder.runtime.ledger import Ledger
from builder.runtime.limits import Limits
from builder.runtime.progress import NoProgress, Progress
from builder.runtime.publisher import PARTIAL, WORK, lock_collection, private_folder, publish


@dataclass(frozen=True)
class ImportReport:
    """What was imported.

    Args:
        version: The version folder.
        ledgers: Records read, kept and left out, by snapshot.
        rows: Rows of `queries`, `qrels` and `documents`, by snapshot.
        plan: Files of the release.
    """

    version: Path
    ledgers: Mapping[str, Ledger]
    rows: Mapping[str, Mapping[str, int]]
    plan: ImportPlan


def import_release(
    release: Path | str,
    layout: str,
    out: Path | str,
    *,
    name: str | None = None,
    version: str = "1.0.0",
    edition: str | None = None,
    allow_empty: bool = False,
    limits: Limits,
    progress: Progress | None = None,
) -> ImportReport:
    """Make a collection of a published release.

    Args:
        release: Its folder.
        layout: One of `found.LAYOUTS`.
        out: The collection's folder; the version is published in it.
        name: Of the collection; default: the layout.
        version: Of the collection.
        edition: Of judgements, such as `dctr`, where there are several; default: the layout's
            choice.
        allow_empty: Publish a snapshot whose files of documents, queries or judgements gave no
            row, too.
        limits: Memory, threads, scratch space.
        progress: Where progress goes.

    Raises:
        UsageError: nothing of that layout or edition is there, or the version exists.
        FormatError: a file is damaged beyond reading.
        DataError: another process writes to the collection, or files of a table gave no row.
    """
    plan = plan_import(release, layout, Path(out) / version, edition)
    root, final, snapshots = plan.root, plan.version, plan.snapshots
    common = Release(root, layout, source_language(snapshots), _is_escaped(root))
    meter = progress or NoProgress()
    ledgers: dict[str, Ledger] = {}
    rows: dict[str, dict[str, int]] = {}
    try:
        with (
            explain_errors("the import", final.parent, limits.scratch),
            lock_collection(final.parent),
        ):
            check_absent(final)
            with private_folder(final.parent / WORK / f"{version}{PARTIAL}") as partial:
                _write_snapshots(common, snapshots, partial, limits, meter, ledgers, rows)
                if not allow_empty:
                    _check_sizes(snapshots, rows, ledgers)
                described = (name or layout, version, layout)
                publish_release(partial, *described, snapshots, root, common.source, limits, meter)
                publish(partial, final)
    finally:
        meter.finish()
    return ImportReport(final, ledgers, rows, plan)


def _write_snapshots(
    release: Release,
    snapshots: Sequence[ReleasedSnapshot],
    folder: Path,
    limits: Limits,
    progress: Progress,
    ledgers: dict[str, Ledger],
    rows: dict[str, dict[str, int]],
) -> None:
    """Write the tables of every snapshot; their accounts and rows are added by name."""
    texts = read_common_texts(snapshots[0].texts, release.root)
    named = [name_queries(release, snapshot, texts) for snapshot in snapshots]
    known = ids_of_all(release, named, texts)
    for snapshot, queries in zip(snapshots, named, strict=True):
        home = places.snapshot_folder(folder, snapshot.name)
        home.mkdir(parents=True)
        progress.start(f"import {snapshot.name}", None, "documents")
        ledgers[snapshot.name], rows[snapshot.name] = write_snapshot(
            release, snapshot, queries, known, home, limits, progress
        )
        progress.finish()


def _check_sizes(
    snapshots: Sequence[ReleasedSnapshot],
    rows: Mapping[str, Mapping[str, int]],
    ledgers: Mapping[str, Ledger],
) -> None:
    """Refuse a release that has files of a table of which no record could be read.

    Raises:
        DataError: it has.
    """
    for snapshot in snapshots:
        offered: dict[str, Sequence[object]] = {
            "queries": snapshot.queries,
            "qrels": snapshot.qrels,
            "documents": [path for paths in snapshot.documents.values() for path in paths],
        }
        for table, files in offered.items():
            if files and not rows[snapshot.name][table]:
                reasons = ledgers[snapshot.name].rejected
                said = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
                raise DataError(
                    f"{snapshot.name}: nothing is published, as its {len(files)} files of {table} "
                    f"gave no row ({said or 'they are empty'}); give --allow-empty if that is what "
                    "the release has"
                )


def _is_escaped(root: Path) -> bool:
    """Whether the release is an export of ours, whose texts have their markup escaped."""
    try:
        described: Any = orjson.loads((root / "longeval-export.json").read_text("utf-8"))
        return str(described["markup"]).startswith("tags")
    except (OSError, ValueError, KeyError, TypeError):
        return False
