"""Merges the judgements of several assessors into one manual grade per query-document pair.

The merged grade is the majority vote; ties are broken in favour of the lower grade.
"""

from collections.abc import Sequence

import polars as pl

from builder.io.sources import Source
from builder.judging.assessments import read_assessments
from builder.text.keys import key_of_id

PAIR = ("query_id", "doc_id")


def majority_vote(judgements: pl.LazyFrame) -> pl.LazyFrame:
    """Majority vote per pair: query_id, doc_id, manual_grade.

    Args:
        judgements: Rows of the contract `Judgements`.
    """
    votes = judgements.group_by(*PAIR, "grade").agg(pl.len().alias("votes"))
    ordered = votes.sort(*PAIR, "votes", "grade", descending=[False, False, True, False])
    chosen = ordered.unique(PAIR, keep="first", maintain_order=True)
    return chosen.select(*PAIR, pl.col("grade").alias("manual_grade"))


def read_judgements(files: Sequence[Source]) -> pl.DataFrame:
    """Read files of judgements and merge them: query and doc (64-bit keys), manual_grade.

    Raises:
        FormatError: a file does not contain valid judgements, or an assessor judged a pair twice.
    """
    grades = majority_vote(read_assessments(files).lazy())
    return grades.select(
        key_of_id("query_id").alias("query"),
        key_of_id("doc_id").alias("doc"),
        pl.col("manual_grade").cast(pl.UInt8),
    ).collect()
