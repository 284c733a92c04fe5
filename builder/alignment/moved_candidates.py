"""Finds pairs of a removed and an added page that may be one page that moved.

Input: `removed_texts` and `added_texts` of a DuckDB connection (see
`builder.alignment.moved_pages`), and both documents tables. Output: the table `candidates`, pairs
of ids. Texts are sketched (`builder.documents.sketch`); pages that share a band are paired, and
pairs with an estimated similarity of less than half the threshold are dropped, so that only few
texts are read and compared in full, however many pages moved.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from builder.alignment.texts import read_texts, split_by_size
from builder.documents.sketch import (
    Sketches,
    band_rows,
    estimate_jaccard,
    memory_map_signatures,
    sketch_texts,
)
from builder.documents.token_buffer import tokenize_chunks
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.parameters import ChangeParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress

MAX_PAGES_PER_BAND = 20
"""Bands shared by more than this many pages on one side are treated as boilerplate and produce no
pairs."""
MIN_SIMILARITY_SHARE = 0.5
"""Minimum estimated similarity of a candidate pair, as a fraction of the threshold. Of pairs at J =
0.9 with 16 or more shared shingles, one in 10^5 is estimated below 0.45."""
PAIRS_PER_BATCH = 65_536

TO_SKETCH = """
CREATE TEMP TABLE {side}_sketched AS
SELECT row_number() OVER (ORDER BY doc_id) - 1 AS number, doc_id, tokens FROM {side}_texts
ANTI JOIN (SELECT {side}_id AS doc_id FROM matches) USING (doc_id)
WHERE tokens >= {shingle:d}
"""

BANDS = "CREATE TEMP TABLE {side}_bands (number BIGINT, band BIGINT, value UBIGINT)"

SHARED_BANDS = """
WITH
removed_pages AS (
    SELECT * FROM removed_bands QUALIFY count(*) OVER (PARTITION BY band, value) <= {max_pages:d}
),
added_pages AS (
    SELECT * FROM added_bands QUALIFY count(*) OVER (PARTITION BY band, value) <= {max_pages:d}
)
SELECT DISTINCT r.number AS removed, a.number AS added
FROM removed_pages AS r JOIN added_pages AS a USING (band, value)
"""

SIMILAR = "CREATE TEMP TABLE similar_pairs (removed BIGINT, added BIGINT)"

CANDIDATES = """
CREATE TEMP TABLE candidates AS
SELECT r.doc_id AS removed_id, a.doc_id AS added_id
FROM similar_pairs
JOIN removed_sketched AS r ON r.number = removed
JOIN added_sketched AS a ON a.number = added
"""


def find_candidates(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    params: ChangeParameters,
    limits: Limits,
    progress: Progress,
) -> None:
    """Create the table `candidates`: pairs of a removed and an added page to compare in full."""
    for side, documents in (("removed", documents_from), ("added", documents_to)):
        _sketch_side(connection, side, documents, params.shingle, limits, progress)
    batches = list(_similar_pairs(connection, params.moved * MIN_SIMILARITY_SHARE, limits.scratch))
    connection.execute(SIMILAR)
    for pairs in batches:
        append_rows(connection, "similar_pairs", pairs)
    connection.execute(CANDIDATES)


def _similar_pairs(
    connection: duckdb.DuckDBPyConnection, min_similarity: float, folder: Path
) -> Iterator[pl.DataFrame]:
    """Yield the numbers of removed and added pages with similar sketches."""
    removed, added = (
        memory_map_signatures(_signature_path(folder, side)) for side in ("removed", "added")
    )
    shared = connection.sql(SHARED_BANDS.format(max_pages=MAX_PAGES_PER_BAND))
    for batch in shared.to_arrow_reader(PAIRS_PER_BATCH):
        pairs = pl.DataFrame(batch)
        similarity = estimate_jaccard(
            removed[pairs["removed"].to_numpy()], added[pairs["added"].to_numpy()]
        )
        yield pairs.filter(pl.Series(similarity >= min_similarity))


def _sketch_side(
    connection: duckdb.DuckDBPyConnection,
    side: str,
    documents: Table,
    shingle: int,
    limits: Limits,
    progress: Progress,
) -> None:
    """Number the removed or added pages, and write signatures and bands of their texts."""
    connection.execute(TO_SKETCH.format(side=side, shingle=shingle))
    connection.execute(BANDS.format(side=side))
    pages = connection.sql(f"FROM {side}_sketched ORDER BY number").pl()
    progress.start("moved pages", pages.height, "documents")
    work = partial(_sketch_texts, documents=documents, shingle=shingle)
    first = 0
    with _signature_path(limits.scratch, side).open("wb") as file:
        for sketches in ordered_map(work, split_by_size(pages, "tokens"), limits.threads):
            count = len(sketches.signatures)
            file.write(sketches.signatures.tobytes())
            numbers = np.arange(first, first + count)
            append_rows(connection, f"{side}_bands", band_rows(sketches, numbers))
            first += count
            progress.advance(count)
    progress.finish()


def _sketch_texts(pages: pl.DataFrame, documents: Table, shingle: int) -> Sketches:
    """Return sketches of the texts of pages."""
    return sketch_texts(tokenize_chunks(read_texts(documents, pages["doc_id"])["text"]), shingle)


def _signature_path(folder: Path, side: str) -> Path:
    """Return the path of the signature file of the removed or added pages."""
    return folder / f"{side}_signatures"
