"""Computes and stores fingerprints of all pages of a snapshot, and finds duplicate pages.

Input: row groups of a crawl. Output: temporary files with the accepted pages and their
fingerprints, and with the signatures and bands from which duplicates are found. Every text is read
only once, and no text is stored.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.duplicates import SignatureFile, find_duplicate_groups
from builder.documents.fingerprints import FingerprintedPages, fingerprint_pages_with_language
from builder.documents.key_order import drop_texts
from builder.documents.row_groups import NO_PAGES, RowGroup
from builder.documents.rules import PageRules
from builder.documents.sketch import BAND_SCHEMA, bands_to_frame
from builder.io import parquet
from builder.parameters import DocumentParameters
from builder.runtime.executors import map_partitions, process_pool
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress

SHINGLE_SIZE = 5
MIN_POOL_BYTES = 2**29
"""Minimum total size of the row groups, in bytes, for which worker processes are started. Threads
would not help, because a process can detect the language of only one text at a time."""
WORKER_BYTES = 512 * 2**20
"""Memory that a worker process needs, in bytes."""
HASHES = "doc AS number, doc_id, shown, text_hash"
"""Columns used to find exact duplicates; `number` identifies a page and is its document key."""


class AcceptedPages(NamedTuple):
    """Accepted pages of a row group, and the number of pages that the rules exclude.

    Args:
        row_group: Row group with the texts of the pages.
        pages: Accepted pages without texts.
        excluded: Number of excluded pages, by reject reason.
    """

    row_group: RowGroup
    pages: pl.DataFrame
    excluded: Counter[str]

    def __str__(self) -> str:
        return f"row group {self.row_group.number} of {self.row_group.path.name}"


class FingerprintStore:
    """Accepted pages of a snapshot with their fingerprints, in temporary files.

    Args:
        folder: Folder for temporary files.

    Attributes:
        excluded: Number of excluded pages by reject reason.
    """

    def __init__(self, folder: Path) -> None:
        self.excluded: Counter[str] = Counter()
        self._folder = folder
        self._keys: list[npt.NDArray[np.uint64]] = []
        self._pages: list[Path] = []
        self._bands: list[Path] = []
        self._signatures = folder / "signatures"
        self._signatures.touch()
        no_pages = fingerprint_pages_with_language(
            NO_PAGES.with_columns(shown=False, sampled=False)
        )
        self.add(FingerprintedPages(drop_texts(no_pages.pages), None))

    def add(self, fingerprinted_pages: FingerprintedPages) -> None:
        """Add fingerprinted pages; the columns `title` and `text` must have been dropped."""
        pages, sketches = fingerprinted_pages
        keys = pages["doc"].to_numpy()
        self._pages.append(self._write_rows("pages", pages))
        self._keys.append(keys)
        if sketches is not None:
            self._bands.append(self._write_rows("bands", bands_to_frame(sketches, keys)))
            with self._signatures.open("ab") as file:
                file.write(sketches.signatures.tobytes())

    def _write_rows(self, name: str, rows: pl.DataFrame) -> Path:
        """Write rows to the next temporary file `<name>-<number>.parquet`, and return its path."""
        path = self._folder / f"{name}-{len(self._keys):06d}.parquet"
        rows.write_parquet(path, compression="lz4")
        return path

    def create_fingerprints_view(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the view `fingerprinted` of all accepted pages with their fingerprints."""
        parquet.read_parquet_relation(connection, *self._pages).create_view("fingerprinted")

    def find_duplicates(
        self, connection: duckdb.DuckDBPyConnection, threshold: float
    ) -> pl.DataFrame:
        """Find groups of pages that are exact duplicates or near-duplicates.

        Args:
            connection: DuckDB connection with the view `fingerprinted`.
            threshold: Minimum estimated Jaccard coefficient of near-duplicates.

        Returns:
            One row per page that belongs to a group; see `duplicates.find_duplicate_groups`.
        """
        connection.table("fingerprinted").select(HASHES).create_view("hashes")
        if self._bands:
            parquet.read_parquet_relation(connection, *self._bands).create_view("bands")
        else:
            connection.register("bands", pl.DataFrame(schema=BAND_SCHEMA).to_arrow())
        signatures = SignatureFile(self._signatures, np.concatenate(self._keys))
        return find_duplicate_groups(connection, signatures, threshold)


def build_fingerprint_store(
    row_groups: Sequence[RowGroup],
    rules: PageRules,
    params: DocumentParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> FingerprintStore:
    """Read all pages of a snapshot, and store the fingerprints of the pages that the rules accept.

    Args:
        row_groups: Row groups of the crawl.
        rules: Rules that exclude pages.
        params: Section `[documents]` of the definition.
        limits: Number of threads, memory limit, executor and scratch folder.
        progress: Advances by the number of pages read.
    """
    shingle_size = SHINGLE_SIZE if params.near_duplicates != "off" else None
    fingerprint = partial(_fingerprint_pages, shingle_size=shingle_size)
    accepted = (_apply_rules(group, rules) for group in row_groups)
    size = sum(group.size for group in row_groups)
    store = FingerprintStore(limits.scratch)
    with process_pool(limits, size, MIN_POOL_BYTES, WORKER_BYTES) as readers:
        for pages, excluded in map_partitions(fingerprint, accepted, readers, single_threaded=True):
            store.add(pages)
            store.excluded.update(excluded)
            progress.advance(pages.pages.height + excluded.total())
    return store


def _apply_rules(row_group: RowGroup, rules: PageRules) -> AcceptedPages:
    """Apply the rules to the pages of a row group; return the accepted pages."""
    pages = rules.apply(row_group.read_pages())
    excluded = Counter(pages["reason"].drop_nulls().to_list())
    accepted = pages.filter(pl.col("reason").is_null()).drop("reason")
    return AcceptedPages(row_group, accepted, excluded)


def _fingerprint_pages(
    accepted_pages: AcceptedPages, _: ResourceLimits, shingle_size: int | None
) -> tuple[FingerprintedPages, Counter[str]]:
    """Fingerprint the accepted pages of a row group, and drop their texts.

    Returns:
        The fingerprinted pages, and the number of excluded pages by reject reason.
    """
    pages, sketches = fingerprint_pages_with_language(
        accepted_pages.row_group.add_texts(accepted_pages.pages), shingle_size
    )
    return FingerprintedPages(drop_texts(pages), sketches), accepted_pages.excluded
