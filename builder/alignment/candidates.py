"""Candidates: which removed and added pages may be one page that moved.

In: `gone_texts` and `came_texts` of a DuckDB connection (see `builder.alignment.moved`), and both
documents tables. Out: the table `candidates`, pairs of ids. Texts are sketched
(`builder.documents.sketch`); pages that share a band are paired, and a pair whose sketches tell of
less than half the similarity that is asked for is dropped, so that texts are read and compared in
full for few, however many pages moved.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from builder.alignment.texts import batches_by_size, read_texts
from builder.documents.sketch import Sketches, band_rows, similarity, sketch, stored_signatures
from builder.documents.token_bytes import token_chunks
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.parameters import ChangeParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress

PAGES_PER_BAND = 20
"""A band that more pages of a side share is boilerplate and proposes nothing."""
LEAST_SHARE = 0.5
"""Of the similarity asked for, what sketches must tell. Of pairs at J = 0.9 that share 16 shingles
or more, sketches tell less than 0.45 of one in 10^5."""
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
gone_pages AS (
    SELECT * FROM gone_bands QUALIFY count(*) OVER (PARTITION BY band, value) <= {most:d}
),
came_pages AS (
    SELECT * FROM came_bands QUALIFY count(*) OVER (PARTITION BY band, value) <= {most:d}
)
SELECT DISTINCT g.number AS gone, c.number AS came
FROM gone_pages AS g JOIN came_pages AS c USING (band, value)
"""

ALIKE = "CREATE TEMP TABLE alike (gone BIGINT, came BIGINT)"

CANDIDATES = """
CREATE TEMP TABLE candidates AS
SELECT g.doc_id AS gone_id, c.doc_id AS came_id
FROM alike JOIN gone_sketched AS g ON g.number = gone JOIN came_sketched AS c ON c.number = came
"""


def propose(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    params: ChangeParameters,
    limits: Limits,
    progress: Progress,
) -> None:
    """Create `candidates`: `gone_id` and `came_id` of the pairs to compare in full."""
    for side, documents in (("gone", documents_from), ("came", documents_to)):
        _sketch_side(connection, side, documents, params.shingle, limits, progress)
    found = list(_alike_by_sketch(connection, params.moved * LEAST_SHARE, limits.scratch))
    connection.execute(ALIKE)
    for pairs in found:
        append_rows(connection, "alike", pairs)
    connection.execute(CANDIDATES)


def _alike_by_sketch(
    connection: duckdb.DuckDBPyConnection, least: float, folder: Path
) -> Iterator[pl.DataFrame]:
    """`gone` and `came`, the numbers of pages whose sketches share a band and enough bins."""
    gone, came = (stored_signatures(_signatures(folder, side)) for side in ("gone", "came"))
    shared = connection.sql(SHARED_BANDS.format(most=PAGES_PER_BAND))
    for batch in shared.to_arrow_reader(PAIRS_PER_BATCH):
        pairs = pl.DataFrame(batch)
        found = similarity(gone[pairs["gone"].to_numpy()], came[pairs["came"].to_numpy()])
        yield pairs.filter(pl.Series(found >= least))


def _sketch_side(
    connection: duckdb.DuckDBPyConnection,
    side: str,
    documents: Table,
    shingle: int,
    limits: Limits,
    progress: Progress,
) -> None:
    """Number the pages of a side; write their signatures, in order of number, and their bands."""
    connection.execute(TO_SKETCH.format(side=side, shingle=shingle))
    connection.execute(BANDS.format(side=side))
    wanted = connection.sql(f"FROM {side}_sketched ORDER BY number").pl()
    progress.start("moved pages", wanted.height, "documents")
    work = partial(_sketched, documents=documents, shingle=shingle)
    first = 0
    with _signatures(limits.scratch, side).open("wb") as file:
        for sketches in ordered_map(work, batches_by_size(wanted, "tokens"), limits.threads):
            count = len(sketches.signatures)
            file.write(sketches.signatures.tobytes())
            numbers = np.arange(first, first + count)
            append_rows(connection, f"{side}_bands", band_rows(sketches, numbers))
            first += count
            progress.advance(count)
    progress.finish()


def _sketched(pages: pl.DataFrame, documents: Table, shingle: int) -> Sketches:
    return sketch(token_chunks(read_texts(documents, pages["doc_id"])["text"]), shingle)


def _signatures(folder: Path, side: str) -> Path:
    return folder / f"{side}_signatures"
