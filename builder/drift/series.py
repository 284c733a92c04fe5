"""Defines the tables from which drift is computed, and creates them outside of a build."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import duckdb

from builder.alignment import align_snapshots, build_id_maps
from builder.drift.checks import SnapshotParameters
from builder.drift.pair_drift import OPTIONAL_TABLES, measure_pair
from builder.drift.words import count_lost_words, count_snapshot_words
from builder.io.tables import Table, table_at
from builder.parameters import ChangeParameters, DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from schemas import TABLES, Documents, Pages, Queries, ShownDocuments

CHANGES = ("document_changes", "query_changes", "qrel_changes")

Pair = tuple[str, str]
Tables = Mapping[str, Table]
PairTables = Mapping[Pair, Table]


@dataclass(frozen=True)
class SnapshotSeries:
    """Tables of a collection, by snapshot name or by the names of two consecutive snapshots."""

    documents: Tables
    queries: Tables
    qrels: Tables
    word_counts: Tables
    lost_words: PairTables
    pair_drift: PairTables
    documents_map: Table
    queries_map: Table

    @property
    def names(self) -> tuple[str, ...]:
        """Snapshot names in chronological order."""
        return tuple(self.documents)

    @property
    def table_count(self) -> int:
        """Number of tables in the series."""
        return 4 * len(self.documents) + 2 * len(self.pair_drift) + 2

    def create_snapshot_views(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Create the views `documents`, `queries` and `qrels` of one snapshot."""
        self.documents[name].create_view(connection, "documents")
        self.queries[name].create_view(connection, "queries")
        self.qrels[name].create_view(connection, "qrels")


@dataclass(frozen=True)
class OptionalInputs:
    """Tables and parameters that are missing for imported releases; empty by default.

    Args:
        pages: Pages of each crawl (only the column `doc` is read), by snapshot.
        tables: Tables of `builder.drift.pair_drift.OPTIONAL_TABLES`, by table name and snapshot.
        sampling: Parameters of the section `[documents]`, which has the share and seed of the
            random sample of documents; None if unknown.
        recorded: Parameters with which each snapshot was built, by snapshot and dotted key.
        shown: Documents shown to users for selected queries (column `doc`), by snapshot; the table
            of a snapshot may omit documents that the snapshot contains.
    """

    pages: Mapping[str, Table[Pages]] = field(default_factory=dict)
    tables: Mapping[str, Tables] = field(default_factory=dict)
    sampling: DocumentParameters | None = None
    recorded: Mapping[str, SnapshotParameters] = field(default_factory=dict)
    shown: Mapping[str, Table[ShownDocuments]] = field(default_factory=dict)

    def alignment_arguments(self, pair: Pair) -> dict[str, Any]:
        """Return the optional keyword arguments of `align_snapshots` for a pair of snapshots."""
        pages = {
            f"pages_{side}": self.pages.get(name) for side, name in _snapshot_names_by_side(pair)
        }
        return {**pages, "shown_documents_to": self.shown.get(pair[1]), "sampling": self.sampling}

    def drift_arguments(self, pair: Pair) -> dict[str, Any]:
        """Return the optional keyword arguments of `measure_pair` for a pair of snapshots."""
        tables = {
            f"{kind}_{side}": self.tables.get(kind, {}).get(name)
            for kind in OPTIONAL_TABLES
            for side, name in _snapshot_names_by_side(pair)
        }
        return {**tables, "recorded": self.recorded}


def _snapshot_names_by_side(pair: Pair) -> Iterator[tuple[str, str]]:
    return zip(("from", "to"), pair, strict=True)


def compare_snapshots(
    out: Path,
    main_tables: Mapping[str, Tables],
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
    optional_inputs: OptionalInputs | None = None,
) -> tuple[SnapshotSeries, dict[str, dict[Pair, Table]]]:
    """Create the tables from which drift is computed, given documents, queries and qrels.

    Args:
        out: Existing folder, to which the tables `documents_map` and `queries_map` are written.
        main_tables: Tables `documents`, `queries` and `qrels`, each by snapshot in chronological
            order.
        params: Parameters of document comparison.
        limits: Memory limit, number of threads, and the scratch folder that receives all other
            tables.
        progress: Receives the number of documents read.
        optional_inputs: Tables and parameters that imported releases lack; None if all are missing.

    Returns:
        The series, and the change tables by table name and pair of snapshots.
    """
    optional_inputs = optional_inputs or OptionalInputs()
    steps = _StageRunner(main_tables, params, limits, progress, optional_inputs)
    names = list(main_tables["documents"])
    counts = {name: steps.count_words(index) for index, name in enumerate(names)}
    pairs = {pair: steps.compare_pair(index, pair) for index, pair in enumerate(pairwise(names))}
    build_id_maps(
        out,
        documents=cast("Mapping[str, Table[Documents]]", main_tables["documents"]),
        queries=cast("Mapping[str, Table[Queries]]", main_tables["queries"]),
        limits=limits.with_scratch_folder("maps"),
        progress=progress,
        pages=optional_inputs.pages or None,
    ).check("maps")

    def tables_by_pair(table_name: str) -> dict[Pair, Table]:
        return {
            pair: table_at(home, table_name, TABLES[table_name]) for pair, home in pairs.items()
        }

    series = SnapshotSeries(
        main_tables["documents"],
        main_tables["queries"],
        main_tables["qrels"],
        counts,
        tables_by_pair("lost_words"),
        tables_by_pair("pair_drift"),
        documents_map=table_at(out, "documents_map", TABLES["documents_map"]),
        queries_map=table_at(out, "queries_map", TABLES["queries_map"]),
    )
    return series, {name: tables_by_pair(name) for name in CHANGES}


@dataclass(frozen=True)
class _StageRunner:
    """Runner of the drift stages; writes one folder per snapshot and per pair of snapshots."""

    main_tables: Mapping[str, Tables]
    params: ChangeParameters
    limits: ResourceLimits
    progress: Progress
    optional: OptionalInputs

    @property
    def _document_tables(self) -> Mapping[str, Table[Documents]]:
        return cast("Mapping[str, Table[Documents]]", self.main_tables["documents"])

    def count_words(self, snapshot_index: int) -> Table:
        """Write the word counts of a snapshot, and return the table."""
        limits = self.limits.with_scratch_folder(f"words-{snapshot_index}")
        home = limits.scratch / "out"
        home.mkdir()
        documents = list(self._document_tables.values())
        count_snapshot_words(
            home,
            documents=documents[snapshot_index],
            earlier=tuple(documents[:snapshot_index]),
            limits=limits,
            progress=self.progress,
        ).check("words")
        return table_at(home, "word_counts", TABLES["word_counts"])

    def compare_pair(self, pair_index: int, pair: Pair) -> Path:
        """Write all tables of a pair of snapshots, and return the folder."""
        home = self.limits.scratch / f"pair-{pair_index}"
        home.mkdir()
        shared: dict[str, Any] = {
            f"{kind}_{side}": tables[name]
            for kind, tables in self.main_tables.items()
            for side, name in _snapshot_names_by_side(pair)
        }
        shared |= {"from_snapshot": pair[0], "to_snapshot": pair[1], "progress": self.progress}
        documents = list(self._document_tables.items())
        align_snapshots(
            home,
            **shared,
            earlier=tuple(table for _, table in documents[:pair_index]),
            params=self.params,
            limits=self.limits.with_scratch_folder(f"changes-{pair_index}"),
            **self.optional.alignment_arguments(pair),
        ).check("changes")
        count_lost_words(
            home,
            earlier=dict(documents[: pair_index + 1]),
            documents_to=documents[pair_index + 1][1],
            limits=self.limits.with_scratch_folder(f"lost-{pair_index}"),
            progress=self.progress,
        ).check("lost_words")
        found: dict[str, Any] = {name: table_at(home, name, TABLES[name]) for name in CHANGES}
        more = self.optional.drift_arguments(pair)
        limits = self.limits.with_scratch_folder(f"drift-{pair_index}")
        measure_pair(home, **shared, **found, **more, limits=limits).check("pair_drift")
        return home
