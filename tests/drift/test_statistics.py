"""Formulas against hand-computed values, plain Python and other packages."""

import math
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from builder.drift.documents import summarize_document_updates, summarize_shares
from builder.drift.statistics import (
    jaccard,
    jensen_shannon_divergence,
    jensen_shannon_terms,
    quantile,
    quantile_from_counts,
    share,
)

COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


def test_shares_of_nothing_are_unknown() -> None:
    assert share(1, 4) == 0.25
    assert share(0, 0) is None
    assert jaccard(0, 0, 0) is None
    assert jaccard(1, 2, 3) == 0.25


def test_quantiles_are_values_that_occur() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    assert [quantile(values, q) for q in (0.25, 0.26, 0.5, 0.75, 1.0)] == [1, 2, 2, 3, 4]
    assert quantile([], 0.5) is None


@given(st.lists(st.integers(0, 20), max_size=40), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_counted_quantiles_are_the_same(values: list[int], q: float) -> None:
    counts = sorted(Counter(values).items())
    assert quantile_from_counts(counts, q) == quantile(sorted(values), q)


@given(COUNTS)
def test_jensen_shannon_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = jensen_shannon_divergence(Counter(pairs))
    if not sum(first) or not sum(second):
        assert found is None
    else:
        assert found == pytest.approx(jensenshannon(first, second, base=2) ** 2, abs=1e-9)


def test_jensen_shannon_by_hand() -> None:
    assert jensen_shannon_divergence({(3, 3): 2}) == 0.0
    assert jensen_shannon_divergence({(1, 0): 1, (0, 1): 1}) == 1.0
    half = 0.5 * math.log2(0.5 / 0.75) + 0.5 * math.log2(0.5 / 0.25)
    assert jensen_shannon_divergence({(1, 2): 1, (1, 0): 1}) == pytest.approx(
        (half + math.log2(4 / 3)) / 2
    )


def test_terms_of_the_divergence() -> None:
    unchanged, new = jensen_shannon_terms([(2, 2), (0, 2)], (2, 4))
    assert unchanged == pytest.approx((math.log2(4 / 3) + 0.5 * math.log2(2 / 3)) / 2)
    assert new == pytest.approx(0.25)


def test_summary_of_shares() -> None:
    """Twenty bins; the last one includes 1."""
    shares = [0.0, 0.04, 0.05, 0.3, 0.3, 0.3, 0.5, 0.94, 0.95, 1.0]
    bins = [2, 1, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2]
    assert summarize_shares(pl.Series(shares)) == {
        "n": 10,
        "p10": 0.0,
        "median": 0.3,
        "p90": 0.95,
        "histogram": bins,
    }


def test_summary_of_updates() -> None:
    """Ten pages whose length changes by -5 to 4 words."""
    rows = [
        {"dice": 0.1 * n, "shingle_jaccard": 0.05 * n, "band": band}
        | {"tokens_from": 10, "tokens_to": 5 + n}
        for n, band in enumerate(["rewritten"] * 7 + ["cosmetic"] * 3)
    ]
    found = summarize_document_updates(pl.DataFrame(rows).sample(10, shuffle=True, seed=1))
    assert found["bands"] == {"cosmetic": 3, "edited": 0, "rewritten": 7}
    assert found["length_delta"] == {
        "longer": 4,
        "shorter": 5,
        "tokens": -5,
        "p10": -5,
        "median": -1,
        "p90": 3,
    }
    assert [found[name]["p90"] for name in ("dice", "shingle_jaccard")] == [0.8, 0.4]
    schema = {"dice": pl.Float64, "shingle_jaccard": pl.Float64, "band": pl.String}
    schema |= {"tokens_from": pl.Int64, "tokens_to": pl.Int64}
    nothing = summarize_document_updates(pl.DataFrame(schema=schema))
    assert nothing["length_delta"] == {"longer": 0, "shorter": 0, "tokens": 0} | dict.fromkeys(
        ("p10", "median", "p90")
    )
    assert nothing["dice"] == {"n": 0, "p10": None, "median": None, "p90": None} | {
        "histogram": [0] * 20
    }
