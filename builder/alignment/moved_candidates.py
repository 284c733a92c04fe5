"""Finds candidates for moved pages: pairs of a removed page and an added page with similar texts.

Input: the tables `removed_texts` and `added_texts` of a DuckDB connection (see
`builder.alignment.moved_pages`), and the documents of both snapshots. Output: the table
`candidates` of id pairs. Texts are sketched (MinHash; see `builder.documents.sketch`). Pages whose
sketches share a band (a group of hash values) are paired, and pairs whose estimated similarity is
below half the threshold for moved pages are dropped. Thus, only a few texts are read and compared
in full, even if many pages moved.
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
    bands_to_frame,
    estimate_jaccard,
    memory_map_signatures,
    sketch_texts,
)
from builder.documents.token_buffer import tokenize_chunks
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.parameters import ChangeParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress

MAX_PAGES_PER_BAND = 20
"""Maximum number of removed pages, or of added pages, whose sketches share a band (a group of hash
values). If there are more, the band is assumed to come from boilerplate and is ignored."""
MIN_SIMILARITY_SHARE = 0.5
"""Minimum estimated similarity of a candidate pair, as a fraction of the similarity threshold for
moved pages. The estimate is below 0.45 for one in 10^5 pairs with a similarity of 0.9 and at least
16 shared shingles."""
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


def find_candidate_pairs(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> None:
    """Create the table `candidates`: pairs of a removed and an added page with similar sketches.

    Args:
        connection: DuckDB connection with the tables `removed_texts`, `added_texts` and `matches`.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        params: Shingle size and similarity threshold.
        limits: Number of threads and scratch folder.
        progress: Advances by the number of pages sketched.
    """
    for status, documents in (("removed", documents_from), ("added", documents_to)):
        _sketch_pages(connection, status, documents, params.shingle, limits, progress)
    batches = list(
        _find_pairs_with_similar_sketches(
            connection, params.moved * MIN_SIMILARITY_SHARE, limits.scratch
        )
    )
    connection.execute(SIMILAR)
    for pairs in batches:
        append_rows(connection, "similar_pairs", pairs)
    connection.execute(CANDIDATES)


def _find_pairs_with_similar_sketches(
    connection: duckdb.DuckDBPyConnection, min_similarity: float, folder: Path
) -> Iterator[pl.DataFrame]:
    """Yield pairs of a removed and an added page with similar sketches, as page numbers.

    Args:
        connection: DuckDB connection with the tables `removed_bands` and `added_bands`.
        min_similarity: Minimum estimated Jaccard coefficient.
        folder: Folder with the signature files.
    """
    removed, added = (
        memory_map_signatures(_signature_path(folder, status)) for status in ("removed", "added")
    )
    shared = connection.sql(SHARED_BANDS.format(max_pages=MAX_PAGES_PER_BAND))
    for batch in shared.to_arrow_reader(PAIRS_PER_BATCH):
        pairs = pl.DataFrame(batch)
        similarity = estimate_jaccard(
            removed[pairs["removed"].to_numpy()], added[pairs["added"].to_numpy()]
        )
        yield pairs.filter(pl.Series(similarity >= min_similarity))


def _sketch_pages(
    connection: duckdb.DuckDBPyConnection,
    status: str,
    documents: Table,
    shingle_size: int,
    limits: ResourceLimits,
    progress: Progress,
) -> None:
    """Assign numbers to the removed or added pages, and store sketches of their texts.

    Args:
        connection: DuckDB connection; receives the tables of numbered pages and bands.
        status: `removed` or `added`.
        documents: Documents of the snapshot that contains the pages.
        shingle_size: Number of words per shingle; shorter texts are skipped.
        limits: Number of threads, and scratch folder for the signatures.
        progress: Advances by the number of pages.
    """
    connection.execute(TO_SKETCH.format(side=status, shingle=shingle_size))
    connection.execute(BANDS.format(side=status))
    pages = connection.sql(f"FROM {status}_sketched ORDER BY number").pl()
    progress.start("moved pages", pages.height, "documents")
    work = partial(_sketch_texts, documents=documents, shingle_size=shingle_size)
    first = 0
    with _signature_path(limits.scratch, status).open("wb") as file:
        for sketches in ordered_map(work, split_by_size(pages, "tokens"), limits.threads):
            count = len(sketches.signatures)
            file.write(sketches.signatures.tobytes())
            numbers = np.arange(first, first + count)
            append_rows(connection, f"{status}_bands", bands_to_frame(sketches, numbers))
            first += count
            progress.advance(count)
    progress.finish()


def _sketch_texts(pages: pl.DataFrame, documents: Table, shingle_size: int) -> Sketches:
    """Read the texts of pages, and return their sketches."""
    return sketch_texts(
        tokenize_chunks(read_texts(documents, pages["doc_id"])["text"]), shingle_size
    )


def _signature_path(folder: Path, status: str) -> Path:
    """Return the path of the signature file of the `removed` or `added` pages."""
    return folder / f"{status}_signatures"
