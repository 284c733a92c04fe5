"""Read the texts of chosen documents, in pieces of bounded size.

In: a documents table sorted by id and a sorted list of wanted ids with their sizes. Out: batches
of tokens. Only row groups whose id range can hold a wanted id are read.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from builder.documents.tokens import whole_text
from builder.io.tables import Table

TOKENS_PER_BATCH = 1_000_000


def batches_by_size(
    wanted: pl.DataFrame, size: str, limit: int = TOKENS_PER_BATCH
) -> Iterator[pl.DataFrame]:
    """Cut a frame into consecutive pieces whose `size` column adds up to about `limit`.

    A row larger than the limit is a piece of its own, or closes one.
    """
    if wanted.is_empty():
        return
    piece = wanted[size].cast(pl.Int64).cum_sum().to_numpy() // limit
    cuts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), wanted.height]
    for start, stop in pairwise(cuts):
        yield wanted[start:stop]


def read_texts(documents: Table, ids: pl.Series) -> pl.DataFrame:
    """Titles and texts of the documents with these ids.

    Args:
        documents: A documents table.
        ids: Document ids, not empty; every one exists in the table.

    Returns:
        `doc_id` and `text`, both together, sorted by id.
    """
    return (
        documents.scan()
        .select("doc_id", "title", "text")
        .filter(pl.col("doc_id").is_between(pl.lit(ids.min()), pl.lit(ids.max())))
        .join(ids.to_frame("doc_id").lazy(), on="doc_id", how="semi")
        .select("doc_id", whole_text().alias("text"))
        .sort("doc_id")
        .collect(engine="streaming")
    )
