"""Counts of faulty texts: every batch is counted, and the first few keys are the examples."""

import polars as pl

from builder.collection.checks.texts import TEXT_FAULTS, TextFaultCounts

DOUBLE_SPACE = {"double_space": TEXT_FAULTS["queries"]["double_space"]}


def batch(*keys: str) -> pl.DataFrame:
    return pl.DataFrame({"query_id": keys, "text": ["deux  mots" for _ in keys]})


def count(*batches: pl.DataFrame) -> TextFaultCounts:
    faults = TextFaultCounts()
    for rows in batches:
        faults.add(rows, DOUBLE_SPACE, ["query_id"], 1)
    return faults


def test_the_examples_are_the_first_three_of_all_batches() -> None:
    faults = count(batch("a", "b"), batch("c", "d", "e"), batch("f"))
    assert faults.counts == {"double_space": 6}
    assert faults.examples == {"double_space": ["a", "b", "c"]}


def test_merged_examples_are_those_of_the_earlier_rows() -> None:
    faults = count(batch("a", "b"))
    faults.merge(count(batch("c", "d")))
    faults.merge(count(batch("e")))
    assert faults.counts == {"double_space": 5}
    assert faults.examples == {"double_space": ["a", "b", "c"]}
