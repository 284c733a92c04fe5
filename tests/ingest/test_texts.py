"""Columns of texts and addresses are normalized as single ones are."""

from unicodedata import combining, decomposition, is_normalized
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builder.ingest import text_scan
from builder.ingest.text_scan import may_need_normalization
from builder.ingest.texts import (
    UNCLEAN,
    canonical_url,
    normalize,
    normalize_texts,
    to_single_lines,
    url_keys,
)

ODD = st.sampled_from(
    [*"\x00\x1f\x7f\x85\ufeff\ufffe\u2028\u0301\r\n\t \u00a0\u1161\u11a8", "é", "ﬁ", "각"]
)
TEXTS = st.lists(st.lists(st.one_of(ODD, st.characters(codec="utf-8"))).map("".join), max_size=8)
PIECES = st.sampled_from(
    [
        *"abcXYZ09./-_:?#&=%@~ ",
        "http://",
        "https://",
        "www.",
        ".fr",
        "..",
        "//",
        "é",
        "%C3%A9",
        ":80",
    ]
)


@given(TEXTS)
@example(["a\x00b", "e\u0301", " \u2028x\u2029 ", "\x1f\xa0a\x1f"])
def test_a_column_is_normalized_as_its_texts_are(texts: list[str]) -> None:
    found = normalize_texts(pl.Series("text", texts, dtype=pl.String)).to_list()
    assert found == [normalize(text) for text in texts]
    assert [normalize(text) for text in found] == found


def test_other_letters_and_nulls_are_normalized() -> None:
    texts = ["\u041c\u0430\u043c\u0430 " * 50, None, "a\x00b", "\u0435\u0308", ""]
    found = normalize_texts(pl.Series("text", texts, dtype=pl.String))
    wanted = [None if text is None else normalize(text) for text in texts]
    assert found.to_list() == wanted
    assert wanted[2:] == ["a b", "\u0451", ""]


def test_all_that_nfc_may_change_is_looked_at() -> None:
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    parts = [decomposition(letter).split() for letter in letters]
    joined = {chr(int(pair[1], 16)) for pair in parts if len(pair) == 2 and pair[0][0] != "<"}
    joined |= {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    marked = pl.Series(letters).str.contains(UNCLEAN)
    others = pl.Series(letters).filter(~marked).to_list()
    assert len(others) > 1_000_000
    assert not joined & set(others)
    assert not [c for c in others if combining(c) or not is_normalized("NFC", c)]


def test_all_that_is_unclean_is_doubtful_wherever_it_stands() -> None:
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    unclean = pl.Series(letters).filter(pl.Series(letters).str.contains(UNCLEAN))
    alone = [
        may_need_normalization(unclean.slice(start, 1))[0] for start in range(0, len(unclean), 37)
    ]
    assert all(alone)
    assert may_need_normalization(unclean).all()
    assert may_need_normalization("x" * 20 + unclean + "x" * 20).all()
    plain = pl.Series(letters).filter(~pl.Series(letters).str.contains(UNCLEAN))
    few = "x" * 40 + plain.filter(plain < "\u0300")
    assert not may_need_normalization(few).any()
    typed = "l\u2019\u0153uvre {} d\u00e9j\u00e0 vue"
    signs = pl.Series(
        [typed.format(sign) for sign in "\u2013\u2026\u20ac\u2192\u2605\u03bc\U0001f642"]
    )
    assert not may_need_normalization(signs).any()


@given(TEXTS, st.integers(1, 12), st.integers(0, 8))
def test_blocks_end_anywhere(texts: list[str], block: int, start: int) -> None:
    column = pl.Series("text", [*texts, None, ""], dtype=pl.String).slice(start)
    wanted = column.str.contains(UNCLEAN).fill_null(value=False).to_numpy()
    with patch.object(text_scan, "BLOCK", block):
        found = may_need_normalization(column)
    assert len(found) == len(column)
    assert not (wanted & ~found).any()


@pytest.mark.parametrize("letter", "\x00\x7f\x85\u0301\u0900\u2028\u2126\ufeff\U0001d15e")
@pytest.mark.parametrize("block", range(32, 36))
def test_a_letter_is_found_at_the_end_of_a_block_and_of_all(letter: str, block: int) -> None:
    for place in range(28, 40):
        texts = ["x" * 30, "x" * place + letter, "\u2192" + "x" * 30, "x" * place + letter]
        with patch.object(text_scan, "BLOCK", block):
            assert may_need_normalization(pl.Series(texts)).tolist() == [False, True, False, True]


@given(TEXTS)
def test_few_others_are_doubtful(texts: list[str]) -> None:
    near = pl.Series(["x" * 100 + text for text in texts if max(text, default="") < "\u0300"])
    column = near.cast(pl.String)
    assert may_need_normalization(column).tolist() == column.str.contains(UNCLEAN).to_list()


@given(TEXTS)
def test_one_line_has_no_line_ends(texts: list[str]) -> None:
    found = to_single_lines(pl.Series("text", texts, dtype=pl.String)).to_list()
    assert [" ".join(normalize(text).split()) for text in texts] == found


@given(st.lists(st.lists(PIECES, max_size=9).map(lambda p: "https://" + "".join(p)), max_size=8))
@example(["https://a.fr", "https://a.fr/", "https://A.fr/x", "https://a.fr/x/../y", "https://1.2/"])
@example(["http://www.a-b.fr/Page_1/x.y.html", "https://a.fr/x//y", "https://a.fr:443/x"])
def test_a_column_of_addresses_has_their_keys(urls: list[str]) -> None:
    found = url_keys(pl.Series("url", urls, dtype=pl.String)).to_list()
    assert found == [canonical_url(url) for url in urls]
