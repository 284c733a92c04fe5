"""Overlaps of n-gram sets against Python sets."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.alignment.overlap import EncodedDocumentVersions
from builder.parameters import ChangeParameters

WORDS = ("a", "b", "c", "abcdefgh", "abcdefghi", "abcdefghj", "abcdefgé", "aé")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12)


def grams(tokens: list[str], size: int) -> set[tuple[str, ...]]:
    if not tokens:
        return set()
    if len(tokens) < size:
        return {tuple(tokens)}
    return {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}


def versions(first: list[list[str]], second: list[list[str]]) -> EncodedDocumentVersions:
    return EncodedDocumentVersions.from_texts(
        *(pl.Series(map(" ".join, side), dtype=pl.String) for side in (first, second))
    )


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), st.integers(1, 6))
def test_sizes_equal_those_of_python_sets(
    pairs: list[tuple[list[str], list[str]]], size: int
) -> None:
    sizes = versions([a for a, _ in pairs], [b for _, b in pairs]).ngram_overlap(size)
    expected = [(grams(a, size), grams(b, size)) for a, b in pairs]
    assert sizes.earlier.tolist() == [len(a) for a, _ in expected]
    assert sizes.later.tolist() == [len(b) for _, b in expected]
    assert sizes.common.tolist() == [len(a & b) for a, b in expected]


def test_coefficients_of_a_known_pair() -> None:
    compared = versions([list("abcab")], [list("abcd")])
    words, pairs = compared.ngram_overlap(1), compared.ngram_overlap(2)
    assert words.dice().tolist() == [2 * 3 / (3 + 4)]
    assert pairs.jaccard().tolist() == [2 / 4]  # ab bc ca / ab bc cd


def test_a_short_document_has_one_shingle() -> None:
    compared = versions([["a", "b"], ["a", "b"], []], [["a", "b"], ["a", "b", "c"], ["a"]])
    assert compared.ngram_overlap(5).jaccard().tolist() == [1.0, 0.0, 0.0]


def test_two_empty_documents_are_equal() -> None:
    assert versions([[]], [[]]).ngram_overlap(5).jaccard().tolist() == [1.0]


def test_a_short_document_is_not_the_start_of_a_long_one() -> None:
    sizes = versions([["a", "b"]], [["a", "b", "a", "b", "a"]]).ngram_overlap(5)
    assert sizes.common.tolist() == [0]


@pytest.mark.parametrize("size", [1, 5])
def test_no_document_at_all(size: int) -> None:
    assert versions([], []).ngram_overlap(size).dice().tolist() == []


def test_shingles_longer_than_a_hundred_words_are_refused() -> None:
    """A text of one word takes as many words as a shingle has."""
    assert ChangeParameters(shingle=100).shingle == 100
    with pytest.raises(ValueError, match="less than or equal to 100"):
        ChangeParameters(shingle=101)
