"""Collects fingerprints of all pages of a snapshot, and finds duplicates among the pages.

Input: row groups of a crawl. Output: the accepted pages with their fingerprints, partitioned by
key; and the columns, signatures and bands by which duplicates are found. Every text is read once.
Worker processes fill stores of their own, whose files are then added to the main store. The number
of a page is its key.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.duplicates import GROUP_SCHEMA, SignatureFile, find_duplicate_groups
from builder.documents.fingerprints import analyse_texts
from builder.documents.row_groups import RowGroup
from builder.documents.rules import PageRules
from builder.documents.sketch import BAND_SCHEMA, Sketches, band_rows
from builder.ingest.buckets import RangePartitions, SpillFile, bucket_number
from builder.io import parquet
from builder.io.batching import batch_by_size
from builder.parameters import DocumentParameters
from builder.runtime.executors import Task, map_partitions, process_pool
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress

SHINGLE_SIZE = 5
MEMORY_SHARE = 16
"""Divisor of the memory limit: the quotient limits the pages in memory and in a key range."""
MIN_POOL_BYTES = 2**29
"""Minimum total size of the files at which worker processes are started: a process can detect the
language of only one text at a time."""
WORKER_BYTES = 512 * 2**20
"""Memory that a worker process needs, in bytes."""
BATCH_BYTES = 2**27
"""Size of the files that a worker process reads per batch."""
HASH_COLUMNS = ("number", "doc_id", "shown", "text_hash")
"""Columns from which exact duplicates are found."""


class RowGroupBatch(NamedTuple):
    """Row groups that one worker process reads, and a folder for the fingerprints."""

    row_groups: tuple[RowGroup, ...]
    folder: Path

    def __str__(self) -> str:
        first = self.row_groups[0]
        return f"row group {first.number} of {first.path.name} and those after it"


class FilteredPages(NamedTuple):
    """Pages of a row group that the rules accept, and numbers of excluded pages.

    Args:
        pages: Accepted pages with their fingerprints and `key`.
        sketches: Sketches of their texts; None if near-duplicates are not wanted.
        excluded: Number of excluded pages by reason.
    """

    pages: pl.DataFrame
    sketches: Sketches | None
    excluded: Counter[str]


class StoreFiles(NamedTuple):
    """Contents of a `FingerprintStore`, in files that another process can read."""

    pages: tuple[SpillFile, ...]
    text_bytes: Counter[int]
    excluded: Counter[str]
    keys: npt.NDArray[np.uint64]
    hashes: list[Path]
    bands: list[Path]
    signatures: Path


class FingerprintStore:
    """Accepted pages of a snapshot with their fingerprints, in memory and scratch files.

    Args:
        limits: Scratch space and memory.

    Attributes:
        pages: Accepted pages, partitioned by key.
        text_bytes: Bytes of text by bucket of the key.
        excluded: Number of excluded pages by reason.
    """

    def __init__(self, limits: Limits) -> None:
        self.pages = RangePartitions(limits.scratch, limits.memory // MEMORY_SHARE)
        self.text_bytes: Counter[int] = Counter()
        self.excluded: Counter[str] = Counter()
        self._folder = limits.scratch
        self._keys: list[npt.NDArray[np.uint64]] = []
        self._hashes: list[Path] = []
        self._bands: list[Path] = []
        self._signatures = self._folder / "signatures"
        self._signatures.touch()

    def add(self, filtered: FilteredPages) -> None:
        """Add the accepted pages of a row group."""
        self.excluded.update(filtered.excluded)
        pages, sketches = filtered.pages, filtered.sketches
        if pages.is_empty():
            return
        keys = pages["key"].to_numpy()
        hashes = pages.with_columns(number="key").select(HASH_COLUMNS)
        self._hashes.append(self._write("hashes", hashes))
        if sketches is not None:
            self._bands.append(self._write("bands", band_rows(sketches, keys)))
            with self._signatures.open("ab") as file:
                file.write(sketches.signatures.tobytes())
        self._keys.append(keys)
        sizes = pages.group_by(bucket_number()).agg(pl.col("text").str.len_bytes().sum())
        self.text_bytes.update(dict(sizes.iter_rows()))
        self.pages.add(pages)

    def _write(self, name: str, rows: pl.DataFrame) -> Path:
        """Write rows to the next scratch file with this name and a number."""
        path = self._folder / f"{name}-{len(self._keys):06d}.parquet"
        rows.write_parquet(path, compression="lz4")
        return path

    def to_files(self) -> StoreFiles:
        """Write all pages to files; no pages may be added afterwards."""
        keys = np.concatenate([np.zeros(0, dtype=np.uint64), *self._keys])
        pages = self.pages.spill_all()
        return StoreFiles(
            pages,
            self.text_bytes,
            self.excluded,
            keys,
            self._hashes,
            self._bands,
            self._signatures,
        )

    def add_files(self, files: StoreFiles) -> None:
        """Add the pages of another store, given as files."""
        self.excluded.update(files.excluded)
        self.text_bytes.update(files.text_bytes)
        self.pages.add_spills(files.pages)
        self._keys.append(files.keys)
        self._hashes += files.hashes
        self._bands += files.bands
        with files.signatures.open("rb") as source, self._signatures.open("ab") as target:
            shutil.copyfileobj(source, target)

    def find_duplicates(self, limits: Limits, threshold: float) -> pl.DataFrame:
        """Find the duplicate groups of all pages."""
        if not self._hashes:
            return pl.DataFrame(schema=GROUP_SCHEMA)
        signatures = SignatureFile(self._signatures, np.concatenate(self._keys))
        with limits.connect() as connection:
            parquet.relation(connection, *self._hashes).create_view("hashes")
            if self._bands:
                parquet.relation(connection, *self._bands).create_view("bands")
            else:
                connection.register("bands", pl.DataFrame(schema=BAND_SCHEMA).to_arrow())
            return find_duplicate_groups(connection, signatures, threshold)


def build_fingerprint_store(
    groups: Sequence[RowGroup],
    rules: PageRules,
    params: DocumentParameters,
    limits: Limits,
    progress: Progress,
) -> FingerprintStore:
    """Read all pages once, and store the fingerprints of the pages that the rules accept."""
    store = FingerprintStore(limits)
    process = partial(_process_row_group, rules=rules, params=params)
    size = sum(group.size for group in groups)
    with process_pool(limits, size, MIN_POOL_BYTES, WORKER_BYTES) as readers:
        if readers.executor.in_process:
            for filtered in map_partitions(process, groups, readers, single_threaded=True):
                store.add(filtered)
                progress.advance(filtered.pages.height + filtered.excluded.total())
        else:
            batches = _row_group_batches(groups, limits.scratch)
            for files in map_partitions(partial(_process_batch, process=process), batches, readers):
                store.add_files(files)
                progress.advance(len(files.keys) + files.excluded.total())
    return store


def _row_group_batches(groups: Sequence[RowGroup], folder: Path) -> Iterator[RowGroupBatch]:
    """Group row groups into batches of about `BATCH_BYTES`, each with its own folder."""
    for number, batch in enumerate(batch_by_size(groups, attrgetter("size"), BATCH_BYTES)):
        yield RowGroupBatch(tuple(batch), folder / f"batch-{number:06d}")


def _process_batch(
    batch: RowGroupBatch, limits: Limits, process: Task[RowGroup, FilteredPages]
) -> StoreFiles:
    """Build the fingerprint store of a batch in a worker process."""
    shutil.rmtree(batch.folder, ignore_errors=True)
    batch.folder.mkdir()
    store = FingerprintStore(replace(limits, scratch=batch.folder))
    for row_group in batch.row_groups:
        store.add(process(row_group, limits))
    return store.to_files()


def _process_row_group(
    row_group: RowGroup, _: Limits, rules: PageRules, params: DocumentParameters
) -> FilteredPages:
    """Apply the rules to the pages of a row group, and fingerprint the accepted pages."""
    pages = rules.apply(row_group.read_pages())
    excluded = Counter(pages["reason"].drop_nulls().to_list())
    accepted = pages.filter(pl.col("reason").is_null()).drop("reason")
    shingle_size = SHINGLE_SIZE if params.near_duplicates != "off" else None
    with_texts, sketches = analyse_texts(row_group.add_texts(accepted), shingle_size)
    return FilteredPages(with_texts.rename({"doc": "key"}).drop("number"), sketches, excluded)
