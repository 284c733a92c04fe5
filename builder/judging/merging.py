"""Judgements by people: files in, one grade for every pair out.

Where several assessors judged a pair, the grade most of them gave stands, the lower of equally
frequent ones.
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.judging.assessments import read_assessments
from builder.text.keys import key_of_id
from schemas import DOC_ID_PATTERN, QUERY_ID_PATTERN

PAIR = ("query_id", "doc_id")


def majority(judgements: pl.LazyFrame) -> pl.LazyFrame:
    """One grade for every pair: (query_id, doc_id, manual_grade).

    Args:
        judgements: Rows of the contract `Judgements`.
    """
    votes = judgements.group_by(*PAIR, "grade").agg(pl.len().alias("votes"))
    ordered = votes.sort(*PAIR, "votes", "grade", descending=[False, False, True, False])
    chosen = ordered.unique(PAIR, keep="first", maintain_order=True)
    return chosen.select(*PAIR, pl.col("grade").alias("manual_grade"))


def read_judgements(files: Sequence[Source]) -> pl.DataFrame:
    """Manual grades of all files, in keys: (query, doc, manual_grade).

    Raises:
        FormatError: a file is not one of judgements, one assessor judged a pair twice, or ids are
            not those of a collection that was built.
    """
    rows = read_assessments(files)
    for column, pattern in (("query_id", QUERY_ID_PATTERN), ("doc_id", DOC_ID_PATTERN)):
        other = rows.filter(~pl.col(column).str.contains(pattern))
        if other.height:
            raise FormatError(
                f"{column}: expected the ids of a built collection, {pattern[1]} and 16 "
                f"hexadecimal digits, found {other[column].min()!r}",
                ", ".join(source.name for source in files),
            )
    grades = majority(rows.lazy())
    return grades.select(
        key_of_id("query_id").alias("query"),
        key_of_id("doc_id").alias("doc"),
        pl.col("manual_grade").cast(pl.UInt8),
    ).collect()
