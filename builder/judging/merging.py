"""Merges the judgements of several assessors into one manual grade per query-document pair.

The merged grade is the majority vote; ties are broken in favor of the lower grade.
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.judging.assessments import read_assessments
from builder.text.keys import id_to_key
from schemas import DOC_ID_PATTERN, QUERY_ID_PATTERN

PAIR = ("query_id", "doc_id")


def majority_vote(judgements: pl.LazyFrame) -> pl.LazyFrame:
    """Return the majority grade of each query-document pair.

    Args:
        judgements: Rows with the schema `Judgements`.

    Returns:
        Columns `query_id`, `doc_id`, `manual_grade`.
    """
    votes = judgements.group_by(*PAIR, "grade").agg(pl.len().alias("votes"))
    ordered = votes.sort(*PAIR, "votes", "grade", descending=[False, False, True, False])
    chosen = ordered.unique(PAIR, keep="first", maintain_order=True)
    return chosen.select(*PAIR, pl.col("grade").alias("manual_grade"))


def read_majority_votes(files: Sequence[Source]) -> pl.DataFrame:
    """Read manual judgements and merge them by majority vote per query-document pair.

    Returns:
        Columns `query` and `doc` (integer keys) and `manual_grade`.

    Raises:
        FormatError: A file does not contain valid judgements, an assessor judged a pair twice, or
            an id is not from a built collection.
    """
    rows = read_assessments(files)
    for column, pattern in (("query_id", QUERY_ID_PATTERN), ("doc_id", DOC_ID_PATTERN)):
        other = rows.filter(~pl.col(column).str.contains(pattern))
        if other.height:
            raise FormatError(
                f"{column}: expected the ids of a built collection ({pattern[1]} followed by 16 "
                f"hexadecimal digits), found {other[column].min()!r}",
                ", ".join(source.name for source in files),
            )
    grades = majority_vote(rows.lazy())
    return grades.select(
        id_to_key("query_id").alias("query"),
        id_to_key("doc_id").alias("doc"),
        pl.col("manual_grade").cast(pl.UInt8),
    ).collect()
