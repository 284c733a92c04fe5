"""Identity of queries and documents."""

import hashlib
import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.text import keys


@pytest.mark.parametrize(
    ("typed", "folded"),
    [
        ("L'État  ŒUVRE", "l etat oeuvre"),
        ("Déclaration d’impôts 2042-C", "declaration d impots 2042 c"),
        ("prix de l\u02bceau, d\u02bbeau, m\u02b9a", "prix de l eau d eau m a"),
        ("\u0149", "n"),
        ("STRASSE straße", "strasse strasse"),
        (" \t ", ""),
        ("?!", ""),
        ("pâte à crêpes", "pate a crepes"),
        ("pa\u0302te", "pate"),
        ("ﬁn", "fin"),
        ("Ёлка, Άθήνα", "елка αθηνα"),
        ("שָׁלוֹם", "שלום"),
        ("مَدْرَسَة", "مدرسة"),
        ("1\ufe0f\u20e3", "1"),
        ("eau po\u00adtable, co\u2060op", "eau potable coop"),
        ("ก\u0e48\u00ad\u0e38", "กุ่"),  # marks get the order that they have without a hyphen
    ],
)
def test_fold_examples(typed: str, folded: str) -> None:
    assert keys.fold_texts([typed]) == [folded]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("かき", "がぎ"),  # Japanese voicing
        ("น้ำดื่ม", "นาดม"),  # Thai vowels and tones
        ("हिन्दी", "हनद"),  # Devanagari vowels
        ("ঢাকা", "ঢক"),  # Bengali vowels
    ],
)
def test_marks_that_are_letters_stay(one: str, other: str) -> None:
    first, second = keys.fold_texts([one, other])
    assert first != second
    assert " " not in first


@pytest.mark.parametrize(
    ("marks", "kept"),
    [
        ("\u02ff\u0300\u036f\u0370", "\u02ff\u0370"),
        ("\u0482\u0483\u0489\u048a", "\u0482\u048a"),
        ("\u1aaf\u1ab0\u1aff\u1b00", "\u1aaf\u1b00"),
        ("\u1dbf\u1dc0\u1dff", "\u1dbf"),
        ("\u20cf\u20d0\u20f0\u20f1", "\u20cf\u20f1"),
        ("\ufdff\ufe00\ufe0f\ufe10", "\ufdff\ufe10"),
        ("\ufe1f\ufe20\ufe2f\ufe30", "\ufe1f\ufe30"),
        ("\U000e00ff\U000e0100\U000e01ef\U000e01f0", "\U000e00ff\U000e01f0"),
        ("\u0590\u0591\u05bd\u05be\u05bf\u05c0", "\u0590\u05be\u05c0"),
        ("\u05c1\u05c2\u05c3\u05c4\u05c5\u05c6\u05c7\u05c8", "\u05c3\u05c6\u05c8"),
        ("\u060f\u0610\u061a\u061b", "\u060f\u061b"),
        ("\u064a\u064b\u065f\u0660\u066f\u0670\u0671", "\u064a\u0660\u066f\u0671"),
        ("\u06d5\u06d6\u06dc\u06dd\u06de\u06df\u06e4\u06e5", "\u06d5\u06dd\u06de\u06e5"),
        ("\u06e6\u06e7\u06e8\u06e9\u06ea\u06ed\u06ee", "\u06e6\u06e9\u06ee"),
    ],
)
def test_marks_that_users_omit_are_dropped_and_their_neighbours_kept(marks: str, kept: str) -> None:
    """The first and the last mark of each range, between the characters before and after it."""
    assert keys.strip_accents(marks) == kept


@given(st.lists(st.text(), max_size=20))
def test_fold_is_idempotent(texts: list[str]) -> None:
    once = keys.fold_texts(texts)
    assert keys.fold_texts(once) == once


@given(st.text())
def test_folded_text_has_single_spaces_and_no_upper_case(text: str) -> None:
    (folded,) = keys.fold_texts([text])
    assert folded == " ".join(folded.split(" ")).strip(" ")
    assert "  " not in folded


def test_key64_is_the_head_of_md5() -> None:
    assert keys.key64("abc") == int(hashlib.md5(b"abc").hexdigest()[:16], 16)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_many_keys_are_those_of_each(texts: list[str]) -> None:
    found = keys.hash_to_keys(pl.Series(texts, dtype=pl.String))
    assert found.tolist() == [keys.key64(text) for text in texts]


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_a_sample_is_decided_by_seed_and_id(share: float) -> None:
    ids = pl.DataFrame({"doc_id": [keys.doc_id(number) for number in range(200)]})
    taken = ids.select(keys.in_sample("doc_id", share, "seed"))["doc_id"].to_list()
    assert taken == [keys.key64(f"seed\n{value}") < share * 2**64 for value in ids["doc_id"]]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30))
def test_ids_and_keys_convert_both_ways(values: list[int]) -> None:
    frame = pl.DataFrame({"key": pl.Series(values, dtype=pl.UInt64)})
    ids = frame.select(id=keys.key_to_id("key", "d"))
    assert ids["id"].to_list() == [keys.doc_id(value) for value in values]
    assert ids.select(keys.id_to_key("id"))["id"].to_list() == values
    assert sorted(values) == [int(i[1:], 16) for i in sorted(ids["id"])]


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("HTTP://WWW.Exemple.example:80", "http://www.exemple.example/"),
        ("https://www.Straße.example/a", "https://www.xn--strae-oqa.example/a"),
        ("https://www.xn--strae-oqa.example/a", "https://www.xn--strae-oqa.example/a"),
        ("https://www.strasse.example/a", "https://www.strasse.example/a"),
        ("http://βόλος.example", "http://xn--nxasmm1c.example/"),
        ("https://anna:secret@Café.example:8443/é", "https://xn--caf-dma.example:8443/%C3%A9"),
        ("http://café.example:80/", "http://xn--caf-dma.example/"),
        ("http://i❤.example/", "http://xn--i-7iq.example/"),
        ("http://ｓtraße.example/", "http://xn--strae-oqa.example/"),
        ("http://café.example:/", "http://xn--caf-dma.example/"),
        (
            "http://a.example/?MTM_kwd=1&_hsenc=2&hsa_acc=3&fbclid&utm=4&x",
            "http://a.example/?utm=4&x=",
        ),
        ("https://a.example:443/x?b=2&a=1#top", "https://a.example/x?a=1&b=2"),
        ("https://a.example/x?utm_source=n&id=7&GCLID=1", "https://a.example/x?id=7"),
        ("https://a.example/été page", "https://a.example/%C3%A9t%C3%A9%20page"),
        ("https://a.example/%c3%a9t%c3%a9%20page", "https://a.example/%C3%A9t%C3%A9%20page"),
        (" https://a.example/x/ ", "https://a.example/x/"),
        ("https://a.example:8443/x", "https://a.example:8443/x"),
        ("https://anna:secret@a.example:443/x", "https://a.example/x"),
        ("https://anna@b@a.example/x", "https://a.example/x"),
        ("https://a.example/@anna/x?to=a@b.example", "https://a.example/@anna/x?to=a%40b.example"),
    ],
)
def test_url_key_examples(url: str, key: str) -> None:
    assert keys.url_key(url) == key
    assert keys.url_key(key) == key


@pytest.mark.parametrize("url", ["", "x", "ftp://a.example/", "http://", "//a.example", "/path"])
def test_url_key_refuses_what_is_no_web_address(url: str) -> None:
    with pytest.raises(ValueError, match="expected an absolute http"):
        keys.url_key(url)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_sample_contains_the_smaller(first: float, second: float) -> None:
    small, large = sorted((first, second))
    ids = pl.DataFrame({"doc_id": [keys.doc_id(keys.key64(str(i))) for i in range(50)]})
    taken = ids.select(
        small=keys.in_sample("doc_id", small, "s"), large=keys.in_sample("doc_id", large, "s")
    )
    assert taken.filter(pl.col("small") & ~pl.col("large")).height == 0


def test_sample_share_is_kept() -> None:
    ids = pl.DataFrame({"doc_id": [keys.doc_id(keys.key64(str(i))) for i in range(20_000)]})
    share = ids.select(keys.in_sample("doc_id", 0.2, "s"))["doc_id"].mean()
    assert share == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (
            "HTTP://User:Secret@EXAMPLE.fr:80/A?z=1&a=2&utm_source=x#part",
            "http://example.fr/A?a=2&z=1",
        ),
        ("https://example.fr", "https://example.fr/"),
        ("https://example.fr:443/?", "https://example.fr/"),
        ("https://example.fr:8443/a//b/./c/..;p=1", "https://example.fr:8443/a//b/;p=1"),
        ("https://example.fr/A/../b", "https://example.fr/b"),
        (
            "https://exämple.fr/été?q=à l'eau",
            "https://xn--exmple-cua.fr/%C3%A9t%C3%A9?q=%C3%A0+l%27eau",
        ),
        ("https://example.fr/%7euser/%c3%a9/%2F%3f", "https://example.fr/~user/%C3%A9/%2F%3F"),
        ("https://example.fr/a?b=2&b=1&a=&c", "https://example.fr/a?a=&b=1&b=2&c="),
        (
            "https://example.fr/a?q=a+b%20c&x=%26&y=1;2",
            "https://example.fr/a?q=a+b+c&x=%26&y=1%3B2",
        ),
        ("https://example.fr/a b\tc\n", "https://example.fr/a%20bc"),
        ("https://[2001:DB8::1]/x", "https://[2001:db8::1]/x"),
        ("https://example.fr/a?q=%E9t%E9", "https://example.fr/a?q=%E9t%E9"),
        (
            'https://example.fr/(a)[b]{c}|d^e`f"<g>',
            "https://example.fr/(a)[b]%7Bc%7D|d%5Ee%60f%22%3Cg%3E",
        ),
        ("https://例え.jp/パス", "https://xn--r8jz45g.jp/%E3%83%91%E3%82%B9"),
    ],
)
def test_ids_of_documents_stay(url: str, key: str) -> None:
    """They are permanent; w3lib 2.5 resolved dot segments that 2.4 kept, and split at no `;`."""
    assert keys.url_key(url) == key


def test_what_ids_depend_on_is_bounded() -> None:
    """A version of w3lib that may canonicalize otherwise is installed on purpose only."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert "w3lib>=2.5,<2.6" in project["project"]["dependencies"]


def test_keys_of_rows_are_printed_as_ids() -> None:
    rows = pl.DataFrame(
        {"query": [1, 255], "doc": [2**64 - 1, 16], "grade": [0, 2]},
        schema={"query": pl.UInt64, "doc": pl.UInt64, "grade": pl.UInt8},
    )
    assert keys.format_keys(rows) == [
        "q0000000000000001 dffffffffffffffff 0",
        "q00000000000000ff d0000000000000010 2",
    ]
    assert keys.format_keys(pl.DataFrame({"query": ["eau"]})) == ["eau"]


def test_only_the_start_of_an_address_that_is_refused_is_shown() -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        keys.url_key("x" * 81)
    found = f"{'x' * 80!r}"
    assert str(caught.value) == f"expected an absolute http or https URL, found {found}"


def test_a_sample_of_an_expression_is_that_of_the_column() -> None:
    ids = pl.DataFrame({"doc_id": ["d1", "d2", "d3", "d4"]})
    found = ids.select(
        column=keys.in_sample("doc_id", 0.5, "s"), part=keys.in_sample(pl.col("doc_id"), 0.5, "s")
    )
    assert found["column"].to_list() == found["part"].to_list()
    assert keys.hash_to_keys(pl.Series(["abc"])).tolist() == [0x900150983CD24FB0]
