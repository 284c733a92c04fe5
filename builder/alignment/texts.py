"""Reads the texts of selected documents, in batches of bounded size.

Input: a documents table sorted by id, and sorted document ids with the size of each text. Output:
batches of ids or texts. Only row groups whose range of ids overlaps the range of a batch are read.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from builder.documents.tokens import document_text_expr
from builder.io.tables import Table

TOKENS_PER_BATCH = 1_000_000


def split_by_size(
    rows: pl.DataFrame, size_column: str, limit: int = TOKENS_PER_BATCH
) -> Iterator[pl.DataFrame]:
    """Split a data frame into consecutive batches with a total row size of about `limit` each.

    A row larger than the limit ends its batch.

    Args:
        rows: Data frame to split.
        size_column: Name of the column with the size of each row.
        limit: Approximate total size of a batch.
    """
    if rows.is_empty():
        return
    batch = rows[size_column].cast(pl.Int64).cum_sum().to_numpy() // limit
    bounds = [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), rows.height]
    for start, stop in pairwise(bounds):
        yield rows[start:stop]


def read_texts(documents: Table, ids: pl.Series) -> pl.DataFrame:
    """Read the titles and texts of the documents with the given ids.

    Args:
        documents: Documents of a snapshot.
        ids: One or more document ids, all of which exist in the table.

    Returns:
        Data frame with `doc_id` and `text` (title and text joined by a newline), sorted by id.
    """
    return (
        documents.scan()
        .select("doc_id", "title", "text")
        .filter(pl.col("doc_id").is_between(pl.lit(ids.min()), pl.lit(ids.max())))
        .join(ids.to_frame("doc_id").lazy(), on="doc_id", how="semi")
        .select("doc_id", document_text_expr().alias("text"))
        .sort("doc_id")
        .collect(engine="streaming")
    )
