"""Notes: what is known of the pages of a snapshot, and those that may enter it.

In: pages in any order. Out: the pages that no rule leaves out with their fingerprints, in ranges of
their key; and what duplicates are found by: a few columns, signatures and bands. Texts are read
here once, a row group at a time; what is known of some is written down by whoever reads them. The
number of a page is its key.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder import parquet
from builder.documents.duplicates import GROUPS, Signed, find_groups
from builder.documents.fingerprints import Described, describe
from builder.documents.rules import PageRules
from builder.documents.sketch import BAND_ROWS, Sketches, band_rows
from builder.executors import in_processes, map_pieces
from builder.ingest.buckets import Spill, bucket_of, spill
from builder.keys import key_of_id
from builder.packing import packed
from builder.parameters import DocumentParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Table

SHINGLE = 5
ROWS = 1024
"""Pages that are unpacked together."""
SHARE = 16
"""Which part of the memory the pages that a thread holds, and those of a range, may take."""
LARGE = 2**30
"""Bytes of pages from which it pays to start processes that read them: one thread of a process
alone finds languages at a time."""
WORKER_BYTES = 512 * 2**20
"""Memory that such a process takes."""
NOTES, BANDS, SIGNATURES = "notes.parquet", "bands.parquet", "signatures"
"""Files of what duplicates are found by: exact ones by notes, nearly equal ones by the others."""


class RowGroup(NamedTuple):
    """A row group of `pages`, and its bytes."""

    path: Path
    place: int
    size: int

    def addresses(self) -> pl.DataFrame:
        """`doc_id` and `url_key` of the pages."""
        with pq.ParquetFile(self.path) as file:
            columns = ["doc_id", "url_key"]
            return pl.DataFrame(file.read_row_group(self.place, columns, use_threads=False))

    def pages(self, wanted: pl.Series) -> pl.DataFrame:
        """The pages that are wanted, of which few more are held at a time than these.

        They are copied: a frame that was filtered holds the text of all that it had.
        """
        found, start = [], 0
        chosen = wanted.to_arrow()
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(ROWS, [self.place], use_threads=False):
                found.append(batch.filter(chosen.slice(start, len(batch))))
                start += len(batch)
            return pl.DataFrame(pa.Table.from_batches(found, file.schema_arrow))


class Piece(NamedTuple):
    """Row groups that are read together, and the folder for what is known of their pages."""

    row_groups: tuple[RowGroup, ...]
    folder: Path

    def __str__(self) -> str:
        first = self.row_groups[0]
        return f"row group {first.place} of {first.path.name} and those after it"


class Noted(NamedTuple):
    """What is known of the pages of a piece.

    Args:
        folder: Where their notes, bands and signatures are.
        pages: Those that no rule leaves out, with their fingerprints and `key`; None without any.
        text_bytes: Bytes of their texts in each bucket.
        left: How many others there are for each reason.
        rows: How many pages there are in all.
    """

    folder: Path
    pages: Spill | None
    text_bytes: Counter[int]
    left: Counter[str]
    rows: int


class Notebook:
    """Notes on all pages of a snapshot.

    Args:
        folder: Scratch folder.

    Attributes:
        pages: Those that no rule leaves out.
        text_bytes: Bytes of their texts in each bucket.
        left: How many others there are for each reason.
    """

    def __init__(self, folder: Path) -> None:
        self.pages: list[Spill] = []
        self.text_bytes: Counter[int] = Counter()
        self.left: Counter[str] = Counter()
        self._folders: list[Path] = []
        self._signatures = folder / SIGNATURES
        self._signatures.touch()

    def add(self, noted: Noted) -> None:
        """Take over what is known of a piece."""
        self.left.update(noted.left)
        if noted.pages is None:
            return
        self.pages.append(noted.pages)
        self.text_bytes.update(noted.text_bytes)
        self._folders.append(noted.folder)
        signatures = noted.folder / SIGNATURES
        if signatures.exists():
            with signatures.open("rb") as piece, self._signatures.open("ab") as file:
                shutil.copyfileobj(piece, file)
            signatures.unlink()

    def duplicates(self, limits: Limits, threshold: float) -> pl.DataFrame:
        """See `duplicates.find_groups`."""
        if not self._folders:
            return pl.DataFrame(schema=GROUPS)
        files = {name: [folder / name for folder in self._folders] for name in (NOTES, BANDS)}
        numbers = parquet.scan(*files[NOTES]).select("number").collect()["number"]
        signed = Signed(self._signatures, numbers.to_numpy())
        with limits.connect() as connection:
            parquet.rows(connection, *files[NOTES]).create_view("notes")
            if written := [path for path in files[BANDS] if path.exists()]:
                parquet.rows(connection, *written).create_view("bands")
            else:
                connection.register("bands", pl.DataFrame(schema=BAND_ROWS).to_arrow())
            return find_groups(connection, signed, threshold)


def take_notes(
    pages: Table, rules: PageRules, params: DocumentParameters, limits: Limits, progress: Progress
) -> Notebook:
    """Read all pages once and write down what is known of those that no rule leaves out."""
    notebook = Notebook(limits.scratch)
    row_groups = list(_row_groups(pages))
    size = sum(group.size for group in row_groups)
    most = limits.memory // (2 * SHARE)
    pieces = (
        Piece(tuple(some), limits.scratch / f"piece-{number:06d}")
        for number, some in enumerate(packed(row_groups, attrgetter("size"), most))
    )
    task = partial(_note, rules=rules, params=params)
    with in_processes(limits, size, LARGE, WORKER_BYTES) as readers:
        for noted in map_pieces(task, pieces, readers):
            notebook.add(noted)
            progress.advance(noted.rows)
    return notebook


def _row_groups(pages: Table) -> Iterator[RowGroup]:
    for path in pages.paths:
        with pq.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(n).total_byte_size for n in range(file.num_row_groups)]
        yield from (RowGroup(path, place, size) for place, size in enumerate(sizes))


def _note(piece: Piece, _: Limits, rules: PageRules, params: DocumentParameters) -> Noted:
    """Write down what is known of the pages of a piece; to do it twice is to do it once."""
    shutil.rmtree(piece.folder, ignore_errors=True)
    piece.folder.mkdir()
    shingle = SHINGLE if params.near_duplicates != "off" else None
    left: Counter[str] = Counter()
    kept, sketches = [], []
    for row_group in piece.row_groups:
        described, here = _described(row_group, rules, shingle)
        left.update(here)
        if described.pages.height:
            kept.append(described.pages)
            sketches.append(described.sketches)
    rows = sum(pages.height for pages in kept) + left.total()
    if not kept:
        return Noted(piece.folder, None, Counter(), left, rows)
    pages = pl.concat(kept, rechunk=False)
    kept.clear()
    _write_notes(piece.folder, pages, sketches)
    sizes = pages.group_by(bucket_of()).agg(pl.col("text").str.len_bytes().sum())
    kept.append(pages)
    del pages
    spilled = spill(kept, piece.folder / "pages.arrow")
    return Noted(piece.folder, spilled, Counter(dict(sizes.iter_rows())), left, rows)


def _described(
    row_group: RowGroup, rules: PageRules, shingle: int | None
) -> tuple[Described, Counter[str]]:
    """The pages of a row group that no rule leaves out, and how many others there are."""
    marked = rules.apply(row_group.addresses())
    left = Counter(marked["reason"].drop_nulls().to_list())
    entering = marked["reason"].is_null()
    origins = marked.filter(entering).select("shown", "sampled", key_of_id("doc_id").alias("key"))
    described = describe(row_group.pages(entering), shingle)
    return described._replace(pages=described.pages.hstack(origins)), left


def _write_notes(folder: Path, pages: pl.DataFrame, sketches: list[Sketches | None]) -> None:
    """Write what duplicates are found by."""
    notes = pages.select(pl.col("key").alias("number"), "doc_id", "shown", "text_hash")
    notes.write_parquet(folder / NOTES, compression="lz4")
    found = [each for each in sketches if each is not None]
    if found:
        whole = Sketches(*map(np.concatenate, zip(*found, strict=True)))
        bands = band_rows(whole, pages["key"].to_numpy())
        bands.write_parquet(folder / BANDS, compression="lz4")
        whole.signatures.tofile(folder / SIGNATURES)
