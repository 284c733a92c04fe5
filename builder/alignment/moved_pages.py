"""Matches pages that moved: removed pages whose text reappears at a new URL.

Input: the tables that `builder.alignment.pairing` creates, and the documents of both snapshots.
Output: additional rows in the table `matches`.

A text identifies a page only if it has at least `moved_tokens` tokens and occurs on only one page
of its snapshot; a notice that is on many pages identifies none of them. First, removed and added
pages with equal tokens are matched. Then, candidate pairs of the remaining pages
(`builder.alignment.moved_candidates`) are compared in full. Two pages are matched if each is the
most similar candidate for the other, and the Jaccard coefficient of their shingle sets is at least
`moved`.
"""

from functools import partial

import duckdb
import polars as pl

from builder.alignment.moved_candidates import find_candidate_pairs
from builder.alignment.overlap import EncodedDocumentVersions
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.parameters import ChangeParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress

PAIRS_PER_BATCH = 256

DISTINCTIVE_TEXTS = """
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

EQUAL_TOKENS = """
INSERT INTO matches
SELECT r.doc_id, a.doc_id, 'moved', r.text_hash <> a.text_hash
FROM removed_texts AS r JOIN added_texts AS a USING (token_hash)
"""

SIMILARITIES = (
    "CREATE TEMP TABLE similarities (removed_id VARCHAR, added_id VARCHAR, similarity DOUBLE)"
)

CANDIDATE_TEXTS = """
SELECT
    removed_id,
    added_id,
    f.title || chr(10) || f.text AS removed_text,
    t.title || chr(10) || t.text AS added_text
FROM candidates
JOIN documents_from AS f ON f.doc_id = removed_id
JOIN documents_to AS t ON t.doc_id = added_id
"""

NEAREST = """
INSERT INTO matches
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY removed_id ORDER BY similarity DESC, added_id
        ) AS rank_for_removed,
        row_number() OVER (
            PARTITION BY added_id ORDER BY similarity DESC, removed_id
        ) AS rank_for_added
    FROM similarities
)
SELECT removed_id, added_id, 'moved', r.text_hash <> a.text_hash
FROM ranked
JOIN removed_texts AS r ON r.doc_id = removed_id
JOIN added_texts AS a ON a.doc_id = added_id
WHERE rank_for_removed = 1 AND rank_for_added = 1
"""


def match_moved_pages(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> None:
    """Find pages that moved, and add them to the table `matches`.

    Args:
        connection: DuckDB connection with the tables that `pairing.pair_documents` creates.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        params: Shingle size and criteria for moved pages.
        limits: Number of threads and scratch folder.
        progress: Advances by the number of pages sketched.
    """
    for side, view in (("removed", "documents_from"), ("added", "documents_to")):
        connection.execute(
            DISTINCTIVE_TEXTS.format(side=side, documents=view, moved_tokens=params.moved_tokens)
        )
    connection.execute(EQUAL_TOKENS)
    find_candidate_pairs(connection, documents_from, documents_to, params, limits, progress)
    texts = map(pl.DataFrame, connection.sql(CANDIDATE_TEXTS).to_arrow_reader(PAIRS_PER_BATCH))
    similar = list(ordered_map(partial(keep_similar_pairs, params=params), texts, limits.threads))
    connection.execute(SIMILARITIES)
    for rows in similar:
        append_rows(connection, "similarities", rows)
    connection.execute(NEAREST)


def keep_similar_pairs(candidates: pl.DataFrame, params: ChangeParameters) -> pl.DataFrame:
    """Return the candidate pairs whose similarity is at least the threshold for moved pages.

    Args:
        candidates: Pairs of pages: `removed_id`, `added_id`, `removed_text`, `added_text`.
        params: Shingle size and threshold.

    Returns:
        Data frame with `removed_id`, `added_id` and `similarity`, the Jaccard coefficient of the
        shingle sets.
    """
    versions = EncodedDocumentVersions.from_texts(
        candidates["removed_text"], candidates["added_text"]
    )
    similarity = pl.Series("similarity", versions.ngram_overlap(params.shingle).jaccard())
    return candidates.select("removed_id", "added_id", similarity).filter(
        pl.col("similarity") >= params.moved
    )
