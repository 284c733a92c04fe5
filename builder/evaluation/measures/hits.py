"""Finds the judged documents that a run retrieved, with rank and grade.

No other documents are needed to compute the measures of trec_eval, ERR and Judged@k, because
unjudged documents only affect the ranks of judged ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.trec.runs import Run

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hits:
    """Judged documents that a run retrieved, sorted by query and rank.

    Args:
        query: Index of each hit's query in the sorted list of judged queries.
        doc_id: Document id of each hit.
        rank: Rank of each hit, starting at 1.
        grade: Grade of each hit.
        retrieved: Number of documents retrieved for each judged query.
        unjudged: Number of queries in the run that are ignored because they have no judgements.
    """

    query: Ints
    doc_id: list[str]
    rank: Ints
    grade: Ints
    retrieved: Ints
    unjudged: int


def find_hits(qrels: pl.DataFrame, query_ids: Sequence[str], run: Run) -> Hits:
    """Find the judged documents that a run retrieved.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`.
        query_ids: Sorted ids of the judged queries; some may have no row in `qrels`.
        run: Run for the same snapshot.
    """
    position = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String})
    position = position.with_row_index("query")
    counts = run.ranking.group_by("query_id").len("retrieved")
    retrieved = position.join(counts, on="query_id", how="left").sort("query")["retrieved"]
    hits = (
        run.ranking.join(qrels, on=["query_id", "doc_id"])
        .join(position, on="query_id")
        .sort("query", "rank")
    )
    return Hits(
        query=hits["query"].to_numpy().astype(np.int64),
        doc_id=hits["doc_id"].to_list(),
        rank=hits["rank"].to_numpy().astype(np.int64),
        grade=hits["grade"].to_numpy().astype(np.int64),
        retrieved=retrieved.fill_null(0).to_numpy().astype(np.int64),
        unjudged=counts.height - int(retrieved.is_not_null().sum()),
    )
