"""Open a published collection: snapshots by name, tables as lazy frames."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.claims import read_manifest
from builder.errors import FormatError, UsageError
from builder.io import parquet
from builder.reporting.parts import html_table
from builder.runtime.publisher import MANIFEST
from builder.text.names import column_suffixes
from builder.trec.released import read_release_ids
from schemas import Documents


@dataclass(frozen=True)
class Snapshot:
    """One snapshot of a collection; every table is a lazy frame under its contract's columns.

    A table that is missing is a `UsageError`, one that is no Parquet file a `FormatError`.
    """

    collection: Path
    name: str
    counted: int = 0
    """Documents that the manifest counts."""

    @property
    def folder(self) -> Path:
        """Where its tables lie."""
        return layout.snapshot_folder(self.collection, self.name)

    def _repr_html_(self) -> str:
        """The snapshot in a notebook: its tables, their rows and columns."""
        tables = {name: getattr(self, name) for name in ("documents", "queries", "qrels")}
        rows = [
            (name, table.select(pl.len()).collect().item(), ", ".join(table.collect_schema()))
            for name, table in tables.items()
        ]
        return html_table(self.name, ("table", "rows", "columns"), rows)

    @property
    def documents(self) -> pl.LazyFrame:
        """Documents: `schemas.Documents`, in order of doc_id."""
        parts = self.documents_parts()
        return parquet.scan_checked(*parts) if parts else pl.LazyFrame(schema=Documents.dtypes())

    def documents_parts(self) -> list[Path]:
        """The files of the documents, in order; none where the snapshot has no document.

        Raises:
            FormatError: there is none, and the manifest counts documents.
        """
        parts = sorted((self.folder / "documents").glob("part-*.parquet"))
        if not parts and self.counted:
            raise FormatError(
                f"expected the {self.counted} documents that the manifest counts, found none",
                self.folder / "documents",
            )
        return parts

    @property
    def queries(self) -> pl.LazyFrame:
        """Queries: `schemas.Queries`, in order of query_id."""
        return parquet.scan_checked(self.folder / "queries.parquet")

    @property
    def qrels(self) -> pl.LazyFrame:
        """Judgements: `schemas.Qrels`, in order of query_id, doc_id."""
        return parquet.scan_checked(self.folder / "qrels.parquet")

    @property
    def click_estimates(self) -> pl.LazyFrame:
        """Click evidence: `schemas.ClickEstimates`."""
        return parquet.scan_checked(self.folder / "click_estimates.parquet")

    @property
    def rejects(self) -> pl.LazyFrame:
        """What was left out: `schemas.Rejects`."""
        return parquet.scan_checked(self.folder / "rejects.parquet")


@dataclass(frozen=True)
class Collection:
    """A published version of a collection."""

    path: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest as published.

        Raises:
            FormatError: it is not readable JSON, or not what a manifest is.
        """
        return read_manifest(self.path / MANIFEST)

    @property
    def name(self) -> str:
        """Name of the collection."""
        return str(self.manifest["name"])

    @property
    def version(self) -> str:
        """Its version."""
        return str(self.manifest["version"])

    @property
    def signature(self) -> str:
        """One line that identifies the content."""
        return str(self.manifest["signature"])

    @cached_property
    def languages(self) -> dict[str, str]:
        """The languages of its texts, its own first, with the suffix of their columns.

        Raises:
            DataError: the manifest names more than two.
        """
        return column_suffixes(
            self.manifest["definition"].get("collection", {}).get("languages", ())
        )

    def language(self, name: str | None = None) -> tuple[str, str]:
        """One of `languages` with its suffix; absent: that of the texts as they were found.

        Raises:
            UsageError: the collection is not in it.
        """
        chosen = next(iter(self.languages)) if name is None else name
        if chosen not in self.languages:
            known = " and ".join(self.languages)
            raise UsageError(f"{self.path}: no texts in {chosen!r}; the collection is in {known}")
        return chosen, self.languages[chosen]

    @property
    def snapshots(self) -> tuple[str, ...]:
        """Snapshot names in order of time."""
        return tuple(s["name"] for s in self.manifest["definition"]["snapshots"])

    def snapshot(self, name: str) -> Snapshot:
        """A snapshot by name such as `2022-06`.

        Raises:
            UsageError: the collection has no such snapshot.
        """
        if name not in self.snapshots:
            known = ", ".join(self.snapshots)
            raise UsageError(f"{self.path}: no snapshot {name!r}; it has {known}")
        counted = self.manifest["tables"].get(f"snapshots/{name}/documents", {})
        return Snapshot(self.path, name, int(counted.get("rows", 0)))

    def table(self, name: str) -> pl.LazyFrame:
        """A table of the whole collection: topics, maps or changes, by its contract's name.

        Raises:
            UsageError: there is no such table.
            FormatError: it is no Parquet file.
        """
        places = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
        if name not in places:
            raise UsageError(f"no table {name!r} in a collection; it has {', '.join(places)}")
        return parquet.scan_checked(self.path / f"{places[name]}.parquet")

    def aligned(self, kind: str, *, language: str | None = None) -> pl.LazyFrame:
        """Documents or queries of all snapshots in one frame, by their stable ids.

        Args:
            kind: `documents` or `queries`.
            language: One of `languages`; absent: that of the texts as they were found.

        Returns:
            Columns `doc_id` or `query_id`, `snapshot`, `text`; in order of id, then of time.

        Raises:
            UsageError: another kind or language.
        """
        keys = {"documents": "doc_id", "queries": "query_id"}
        if kind not in keys:
            raise UsageError(f"expected documents or queries, found {kind!r}")
        suffix = self.language(language)[1]
        frames: list[pl.LazyFrame] = [
            self._keyed(name, kind, keys[kind]).select(
                keys[kind],
                snapshot=pl.lit(name),
                place=pl.lit(place),
                text=pl.col(f"text{suffix}"),
            )
            for place, name in enumerate(self.snapshots)
        ]
        return pl.concat(frames).sort(keys[kind], "place").drop("place")

    def _keyed(self, snapshot: str, kind: str, column: str) -> pl.LazyFrame:
        """Documents or queries by ids that hold in every snapshot; see `schemas.ReleaseIds`."""
        opened = self.snapshot(snapshot)
        rows: pl.LazyFrame = getattr(opened, kind)
        ids = read_release_ids(opened.folder)
        if ids is None:
            return rows
        keys = ids.filter(kind={"documents": "document", "queries": "query"}[kind])
        named = keys.lazy().select("key", pl.col("id").alias(column))
        return rows.join(named, on=column).drop(column).rename({"key": column})

    def sizes(self) -> list[tuple[str, int, int, int]]:
        """Name, documents, queries and judgements of each snapshot, as the manifest counts them."""
        tables = self.manifest["tables"]

        def rows(snapshot: str, kind: str) -> int:
            return int(tables.get(f"snapshots/{snapshot}/{kind}", {"rows": 0})["rows"])

        kinds = ("documents", "queries", "qrels")
        return [(name, *(rows(name, kind) for kind in kinds)) for name in self.snapshots]  # type: ignore[misc]

    def _repr_html_(self) -> str:
        """The collection in a notebook: a table of its snapshots."""
        header = ("snapshot", "documents", "queries", "judgements")
        return html_table(f"{self.name} {self.version}", header, self.sizes())

    def core_queries(self) -> pl.LazyFrame:
        """Queries that every snapshot holds, by the ids of `aligned`."""
        return self.table("queries_map").filter("core")


def open_collection(path: Path | str) -> Collection:
    """Open a published collection.

    Args:
        path: A version folder, or a folder above it; of several versions the highest is opened.

    Raises:
        UsageError: there is no published collection.
    """
    version = layout.find_version(Path(path))
    if version is None:
        raise UsageError(
            f"{path}: no published collection here; expected a folder with {MANIFEST}, "
            "as `longeval build` writes it"
        )
    return Collection(version)
