"""What of a run the judgements can see: the judged documents, where they stand, and their grades.

In: the judgements of a snapshot and a run. Out: one row per judged document that the run retrieved.
No measure here needs more: an unjudged document only takes a rank.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.trec.runs import Run

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hits:
    """The judged documents of a run, sorted by query and rank.

    Args:
        query: Position of the query among the judged queries.
        doc_id: Document.
        rank: Its rank, from 1.
        grade: Its grade.
        retrieved: Documents retrieved for each judged query; 0 where the run lacks the query.
        unjudged: Queries of the run that nobody judged; they are ignored.
    """

    query: Ints
    doc_id: list[str]
    rank: Ints
    grade: Ints
    retrieved: Ints
    unjudged: int


def judged_queries(qrels: pl.DataFrame) -> list[str]:
    """The judged queries, sorted: all those, and only those, over which a mean is taken."""
    return qrels["query_id"].unique().sort().to_list()


def find_hits(qrels: pl.DataFrame, run: Run) -> Hits:
    """The judged documents that a run retrieved.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`.
        run: A ranking of the same snapshot.
    """
    position = pl.DataFrame({"query_id": judged_queries(qrels)}, schema={"query_id": pl.String})
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
