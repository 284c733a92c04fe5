"""Columns of texts and addresses are normalized as single ones are."""

from unicodedata import combining, decomposition, is_normalized
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builder.ingest import text_scan
from builder.ingest.text_scan import are_normalized_single_lines, may_need_normalization
from builder.ingest.texts import (
    UNCLEAN,
    are_canonical,
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


@pytest.mark.parametrize(
    "letters",
    [
        "\u0388\u03ff",
        "\u2002\u2027\u202a\u203f",
        "\u2040\u20bf",
        "\u2140\u22ff",
        "\u2340\u2abf",
        "\uff00\uff7f",
        "\U0001f000\U0001ffff",
        "\t\n ~\u00a0\u02ff",
    ],
)
def test_common_letters_and_signs_are_clean(letters: str) -> None:
    """The first and the last of each range."""
    texts = pl.Series(["x" * 40 + letter + "xx" for letter in letters])
    assert may_need_normalization(texts).tolist() == [False] * len(letters)


@pytest.mark.parametrize("letter", "\u0300\u0387\u0400\u2000\u2001\u2028\u2029\u2100\u2300\u2b00")
def test_other_letters_are_doubtful_at_any_place(letter: str) -> None:
    texts = pl.Series(["x" * 40, f"x{letter}" + "x" * 40, "x" * 41, "x" * 40 + letter])
    assert may_need_normalization(texts).tolist() == [False, True, False, True]


def test_the_texts_from_a_block_with_many_other_letters_on_are_doubtful() -> None:
    """Each arrow has three bytes, of which the first may be one in eight."""
    assert may_need_normalization(pl.Series(["xxx", "xx\u2192"])).tolist() == [False, False]
    assert may_need_normalization(pl.Series(["xxx", "x\u2192"])).tolist() == [True, True]
    with patch.object(text_scan, "BLOCK", 8):
        texts = pl.Series(["xxxxxxxx", "x\u2192", "x\u2192", "x"])
        assert may_need_normalization(texts).tolist() == [False, True, True, True]


def test_single_lines_that_need_no_normalization() -> None:
    lines = {
        "un mot": True,
        "": False,
        " un": False,
        "un ": False,
        "un  mot": False,
        "un\tmot": False,
        "un\nmot": False,
        "\x1f": False,
        "!": True,
        "~": True,
        "\x7f": False,
        "é\u02ff": True,
        "À \u0100": True,
        "e\u0301": False,
        "\u00a0": False,
        "\u00a1": True,
        "\x85": False,
        "a": True,
        " ": False,
    }
    column = pl.Series([None, *lines, None])
    assert are_normalized_single_lines(column).tolist() == [False, *lines.values(), False]
    assert are_normalized_single_lines(column.slice(2, 4)).tolist() == [False] * 4
    assert are_normalized_single_lines(pl.Series(["a", "a"]).slice(1)).tolist() == [True]
    assert are_normalized_single_lines(pl.Series([], dtype=pl.String)).tolist() == []


def test_addresses_that_are_certainly_canonical() -> None:
    urls = ["https://a.fr/", "http://www.a-b.fr/x_1/y.html", "https://a.fr/x/"]
    others = ["https://a.fr", "https://A.fr/", "https://a.fr/x//y", "https://a.fr/../x", "a.fr/"]
    others += ["https://a.fr/?q", "https://a.fr/x.", "ftp://a.fr/", " https://a.fr/"]
    assert are_canonical(pl.Series([*urls, *others])).to_list() == [True] * 3 + [False] * 9


def test_each_control_character_becomes_a_line_end_a_space_or_what_was_meant() -> None:
    clean = {9: "\t", 10: "\n", 11: "\n", 12: "\n", 13: "\n", 28: "\n", 29: "\n", 30: "\n"}
    for code in range(0x21):
        assert normalize(f"a{chr(code)}b") == f"a{clean.get(code, ' ')}b", code
    for letter, expected in (
        *(("~", "~"), ("\x7f", " "), ("\x80", "€"), ("\x81", " "), ("\x8d", " "), ("\x8e", "Ž")),
        *(("\x99", "™"), ("\x9d", " "), ("\x9f", "Ÿ"), ("\xa0", "\xa0"), ("\ufefe", "\ufefe")),
        *(("\ufeff", " "), ("\uff00", "\uff00"), ("\ufffd", "\ufffd"), ("\ufffe", " ")),
        *(("\uffff", " "), ("\U00010000", "\U00010000"), ("\r\n", "\n"), ("\n\r", "\n\n")),
    ):
        assert normalize(f"a{letter}b") == f"a{expected}b"
