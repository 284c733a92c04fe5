"""Moved pages: a removed page whose text, or nearly, stands at a new address.

In: the tables that `builder.alignment.pairing` made, and both documents tables. Out: further rows
of `matches`.

A text identifies a page only when it has `moved_tokens` tokens and no other page of its snapshot
has it: a notice that many pages share is nobody's. First the removed and added pages with the same
tokens are matched; of the others candidates (`builder.alignment.candidates`) are compared in full,
and two pages are one when each is the other's nearest and their shingle Jaccard is at least
`moved`.
"""

from functools import partial

import duckdb
import polars as pl

from builder.alignment.candidates import propose
from builder.alignment.overlap import Versions
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.parameters import ChangeParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress

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

SIMILARITIES = (
    "CREATE TEMP TABLE similarities (gone_id VARCHAR, came_id VARCHAR, similarity DOUBLE)"
)

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
    limits: Limits,
    progress: Progress,
) -> None:
    """Add moved pages to `matches`."""
    for side, view in (("gone", "documents_from"), ("came", "documents_to")):
        connection.execute(
            IDENTIFYING.format(side=side, documents=view, moved_tokens=params.moved_tokens)
        )
    connection.execute(SAME_TOKENS)
    propose(connection, documents_from, documents_to, params, limits, progress)
    texts = map(pl.DataFrame, connection.sql(CANDIDATE_TEXTS).to_arrow_reader(PAIRS_PER_BATCH))
    similar = list(ordered_map(partial(near_pairs, params=params), texts, limits.threads))
    connection.execute(SIMILARITIES)
    for rows in similar:
        append_rows(connection, "similarities", rows)
    connection.execute(NEAREST)


def near_pairs(candidates: pl.DataFrame, params: ChangeParameters) -> pl.DataFrame:
    """The pairs whose shingle Jaccard is at least `moved`, with it.

    Args:
        candidates: `gone_id`, `came_id`, `gone_text`, `came_text`.
        params: Shingle size and threshold.
    """
    versions = Versions.of(candidates["gone_text"], candidates["came_text"])
    similarity = pl.Series("similarity", versions.overlap(params.shingle).jaccard())
    return candidates.select("gone_id", "came_id", similarity).filter(
        pl.col("similarity") >= params.moved
    )
