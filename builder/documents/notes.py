"""Notes: everything but the text of the pages of a snapshot, kept in scratch files.

In: pages. Out: one file of notes for each row group of `pages`, with a row for each of its pages;
and for the pages that may enter, numbered in order of id, the signatures and bands by which
near-duplicates are found. Texts are read here once, and again when documents are written; they are
never held longer than one row group.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from builder.documents.duplicates import GROUPS, find_groups
from builder.documents.fingerprints import describe
from builder.documents.rules import PageRules
from builder.documents.sketch import BAND_ROWS, Sketches, band_rows, sketch
from builder.executors import map_pieces
from builder.parameters import DocumentParameters
from builder.progress import Progress
from builder.replacing import replaced
from builder.resources import Limits
from builder.tables import Table

SHINGLE = 5
NOTES = [
    "doc_id",
    "reason",
    "shown",
    "sampled",
    "language",
    "language_score",
    "tokens",
    "text_hash",
    "token_hash",
]
KEPT = ["language", "language_score", "tokens", "text_hash", "token_hash"]


class Group(NamedTuple):
    """A row group of `pages`: part and number, and its notes."""

    path: Path
    number: int
    notes: Path

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The pages."""
        with pq.ParquetFile(self.path) as file:
            return pl.DataFrame(file.read_row_group(self.number, columns=columns))


@dataclass(frozen=True)
class Notebook:
    """Notes on all pages of a snapshot."""

    groups: tuple[Group, ...]
    signatures: Path
    bands: Path

    def of(self, path: Path) -> list[Group]:
        """The row groups of one part."""
        return [group for group in self.groups if group.path == path]

    def duplicates(self, limits: Limits, threshold: float) -> pl.DataFrame:
        """See `duplicates.find_groups`."""
        if not self.groups:
            return pl.DataFrame(schema=GROUPS)
        with limits.connect() as connection:
            notes = connection.read_parquet([str(group.notes) for group in self.groups])
            notes.filter("number IS NOT NULL").create_view("notes")
            connection.read_parquet(str(self.bands / "*.parquet")).create_view("bands")
            return find_groups(connection, self.signatures, threshold)


def take_notes(
    pages: Table, rules: PageRules, params: DocumentParameters, limits: Limits, progress: Progress
) -> Notebook:
    """Read all pages once and write down what is known of each."""
    folder = limits.scratch / "notes"
    bands = limits.scratch / "bands"
    for home in (folder, bands):
        home.mkdir()
    groups = tuple(_groups(pages, folder))
    signatures = limits.scratch / "signatures"
    first = 0
    task = partial(_describe, rules=rules, params=params)
    with signatures.open("wb") as file:
        described = map_pieces(task, groups, limits)
        for group, (notes, sketches) in zip(groups, described, strict=True):
            kept = notes["reason"].is_null()
            numbers = first + kept.cast(pl.Int64).cum_sum() - 1
            number = pl.when(kept).then(numbers).otherwise(None).alias("number")
            notes.select(*NOTES, number).write_parquet(group.notes, compression="lz4")
            if sketches is not None:
                file.write(sketches.signatures.tobytes())
            _write_bands(bands / group.notes.name, sketches, first)
            first += int(kept.sum())
            progress.advance(notes.height)
    return Notebook(groups, signatures, bands)


def _groups(pages: Table, folder: Path) -> Iterator[Group]:
    count = 0
    for path in pages.paths:
        with pq.ParquetFile(path) as file:
            row_groups = file.num_row_groups
        for number in range(row_groups):
            yield Group(path, number, folder / f"{count:06d}.parquet")
            count += 1


def _describe(
    group: Group, _: Limits, rules: PageRules, params: DocumentParameters
) -> tuple[pl.DataFrame, Sketches | None]:
    """Notes on the pages of a row group, and sketches of those that are kept."""
    marked = rules.apply(group.read(["doc_id", "url_key"]))
    kept = marked["reason"].is_null()
    described = describe(group.read(["title", "text"]).filter(kept))
    filled = [replaced(d.clear(marked.height), kept, d) for d in described.select(KEPT)]
    sketches = sketch(described["words"], SHINGLE) if params.near_duplicates != "off" else None
    return marked.with_columns(filled), sketches


def _write_bands(path: Path, sketches: Sketches | None, first: int) -> None:
    bands = pl.DataFrame(schema=BAND_ROWS)
    if sketches is not None:
        bands = band_rows(sketches, np.arange(first, first + len(sketches.signatures)))
    bands.write_parquet(path, compression="lz4")
