"""Tokens of texts: what they are, and hashes of texts, beside plain Python."""

import hashlib
import re

import duckdb
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from builder.documents.tokens import WORD, WORD_IN_SQL, digest
from builder.text.keys import runs_as_spaces

LETTERS = st.sampled_from("aB_1 é,.’\n\t\xa0\u2028字ก็İ") | st.characters(codec="utf-8")
TEXTS = st.lists(st.text(LETTERS, max_size=40))


@given(st.lists(st.text(st.sampled_from("aZ_19é, ’\xa0œß字قَकाก็ⅷ‿İ\u0301"), max_size=20)))
def test_words_are_the_same_for_both_engines(texts: list[str]) -> None:
    column = pl.DataFrame({"text": texts}, {"text": pl.String})
    with duckdb.connect() as connection:
        connection.register("texts", column.to_arrow())
        query = "SELECT regexp_extract_all(text, $word) AS words FROM texts"
        found = connection.execute(query, {"word": WORD_IN_SQL}).fetchall()
    expected = column.select(pl.col("text").str.extract_all(WORD))["text"].to_list()
    assert [words for (words,) in found] == expected


@given(TEXTS, st.integers(0, 3))
def test_digests_are_md5_of_the_bytes(texts: list[str], start: int) -> None:
    series = pl.Series(texts, dtype=pl.String)[start:]
    expected = [hashlib.md5(text.encode()).hexdigest() for text in texts[start:]]
    assert digest(series) == expected


@given(TEXTS)
def test_runs_of_characters_are_one_space_each(texts: list[str]) -> None:
    frame = pl.DataFrame({"text": texts}, {"text": pl.String})
    found = frame.select(runs_as_spaces(pl.col("text"), r"[\s,.]"))["text"].to_list()
    white = "".join(map(chr, (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))))
    white += "\u2028\u2029\u202f\u205f\u3000,."
    assert found == [re.sub(f"[{re.escape(white)}]+", " ", text) for text in texts]
