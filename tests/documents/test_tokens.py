"""Tokens of texts: what they are, and hashes of texts, beside plain Python."""

import hashlib
import re

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents.fingerprints import fingerprint_pages
from builder.documents.tokens import md5_hex, tokens_expr
from builder.documents.words import JOINERS, WORD_DUCKDB
from builder.text.keys import replace_runs_with_space
from tests.thorough import examples

IN_SQL = """
SELECT regexp_extract_all(regexp_replace(text, $joiners, '', 'g'), $word) AS words FROM texts
"""
LETTERS = st.sampled_from("aB_1 é,.’\n\t\xa0\u2028字ก็İ") | st.characters(codec="utf-8")
TEXTS = st.lists(st.text(LETTERS, max_size=40))


@settings(max_examples=examples(100))
@given(
    st.lists(
        st.text(
            st.sampled_from("az_19é, ’\xa0œß字قَकाก็ⅷ‿\u0301\u200d\ufe0f\u20e3❤\u00ad\u2060"),
            max_size=20,
        )
    )
)
def test_words_are_the_same_for_both_engines(texts: list[str]) -> None:
    column = pl.DataFrame({"text": texts}, {"text": pl.String})
    with duckdb.connect() as connection:
        connection.register("texts", column.to_arrow())
        found = connection.execute(IN_SQL, {"word": WORD_DUCKDB, "joiners": JOINERS}).fetchall()
    expected = column.select(tokens_expr(pl.col("text")))["text"].to_list()
    assert [words for (words,) in found] == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'Été d_1 à 20h", ["l", "été", "d_1", "à", "20h"]),
        ("e\u0301te\u0301 q\u0303", ["e\u0301te\u0301", "q\u0303"]),
        ("\u0301 \u0301a \u20e3", ["a"]),
        ("❤️ ❤ ☎️ © ©️", []),
        ("👩\u200d💻 👩💻 👍🏽", []),
        ("1️⃣ 1⃣ #️⃣", ["1⃣", "1⃣"]),
        ("می\u200cخواهم میخواهم", ["میخواهم", "میخواهم"]),
        ("क्\u200dष हिन्दी", ["क्ष", "हिन्दी"]),
        ("葛\U000e0100城 葛城", ["葛城", "葛城"]),
        ("กำลังทำ", ["กำลังทำ"]),
        ("Donau\u00addampf a\u2060b co\u200bop", ["donaudampf", "ab", "co", "op"]),
    ],
)
def test_what_a_word_is(text: str, words: list[str]) -> None:
    frame = pl.DataFrame({"text": [text]})
    assert frame.select(tokens_expr(pl.col("text")))["text"].to_list() == [words]
    hashed = fingerprint_pages(frame.with_columns(title=pl.lit(""))).pages
    joined = hashlib.md5(" ".join(words).encode()).hexdigest()
    assert hashed.select("tokens", "token_hash").row(0) == (len(words), joined)


def test_a_variant_of_an_emoji_changes_no_word() -> None:
    texts = ["J’❤️ Paris 👩\u200d💻 ☎️", "J’❤ Paris 👩💻 ☎"]
    pages = fingerprint_pages(pl.DataFrame({"title": ["", ""], "text": texts})).pages
    assert pages["token_hash"].n_unique() == 1
    assert pages["text_hash"].n_unique() == 2


@given(TEXTS, st.integers(0, 3))
def test_digests_are_md5_of_the_bytes(texts: list[str], start: int) -> None:
    series = pl.Series(texts, dtype=pl.String)[start:]
    expected = [hashlib.md5(text.encode()).hexdigest() for text in texts[start:]]
    assert md5_hex(series) == expected


@given(TEXTS)
def test_runs_of_characters_are_one_space_each(texts: list[str]) -> None:
    frame = pl.DataFrame({"text": texts}, {"text": pl.String})
    found = frame.select(replace_runs_with_space(pl.col("text"), r"[\s,.]"))["text"].to_list()
    white = "".join(map(chr, (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))))
    white += "\u2028\u2029\u202f\u205f\u3000,."
    assert found == [re.sub(f"[{re.escape(white)}]+", " ", text) for text in texts]
