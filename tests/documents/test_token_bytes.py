"""Tokens found by their bytes are those that Polars finds character by character."""

import hashlib
from itertools import pairwise
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents import token_buffer
from builder.documents.case_tables import TABLE_SIZE, character_tables
from builder.documents.token_buffer import from_joined_tokens, tokenize_chunks
from builder.documents.tokens import tokens_expr
from tests.documents.texts import CHARACTERS, TEXTS
from tests.thorough import ALL, examples


def found(texts: pl.Series) -> list[list[str]]:
    """The tokens of each text, as bytes, counts and digests tell them."""
    words: list[list[str]] = []
    for chunk in tokenize_chunks(texts):
        bounds = chunk.bounds.tolist()
        pieces = [chunk.data[a:b].tobytes().decode() for a, b in pairwise(bounds)]
        assert all(piece == "" or piece.endswith(" ") for piece in pieces)
        here = [piece.split(" ")[:-1] for piece in pieces]
        assert chunk.token_counts.tolist() == list(map(len, here))
        assert chunk.md5_hex() == [
            hashlib.md5(" ".join(each).encode()).hexdigest() for each in here
        ]
        places = zip(chunk.token_starts.tolist(), chunk.ends.tolist(), strict=True)
        listed = [chunk.data[a:b].tobytes().decode() for a, b in places]
        assert listed == [word for each in here for word in each]
        words += here
    return words


def expected(texts: pl.Series) -> list[list[str]]:
    return (
        texts.fill_null("").to_frame("text").select(tokens_expr(pl.col("text")))["text"].to_list()
    )


@pytest.mark.parametrize("form", ["{}", "É{}A", "a {} b"])
def test_every_character_alone_and_within_a_word(form: str) -> None:
    """Characters beyond the tables are left to Polars, one like the other."""
    tabled = [character for character in CHARACTERS if ord(character) < TABLE_SIZE]
    beyond = CHARACTERS[len(tabled) :: 1 if ALL else 50]
    assert len(tabled) == TABLE_SIZE - 2**11
    assert beyond[0] == chr(TABLE_SIZE)
    texts = pl.Series([form.format(character) for character in [*tabled, *beyond]])
    assert found(texts) == expected(texts)


@settings(max_examples=examples(300), deadline=None)
@given(
    TEXTS,
    st.sampled_from([1, 2, 7, 30, 2**18]),
    st.integers(0, 3),
)
def test_texts_of_all_kinds_whatever_the_chunks(
    texts: list[str | None], chunk: int, left: int
) -> None:
    column = pl.Series("text", texts, dtype=pl.String)
    with patch.object(token_buffer, "CHUNK", chunk):
        for some in (column, column.slice(left), column.drop_nulls().slice(left)):
            assert found(some) == expected(some)


@given(st.lists(st.lists(st.text("aé_9", min_size=1, max_size=9), max_size=4)))
def test_tokens_that_are_there_are_taken_as_they_are(words: list[list[str]]) -> None:
    column = pl.Series(["".join(f"{word} " for word in each) for each in words], dtype=pl.String)
    assert from_joined_tokens(column).token_counts.tolist() == list(map(len, words))


def test_few_characters_are_left_to_polars() -> None:
    """Scripts whose letters are all left to it would be as slow as before."""
    kinds = character_tables().kinds
    common = "éÉœŒßàÅøñŁłşĞĄčδλИЯжбעبक字あ한ก’“«»…–€\xa0🙂🎉"
    assert all(kinds[ord(character)] in (0, 1, 3) for character in common + "\u0301قَकाก็")
    unknown = [n for n in range(TABLE_SIZE) if kinds[n] == 2 and not 0xD800 <= n < 0xE000]
    assert len(unknown) < 62


def test_the_texts_themselves_stay_as_they_are() -> None:
    column = pl.Series(["L'Été à ŒUVRE", "plain"])
    assert found(column) == [["l", "été", "à", "œuvre"], ["plain"]]
    assert column.to_list() == ["L'Été à ŒUVRE", "plain"]
