"""Notes: what is known of the pages of a snapshot, and those that may enter it.

In: pages in any order. Out: the pages that no rule leaves out with their fingerprints, in ranges of
their key; and what duplicates are found by: a few columns, signatures and bands. Texts are read
here once, a row group at a time; processes have notebooks of their own, whose files are taken over.
The number of a page is its key.
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

from builder.documents.crawled import RowGroup
from builder.documents.duplicates import GROUPS, Signed, find_groups
from builder.documents.fingerprints import describe
from builder.documents.rules import PageRules
from builder.documents.sketch import BAND_ROWS, Sketches, band_rows
from builder.ingest.buckets import RangePartitions, SpillFile, bucket_number
from builder.io import parquet
from builder.io.packing import packed
from builder.parameters import DocumentParameters
from builder.runtime.executors import Task, map_partitions, process_pool
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress

SHINGLE = 5
SHARE = 16
"""Which part of the memory the pages that are held, and those of a range, may take."""
LARGE = 2**29
"""Bytes of files of pages from which it pays to start processes that read them: one thread of a
process alone finds languages at a time."""
WORKER_BYTES = 512 * 2**20
"""Memory that such a process takes."""
PIECE_BYTES = 2**27
"""Bytes of files that a process reads before it hands on what it knows of them."""
NOTES = ("number", "doc_id", "shown", "text_hash")
"""What exact duplicates are found by."""


class Piece(NamedTuple):
    """Row groups that are read by one process, and the folder for what is known of their pages."""

    row_groups: tuple[RowGroup, ...]
    folder: Path

    def __str__(self) -> str:
        first = self.row_groups[0]
        return f"row group {first.number} of {first.path.name} and those after it"


class Noted(NamedTuple):
    """The pages of a row group.

    Args:
        kept: Those that no rule leaves out, with their fingerprints and `key`.
        sketches: Of their texts; None where near-duplicates are not looked for.
        left: How many others there are for each reason.
    """

    kept: pl.DataFrame
    sketches: Sketches | None
    left: Counter[str]


class Notes(NamedTuple):
    """What a notebook has of some pages, in files that others can read; see `Notebook`."""

    pages: tuple[SpillFile, ...]
    text_bytes: Counter[int]
    left: Counter[str]
    keys: npt.NDArray[np.uint64]
    notes: list[Path]
    bands: list[Path]
    signatures: Path


class Notebook:
    """Notes on all pages of a snapshot.

    Args:
        limits: Scratch space and memory.

    Attributes:
        pages: Those that no rule leaves out.
        text_bytes: Bytes of their texts in each bucket.
        left: How many others there are for each reason.
    """

    def __init__(self, limits: Limits) -> None:
        self.pages = RangePartitions(limits.scratch, limits.memory // SHARE)
        self.text_bytes: Counter[int] = Counter()
        self.left: Counter[str] = Counter()
        self._folder = limits.scratch
        self._keys: list[npt.NDArray[np.uint64]] = []
        self._notes: list[Path] = []
        self._bands: list[Path] = []
        self._signatures = self._folder / "signatures"
        self._signatures.touch()

    def add(self, noted: Noted) -> None:
        """Take down the pages of a row group."""
        self.left.update(noted.left)
        pages, sketches = noted.kept, noted.sketches
        if pages.is_empty():
            return
        keys = pages["key"].to_numpy()
        self._notes.append(self._write("notes", pages.with_columns(number="key").select(NOTES)))
        if sketches is not None:
            self._bands.append(self._write("bands", band_rows(sketches, keys)))
            with self._signatures.open("ab") as file:
                file.write(sketches.signatures.tobytes())
        self._keys.append(keys)
        sizes = pages.group_by(bucket_number()).agg(pl.col("text").str.len_bytes().sum())
        self.text_bytes.update(dict(sizes.iter_rows()))
        self.pages.add(pages)

    def _write(self, name: str, rows: pl.DataFrame) -> Path:
        path = self._folder / f"{name}-{len(self._keys):06d}.parquet"
        rows.write_parquet(path, compression="lz4")
        return path

    def written(self) -> Notes:
        """All that stands here; nothing may be added then."""
        keys = np.concatenate([np.zeros(0, dtype=np.uint64), *self._keys])
        pages = self.pages.spill_all()
        return Notes(
            pages, self.text_bytes, self.left, keys, self._notes, self._bands, self._signatures
        )

    def take_over(self, notes: Notes) -> None:
        """Take down what another notebook has."""
        self.left.update(notes.left)
        self.text_bytes.update(notes.text_bytes)
        self.pages.add_spills(notes.pages)
        self._keys.append(notes.keys)
        self._notes += notes.notes
        self._bands += notes.bands
        with notes.signatures.open("rb") as piece, self._signatures.open("ab") as file:
            shutil.copyfileobj(piece, file)

    def duplicates(self, limits: Limits, threshold: float) -> pl.DataFrame:
        """See `duplicates.find_groups`."""
        if not self._notes:
            return pl.DataFrame(schema=GROUPS)
        signed = Signed(self._signatures, np.concatenate(self._keys))
        with limits.connect() as connection:
            parquet.rows(connection, *self._notes).create_view("notes")
            if self._bands:
                parquet.rows(connection, *self._bands).create_view("bands")
            else:
                connection.register("bands", pl.DataFrame(schema=BAND_ROWS).to_arrow())
            return find_groups(connection, signed, threshold)


def take_notes(
    groups: Sequence[RowGroup],
    rules: PageRules,
    params: DocumentParameters,
    limits: Limits,
    progress: Progress,
) -> Notebook:
    """Read all pages once and write down what is known of those that no rule leaves out."""
    notebook = Notebook(limits)
    note = partial(_note, rules=rules, params=params)
    size = sum(group.size for group in groups)
    with process_pool(limits, size, LARGE, WORKER_BYTES) as readers:
        if readers.executor.in_process:
            for noted in map_partitions(note, groups, readers, single_threaded=True):
                notebook.add(noted)
                progress.advance(noted.kept.height + noted.left.total())
        else:
            pieces = _pieces(groups, limits.scratch)
            for notes in map_partitions(partial(_note_piece, note=note), pieces, readers):
                notebook.take_over(notes)
                progress.advance(len(notes.keys) + notes.left.total())
    return notebook


def _pieces(groups: Sequence[RowGroup], folder: Path) -> Iterator[Piece]:
    for number, some in enumerate(packed(groups, attrgetter("size"), PIECE_BYTES)):
        yield Piece(tuple(some), folder / f"piece-{number:06d}")


def _note_piece(piece: Piece, limits: Limits, note: Task[RowGroup, Noted]) -> Notes:
    """What is known of the pages of a piece; to do it twice is to do it once."""
    shutil.rmtree(piece.folder, ignore_errors=True)
    piece.folder.mkdir()
    notebook = Notebook(replace(limits, scratch=piece.folder))
    for row_group in piece.row_groups:
        notebook.add(note(row_group, limits))
    return notebook.written()


def _note(row_group: RowGroup, _: Limits, rules: PageRules, params: DocumentParameters) -> Noted:
    marked = rules.apply(row_group.addresses())
    left = Counter(marked["reason"].drop_nulls().to_list())
    entering = marked.filter(pl.col("reason").is_null()).drop("reason")
    shingle = SHINGLE if params.near_duplicates != "off" else None
    pages, sketches = describe(row_group.with_texts(entering), shingle)
    return Noted(pages.rename({"doc": "key"}).drop("number"), sketches, left)
