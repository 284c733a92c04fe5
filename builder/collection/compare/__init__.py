"""Two versions of a collection, compared: `longeval diff`.

In: two published versions, built or imported. Out: rows added, removed and changed in each table,
what differs in definition and tools, why labels changed, and all of it as a change log. Of a
release that was imported, only what its layout carries is compared; what it lost is named.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.compare.definitions import differences
from builder.collection.compare.judgements import (
    Changed,
    JudgementDifference,
    judged_texts,
    label_causes,
)
from builder.collection.compare.tables import CARRIED, TIMES, Ids, TableDifference, compare_tables
from builder.collection.export import LAYOUTS
from builder.collection.export.longeval_web import LOST
from builder.collection.read import Collection, Snapshot, open_collection
from builder.io import parquet
from builder.io.tables import Table, table_at
from builder.runtime.stage import CONTRACTS
from builder.trec.released import read_release_ids

EVIDENCE_SECTIONS = ("crawl", "documents", "log", "verdicts", "select", "variants", "clicks")
"""Sections of the definition that decide which queries and clicks count, and how they score."""

GRADING_SECTION = "qrels"
INPUTS = ("log", "crawl", "judgements", "release")


@dataclass(frozen=True)
class Difference:
    """How two versions differ.

    Args:
        old: Signature of the old version.
        new: Signature of the new one.
        definition: Keys of the definition that differ.
        tools: Versions of tools that differ.
        lost: What was not compared because a layout cannot hold it.
        tables: Tables of which rows differ.
        judgements: Snapshots of which labels changed or that judge other texts.
    """

    old: str
    new: str
    definition: tuple[str, ...]
    tools: tuple[str, ...]
    lost: tuple[str, ...]
    tables: tuple[TableDifference, ...]
    judgements: tuple[JudgementDifference, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no row differs."""
        return not self.tables

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def compare(old: Path | str, new: Path | str) -> Difference:
    """Compare two versions of a collection.

    Args:
        old: A version folder, or one above it.
        new: The later one.

    Raises:
        UsageError: there is no published collection.
        FormatError: a manifest cannot be read.
    """
    sides = open_collection(old), open_collection(new)
    before, after = (side.manifest for side in sides)
    imported = [m["definition"]["imported"] for m in (before, after) if _is_imported(m)]
    has_times = all(found["layout"] == "longeval-web" for found in imported)
    pairs = (
        compare_tables(
            path,
            *tables,
            {**CARRIED[name], **(TIMES if has_times and name == "documents" else {})}
            if imported
            else None,
            _ids(*sides, path) if len(imported) == 1 else (None, None),
        )
        for path, name, tables in _tables(*sides, only_main=bool(imported))
        if _content(before, path) is None or _content(before, path) != _content(after, path)
    )
    return Difference(
        sides[0].signature,
        sides[1].signature,
        () if imported else tuple(differences(before["definition"], after["definition"])),
        tuple(differences(before["tools"], after["tools"])),
        tuple(dict.fromkeys(line for i in imported for line in _lost(i["layout"]))),
        tuple(found for found in pairs if not found.is_empty),
        tuple(_judgements(*sides)),
    )


def _ids(old: Collection, new: Collection, path: str) -> tuple[Ids, Ids]:
    """The ids of the side that was imported: what was built has the keys for ids."""
    before, after = (read_release_ids((side.path / path).parent) for side in (old, new))
    return before, after


def _lost(layout: str) -> tuple[str, ...]:
    """What a layout cannot hold; of one that we do not write, what none of them can."""
    return LAYOUTS[layout].lost if layout in LAYOUTS else LOST


def _is_imported(manifest: dict[str, Any]) -> bool:
    return "imported" in manifest["definition"]


def _content(manifest: dict[str, Any], path: str) -> str | None:
    entry = manifest["tables"].get(path)
    return None if entry is None else str(entry["content"])


def _tables(
    old: Collection, new: Collection, *, only_main: bool
) -> Iterator[tuple[str, str, tuple[Table, Table]]]:
    """Path, name and both sides of every table that either version may have."""
    if not only_main:
        for name, place in {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}.items():
            yield place, name, _sides((old.path, new.path), place, name)
    for snapshot in sorted({*old.snapshots, *new.snapshots}):
        homes = tuple(layout.snapshot_folder(side.path, snapshot) for side in (old, new))
        for name in CARRIED if only_main else layout.SNAPSHOT_TABLES:
            tables = _sides(homes, name, name)
            if not (only_main and name == "documents" and not all(t.paths for t in tables)):
                yield f"snapshots/{snapshot}/{name}", name, tables


def _sides(homes: tuple[Path, ...], place: str, name: str) -> tuple[Table, Table]:
    first, second = (table_at(home, place, CONTRACTS[name]) for home in homes)
    parquet.check(*first.paths, *second.paths)
    return first, second


def _judgements(old: Collection, new: Collection) -> Iterator[JudgementDifference]:
    for name in (name for name in old.snapshots if name in new.snapshots):
        before, after = old.snapshot(name), new.snapshot(name)
        changed = _changed(old.manifest["definition"], new.manifest["definition"], name)
        causes = label_causes(before.qrels, after.qrels, changed)
        texts = judged_texts(_by_text(before), _by_text(after))
        if causes or texts[1]:
            judged = before.qrels.select(pl.len()).collect().item()
            parameters = (*changed.evidence, *changed.thresholds) if causes else ()
            yield JudgementDifference(name, judged, causes, parameters, *texts)


def _by_text(snapshot: Snapshot) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Queries and qrels of a snapshot, with the key of each query's text as its id."""
    ids = read_release_ids(snapshot.folder)
    if ids is None:
        return snapshot.queries, snapshot.qrels
    named = ids.filter(kind="query").select(query_id="id", by_text=pl.coalesce("text_key", "key"))
    queries, qrels = (
        rows.join(named.lazy(), on="query_id").with_columns(query_id="by_text")
        for rows in (snapshot.queries, snapshot.qrels)
    )
    return queries, qrels


def _changed(old: dict[str, Any], new: dict[str, Any], name: str) -> Changed:
    """What differs between the definitions of two versions for one snapshot."""
    evidence, thresholds = (
        tuple(
            line.partition(":")[0].removesuffix(" changed")
            for section in sections
            for line in differences(
                old["parameters"].get(section), new["parameters"].get(section), section
            )
        )
        for sections in (EVIDENCE_SECTIONS, (GRADING_SECTION,))
    )
    return Changed(evidence, thresholds, _inputs(old, name) != _inputs(new, name))


def _inputs(definition: dict[str, Any], name: str) -> list[Any]:
    """Interval and hashes of the raw files of a snapshot, whatever the files are called."""
    (snapshot,) = (s for s in definition["snapshots"] if s["name"] == name)
    files = [sorted(snapshot.get(kind, {}).values()) for kind in INPUTS]
    topics = sorted(definition.get("topics", {}).values())
    return [snapshot["start"], snapshot["end"], topics, *files]
