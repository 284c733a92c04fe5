"""Moved pages: a removed page whose text, or nearly, stands at a new address.

In: the tables that `builder.alignment.pairing` made, and both documents tables. Out: further rows
of `matches`.

A text identifies a page only when it has `moved_tokens` tokens and no other page of its snapshot
has it: a notice that many pages share is nobody's. First the removed and added pages with the same
tokens are matched; the others are sketched, candidates compared in full, and two pages are one
when each is the other's nearest and their shingle Jaccard is at least `moved`.
"""

import duckdb
import numpy as np
import polars as pl

from builder.alignment.overlap import Versions
from builder.alignment.texts import batches_by_size, read_tokens
from builder.documents.sketch import sketch
from builder.documents.tokens import tokens
from builder.parameters import ChangeParameters
from builder.progress import Progress
from builder.tables import Table

PAGES_PER_BAND = 20
"""A band that more pages of a side share is boilerplate and proposes nothing."""

PAIRS_PER_BATCH = 256

IDENTIFYING = """
CREATE TEMP TABLE {side}_texts AS
WITH
unmatched AS (
    SELECT doc_id, token_hash, text_hash, tokens FROM {side}
    ANTI JOIN (SELECT {side}_id AS doc_id FROM matches) USING (doc_id)
    WHERE tokens >= {moved_tokens:d}
),
texts AS (
    SELECT token_hash FROM {documents} SEMI JOIN unmatched USING (token_hash)
    GROUP BY token_hash HAVING count(*) = 1
)
SELECT * FROM unmatched SEMI JOIN texts USING (token_hash)
"""

SAME_TOKENS = """
INSERT INTO matches
SELECT g.doc_id, c.doc_id, 'moved', g.text_hash <> c.text_hash
FROM gone_texts AS g JOIN came_texts AS c USING (token_hash)
"""

TO_SKETCH = """
SELECT doc_id, tokens FROM {side}_texts
ANTI JOIN (SELECT {side}_id AS doc_id FROM matches) USING (doc_id)
WHERE tokens >= {shingle:d}
ORDER BY doc_id
"""

SIMILARITIES = (
    "CREATE TEMP TABLE similarities (gone_id VARCHAR, came_id VARCHAR, similarity DOUBLE)"
)

BANDS = "CREATE TEMP TABLE {side}_bands (doc_id VARCHAR, band BIGINT, value UBIGINT)"

CANDIDATES = """
CREATE TEMP TABLE candidates AS
WITH
gone_pages AS (
    SELECT * FROM gone_bands QUALIFY count(*) OVER (PARTITION BY band, value) <= {most:d}
),
came_pages AS (
    SELECT * FROM came_bands QUALIFY count(*) OVER (PARTITION BY band, value) <= {most:d}
)
SELECT DISTINCT g.doc_id AS gone_id, c.doc_id AS came_id
FROM gone_pages AS g JOIN came_pages AS c USING (band, value)
"""

CANDIDATE_TEXTS = """
SELECT
    gone_id,
    came_id,
    f.title || chr(10) || f.text AS gone_text,
    t.title || chr(10) || t.text AS came_text
FROM candidates
JOIN documents_from AS f ON f.doc_id = gone_id
JOIN documents_to AS t ON t.doc_id = came_id
"""

NEAREST = """
INSERT INTO matches
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY gone_id ORDER BY similarity DESC, came_id) AS of_gone,
        row_number() OVER (PARTITION BY came_id ORDER BY similarity DESC, gone_id) AS of_came
    FROM similarities
)
SELECT gone_id, came_id, 'moved', g.text_hash <> c.text_hash
FROM ranked
JOIN gone_texts AS g ON g.doc_id = gone_id
JOIN came_texts AS c ON c.doc_id = came_id
WHERE of_gone = 1 AND of_came = 1
"""


def match_moved(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    params: ChangeParameters,
    progress: Progress,
) -> None:
    """Add moved pages to `matches`."""
    for side, view in (("gone", "documents_from"), ("came", "documents_to")):
        connection.execute(
            IDENTIFYING.format(side=side, documents=view, moved_tokens=params.moved_tokens)
        )
    connection.execute(SAME_TOKENS)
    for side, documents in (("gone", documents_from), ("came", documents_to)):
        _sketch_side(connection, side, documents, params.shingle, progress)
    connection.execute(CANDIDATES.format(most=PAGES_PER_BAND))
    texts = connection.sql(CANDIDATE_TEXTS).to_arrow_reader(PAIRS_PER_BATCH)
    similar = [near_pairs(pl.DataFrame(batch), params) for batch in texts]
    connection.execute(SIMILARITIES)
    for rows in similar:
        _append(connection, "similarities", rows)
    connection.execute(NEAREST)


def _sketch_side(
    connection: duckdb.DuckDBPyConnection,
    side: str,
    documents: Table,
    shingle: int,
    progress: Progress,
) -> None:
    connection.execute(BANDS.format(side=side))
    wanted = connection.sql(TO_SKETCH.format(side=side, shingle=shingle)).pl()
    progress.start("moved pages", wanted.height, "documents")
    for piece in batches_by_size(wanted, "tokens"):
        read = read_tokens(documents, piece["doc_id"])
        _append(connection, f"{side}_bands", bands(read, shingle))
        progress.advance(piece.height)
    progress.finish()


def bands(documents: pl.DataFrame, shingle: int) -> pl.DataFrame:
    """Bands of texts: two texts of which none agrees are hardly near (`builder.documents.sketch`).

    Args:
        documents: `doc_id` and `tokens` (list of strings).
        shingle: Words in a shingle.

    Returns:
        `doc_id`, `band` (its number) and `value`; bands without any shingle are left out.
    """
    sketches = sketch(documents["tokens"].list.join(" "), shingle)
    row, band = np.nonzero(sketches.filled)
    return pl.DataFrame(
        {
            "doc_id": documents["doc_id"].gather(row),
            "band": band,
            "value": sketches.bands[row, band],
        }
    )


def near_pairs(candidates: pl.DataFrame, params: ChangeParameters) -> pl.DataFrame:
    """The pairs whose shingle Jaccard is at least `moved`, with it.

    Args:
        candidates: `gone_id`, `came_id`, `gone_text`, `came_text`.
        params: Shingle size and threshold.
    """
    words = candidates.select(tokens(pl.col("gone_text", "came_text")))
    versions = Versions.of(words["gone_text"], words["came_text"])
    similarity = pl.Series("similarity", versions.overlap(params.shingle).jaccard())
    return candidates.select("gone_id", "came_id", similarity).filter(
        pl.col("similarity") >= params.moved
    )


def _append(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    connection.register("appended", rows.to_arrow())
    connection.execute(f"INSERT INTO {table} SELECT * FROM appended")  # noqa: S608
    connection.unregister("appended")
