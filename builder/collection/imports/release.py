"""Import a release: read every snapshot, compare neighbours, publish as a version."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from builder.collection import layout as places
from builder.collection.imports.documents import Released
from builder.collection.imports.found import ReleasedSnapshot, find_snapshots
from builder.collection.imports.ids import id_frame
from builder.collection.imports.judged import (
    aliases_of,
    identify,
    qrels_table,
    queries_table,
    read_all_queries,
    read_judgements,
)
from builder.collection.imports.notes import Notes
from builder.collection.imports.publish import publish_release
from builder.disk import told
from builder.errors import UsageError
from builder.progress import Progress, Silent
from builder.resources import Limits
from builder.store import PARTIAL
from builder.tables import Ledger, write_frame
from schemas import Qrels, Queries, ReleaseIds

IMPORTED_LAYOUTS = ("longeval-2023", "longeval-web")


@dataclass(frozen=True)
class ImportReport:
    """What was imported.

    Args:
        version: The version folder.
        ledgers: Records read, kept and left out, by snapshot.
    """

    version: Path
    ledgers: Mapping[str, Ledger]


def import_release(
    release: Path | str,
    layout: str,
    out: Path | str,
    *,
    name: str | None = None,
    version: str = "1.0.0",
    limits: Limits,
    progress: Progress | None = None,
) -> ImportReport:
    """Make a collection of a published release.

    Args:
        release: Its folder.
        layout: One of `IMPORTED_LAYOUTS`.
        out: The collection's folder; the version is published in it.
        name: Of the collection; default: the layout.
        version: Of the collection.
        limits: Memory, threads, scratch space.
        progress: Where progress goes.

    Raises:
        UsageError: nothing of that layout is there, or the version exists.
        FormatError: a file is damaged beyond reading.
    """
    if layout not in IMPORTED_LAYOUTS:
        raise UsageError(f"no layout {layout!r}; known are {', '.join(IMPORTED_LAYOUTS)}")
    root, final = Path(release), Path(out) / version
    if final.exists():
        raise UsageError(f"{final} exists; give another --out or --version")
    snapshots = find_snapshots(root, layout)
    partial = final.with_name(f".{version}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    meter = progress or Silent()
    ledgers = {}
    try:
        with told("the import", partial, limits.scratch):
            for snapshot in snapshots:
                folder = places.snapshot_folder(partial, snapshot.name)
                folder.mkdir(parents=True)
                meter.start(f"import {snapshot.name}", None, "documents")
                ledgers[snapshot.name] = _read(snapshot, root, layout, folder, limits, meter)
                meter.finish()
            described = (name or layout, version, layout)
            publish_release(partial, *described, snapshots, root, limits, meter)
            partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return ImportReport(final, ledgers)


def _read(
    snapshot: ReleasedSnapshot,
    root: Path,
    layout: str,
    folder: Path,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Write the tables of one snapshot; returns the account of its records."""
    notes = Notes()
    here = f"{layout} {snapshot.name}"
    french = read_all_queries(snapshot, root, "fr", notes)
    english = read_all_queries(snapshot, root, "en", notes)
    source = french if french.height else english
    kept = identify(source, here, notes)
    aliases = aliases_of(source, here)
    released = Released(
        snapshot,
        root,
        layout if layout == "longeval-web" else here,
        notes,
        is_escaped=_is_escaped(root),
    )
    judged = read_judgements(snapshot, root, aliases, released.id_of, here, notes)
    qrels = qrels_table(judged)
    texts = dict(english.unique("alias", keep="first").select("alias", "text").rows())
    queries = queries_table(kept, texts if french.height else {}, qrels)
    write_frame(qrels, folder / "qrels.parquet", Qrels)
    write_frame(queries, folder / "queries.parquet", Queries)
    released.write(folder, qrels["doc_id"], limits.within(snapshot.name), progress)
    ids = pl.concat([id_frame("query", aliases), id_frame("document", released.ids)])
    write_frame(ids, folder / "release_ids.parquet", ReleaseIds)
    return notes.write(folder)


def _is_escaped(root: Path) -> bool:
    """Whether the release is an export of ours, whose texts have their markup escaped."""
    try:
        described: Any = orjson.loads((root / "longeval-export.json").read_text("utf-8"))
        return str(described["markup"]).startswith("tags")
    except (OSError, ValueError, KeyError, TypeError):
        return False
