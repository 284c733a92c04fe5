"""Reads a published collection, its snapshots, and its tables as Polars lazy frames."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.manifest_schema import read_manifest
from builder.errors import FormatError, UsageError
from builder.io import parquet
from builder.reporting.parts import html_table
from builder.runtime.publisher import MANIFEST
from builder.text.names import column_suffixes
from builder.trec.released import read_release_ids
from schemas import Documents


@dataclass(frozen=True)
class Snapshot:
    """Snapshot of a published collection; each table is a lazy frame.

    Accessing a table raises a `UsageError` if its file is missing and a `FormatError` if it is not
    a Parquet file.
    """

    collection: Path
    name: str
    document_count: int = 0
    """Number of documents according to the manifest."""

    @property
    def folder(self) -> Path:
        """Folder that contains the tables of the snapshot."""
        return layout.snapshot_folder(self.collection, self.name)

    def _repr_html_(self) -> str:
        """Return an HTML table of the row count and columns of each table, for notebooks."""
        tables = {name: getattr(self, name) for name in ("documents", "queries", "qrels")}
        rows = [
            (name, table.select(pl.len()).collect().item(), ", ".join(table.collect_schema()))
            for name, table in tables.items()
        ]
        return html_table(self.name, ("table", "rows", "columns"), rows)

    @property
    def documents(self) -> pl.LazyFrame:
        """Documents, sorted by `doc_id`; schema `schemas.Documents`."""
        files = self.document_files()
        return parquet.check_and_scan(*files) if files else pl.LazyFrame(schema=Documents.dtypes())

    def document_files(self) -> list[Path]:
        """Return the sorted Parquet files of the documents; empty if there are no documents.

        Raises:
            FormatError: No file exists although the manifest lists documents.
        """
        files = sorted((self.folder / "documents").glob("part-*.parquet"))
        if not files and self.document_count:
            raise FormatError(
                f"expected {self.document_count} documents according to the manifest, found none",
                self.folder / "documents",
            )
        return files

    @property
    def queries(self) -> pl.LazyFrame:
        """Queries, sorted by `query_id`; schema `schemas.Queries`."""
        return parquet.check_and_scan(self.folder / "queries.parquet")

    @property
    def qrels(self) -> pl.LazyFrame:
        """Relevance judgements, sorted by `query_id` and `doc_id`; schema `schemas.Qrels`."""
        return parquet.check_and_scan(self.folder / "qrels.parquet")

    @property
    def click_estimates(self) -> pl.LazyFrame:
        """Click counts and relevance estimates, one row per query-document pair.

        The schema is `schemas.ClickEstimates`.
        """
        return parquet.check_and_scan(self.folder / "click_estimates.parquet")

    @property
    def rejects(self) -> pl.LazyFrame:
        """Rejected input rows, with the reason for each rejection; schema `schemas.Rejects`."""
        return parquet.check_and_scan(self.folder / "rejects.parquet")


@dataclass(frozen=True)
class Collection:
    """Published version of a collection, opened with `open_collection`."""

    path: Path
    """Folder of the version."""

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Content of `manifest.json`.

        Raises:
            FormatError: The file is not valid JSON or not a valid manifest.
        """
        return read_manifest(self.path / MANIFEST)

    @property
    def name(self) -> str:
        """Name of the collection."""
        return str(self.manifest["name"])

    @property
    def version(self) -> str:
        """Version number, such as `1.0.0`."""
        return str(self.manifest["version"])

    @property
    def signature(self) -> str:
        """Line that identifies the version by name, content hash and definition hash."""
        return str(self.manifest["signature"])

    @cached_property
    def languages(self) -> dict[str, str]:
        """Suffix of text columns by language: `{"fr": "", "en": "_en"}` for `text` and `text_en`.

        The source language is first.

        Raises:
            DataError: The manifest lists more than two languages.
        """
        return column_suffixes(
            self.manifest["definition"].get("collection", {}).get("languages", ())
        )

    def resolve_language(self, name: str | None = None) -> tuple[str, str]:
        """Return (language code, column suffix) of a language, such as `("en", "_en")`.

        Args:
            name: Language code, such as `fr`; default: the source language.

        Raises:
            UsageError: The collection has no texts in this language.
        """
        language = next(iter(self.languages)) if name is None else name
        if language not in self.languages:
            known = " and ".join(self.languages)
            raise UsageError(f"{self.path}: no texts in {language!r}; available languages: {known}")
        return language, self.languages[language]

    @property
    def snapshots(self) -> tuple[str, ...]:
        """Snapshot names in chronological order."""
        return tuple(s["name"] for s in self.manifest["definition"]["snapshots"])

    def snapshot(self, name: str) -> Snapshot:
        """Return the snapshot with the given name, such as `2022-06`.

        Raises:
            UsageError: The collection has no such snapshot.
        """
        if name not in self.snapshots:
            known = ", ".join(self.snapshots)
            raise UsageError(
                f"{self.path}: unknown snapshot {name!r}; available snapshots: {known}"
            )
        documents = self.manifest["tables"].get(f"snapshots/{name}/documents", {})
        return Snapshot(self.path, name, int(documents.get("rows", 0)))

    def table(self, name: str) -> pl.LazyFrame:
        """Scan a table that covers the whole collection, such as `topics` or `documents_map`.

        Raises:
            UsageError: There is no such table, or its file is missing.
            FormatError: The file is not a Parquet file.
        """
        paths = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
        if name not in paths:
            raise UsageError(
                f"unknown collection table {name!r}; available tables: {', '.join(paths)}"
            )
        return parquet.check_and_scan(self.path / f"{paths[name]}.parquet")

    def aligned_texts(self, kind: str, *, language: str | None = None) -> pl.LazyFrame:
        """Scan the texts of all snapshots as one frame, with ids that are stable across snapshots.

        Args:
            kind: `documents` or `queries`.
            language: Language code, such as `fr`; default: the source language.

        Returns:
            Columns `doc_id` or `query_id`, `snapshot` and `text`, sorted by id and then
            chronologically.

        Raises:
            UsageError: `kind` is invalid, or the collection has no texts in `language`.
        """
        keys = {"documents": "doc_id", "queries": "query_id"}
        if kind not in keys:
            raise UsageError(f"kind: expected 'documents' or 'queries', found {kind!r}")
        suffix = self.resolve_language(language)[1]
        frames: list[pl.LazyFrame] = [
            self._scan_table_with_stable_ids(name, kind, keys[kind]).select(
                keys[kind],
                snapshot=pl.lit(name),
                index=pl.lit(index),
                text=pl.col(f"text{suffix}"),
            )
            for index, name in enumerate(self.snapshots)
        ]
        return pl.concat(frames).sort(keys[kind], "index").drop("index")

    def _scan_table_with_stable_ids(self, snapshot: str, kind: str, column: str) -> pl.LazyFrame:
        """Scan the documents or queries of a snapshot, with ids that are the same in all snapshots.

        Ids of an imported release are replaced with their keys; see `schemas.ReleaseIds`.
        """
        opened = self.snapshot(snapshot)
        rows: pl.LazyFrame = getattr(opened, kind)
        ids = read_release_ids(opened.folder)
        if ids is None:
            return rows
        keys = ids.filter(kind={"documents": "document", "queries": "query"}[kind])
        named = keys.lazy().select("key", pl.col("id").alias(column))
        return rows.join(named, on=column).drop(column).rename({"key": column})

    def row_counts(self) -> list[tuple[str, int, int, int]]:
        """Return the name and the document, query and judgement counts of each snapshot.

        The counts are read from the manifest.
        """
        tables = self.manifest["tables"]

        def row_count(snapshot: str, kind: str) -> int:
            return int(tables.get(f"snapshots/{snapshot}/{kind}", {"rows": 0})["rows"])

        kinds = ("documents", "queries", "qrels")
        return [(name, *(row_count(name, kind) for kind in kinds)) for name in self.snapshots]  # type: ignore[misc]

    def _repr_html_(self) -> str:
        """Return an HTML table of the snapshot sizes, for notebooks."""
        header = ("snapshot", "documents", "queries", "judgements")
        return html_table(f"{self.name} {self.version}", header, self.row_counts())

    def core_queries(self) -> pl.LazyFrame:
        """Scan the rows of the table `queries_map` whose queries occur in every snapshot."""
        return self.table("queries_map").filter("core")


def open_collection(path: Path | str) -> Collection:
    """Open a published collection for reading.

    Args:
        path: Folder of a version, or a folder that contains versions, of which the highest is
            opened.

    Raises:
        UsageError: No published collection was found.
    """
    if not Path(path).exists():
        raise UsageError(f"{path}: no such folder; expected the folder of a published collection")
    version = layout.find_latest_version(Path(path))
    if version is None:
        raise UsageError(
            f"{path}: not a published collection; expected a folder with {MANIFEST}, "
            "as written by `longeval build` or `longeval import`"
        )
    return Collection(version)
