"""Notes: what is known of the pages of a snapshot, and those that may enter it.

In: pages in any order. Out: the pages that no rule leaves out with their fingerprints, in ranges of
their key; and what duplicates are found by: a few columns, signatures and bands. Texts are read
here once, a row group at a time. The number of a page is its key.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder import parquet
from builder.documents.duplicates import GROUPS, Signed, find_groups
from builder.documents.fingerprints import describe
from builder.documents.rules import PageRules
from builder.documents.sketch import BAND_ROWS, Sketches, band_rows
from builder.executors import map_pieces
from builder.ingest.buckets import Buckets, bucket_of
from builder.keys import key_of_id
from builder.parameters import DocumentParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Table

SHINGLE = 5
ROWS = 1024
"""Pages that are unpacked together."""
SHARE = 16
"""Which part of the memory the pages that are held, and those of a range, may take."""
NOTES = ("number", "doc_id", "shown", "text_hash")
"""What exact duplicates are found by."""


class RowGroup(NamedTuple):
    """A row group of `pages`."""

    path: Path
    place: int

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
        self.pages = Buckets(limits.scratch, limits.memory // SHARE)
        self.text_bytes: Counter[int] = Counter()
        self.left: Counter[str] = Counter()
        self._folder = limits.scratch
        self._keys: list[npt.NDArray[np.uint64]] = []
        for name in ("notes", "bands"):
            (self._folder / name).mkdir()
        self._signatures = self._folder / "signatures"
        self._signatures.touch()

    def add(self, noted: Noted) -> None:
        """Take down the pages of a row group."""
        self.left.update(noted.left)
        pages, sketches = noted.kept, noted.sketches
        if pages.is_empty():
            return
        keys = pages["key"].to_numpy()
        self._write("notes", pages.with_columns(number="key").select(NOTES))
        if sketches is not None:
            self._write("bands", band_rows(sketches, keys))
            with self._signatures.open("ab") as file:
                file.write(sketches.signatures.tobytes())
        self._keys.append(keys)
        sizes = pages.group_by(bucket_of()).agg(pl.col("text").str.len_bytes().sum())
        self.text_bytes.update(dict(sizes.iter_rows()))
        self.pages.add(pages)

    def _write(self, name: str, rows: pl.DataFrame) -> None:
        path = self._folder / name / f"{len(self._keys):06d}.parquet"
        rows.write_parquet(path, compression="lz4")

    def duplicates(self, limits: Limits, threshold: float) -> pl.DataFrame:
        """See `duplicates.find_groups`."""
        if not self._keys:
            return pl.DataFrame(schema=GROUPS)
        signed = Signed(self._signatures, np.concatenate(self._keys))
        with limits.connect() as connection:
            for name in ("notes", "bands"):
                if files := parquet.inside(self._folder / name):
                    parquet.rows(connection, *files).create_view(name)
                else:
                    connection.register(name, pl.DataFrame(schema=BAND_ROWS).to_arrow())
            return find_groups(connection, signed, threshold)


def take_notes(
    pages: Table, rules: PageRules, params: DocumentParameters, limits: Limits, progress: Progress
) -> Notebook:
    """Read all pages once and write down what is known of those that no rule leaves out."""
    notebook = Notebook(limits)
    task = partial(_note, rules=rules, params=params)
    for noted in map_pieces(task, _row_groups(pages), limits):
        notebook.add(noted)
        progress.advance(noted.kept.height + noted.left.total())
    return notebook


def _row_groups(pages: Table) -> Iterator[RowGroup]:
    for path in pages.paths:
        with pq.ParquetFile(path) as file:
            count = file.num_row_groups
        yield from (RowGroup(path, place) for place in range(count))


def _note(row_group: RowGroup, _: Limits, rules: PageRules, params: DocumentParameters) -> Noted:
    marked = rules.apply(row_group.addresses())
    left = Counter(marked["reason"].drop_nulls().to_list())
    entering = marked["reason"].is_null()
    origins = marked.filter(entering).select("shown", "sampled", key_of_id("doc_id").alias("key"))
    shingle = SHINGLE if params.near_duplicates != "off" else None
    pages, sketches = describe(row_group.pages(entering), shingle)
    return Noted(pages.hstack(origins), sketches, left)
