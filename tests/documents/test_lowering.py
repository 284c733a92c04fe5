"""Lower case by bytes is lower case by characters."""

from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents import lowercase
from builder.documents.lowercase import to_lowercase
from tests.documents.texts import CHARACTERS, TEXTS
from tests.thorough import examples


def test_every_character_alone_and_within_a_word() -> None:
    for form in ("{}", "É{}A"):
        texts = pl.Series([form.format(character) for character in CHARACTERS])
        assert (to_lowercase(texts) == texts.str.to_lowercase()).all()


@settings(max_examples=examples(300), deadline=None)
@given(
    TEXTS,
    st.sampled_from([1, 2, 3, 7, 2**20]),
    st.integers(0, 3),
)
def test_texts_of_all_kinds_whatever_the_blocks(
    texts: list[str | None], block: int, left: int
) -> None:
    column = pl.Series("text", texts, dtype=pl.String)
    with patch.object(lowercase, "BLOCK", block):
        for some in (column, column.slice(left), column.drop_nulls().slice(left)):
            found = to_lowercase(some)
            assert found.name == "text"
            assert found.to_list() == some.str.to_lowercase().to_list()


@pytest.mark.parametrize("text", ["L'Été à ŒUVRE", "plain"])
def test_the_texts_themselves_stay_as_they_are(text: str) -> None:
    column = pl.Series([text] * 3)
    assert to_lowercase(column).to_list() == [text.lower()] * 3
    assert column.to_list() == [text] * 3
