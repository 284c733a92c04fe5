"""Agreement: the worked example of Krippendorff (2011), and scikit-learn's kappa."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from builder.judging.agreement import agreement_report, cohen_kappa, krippendorff_alpha
from schemas import Judgements

_ = np.nan
WORKED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
)


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_worked_example(metric: str, alpha: float) -> None:
    assert krippendorff_alpha(WORKED, metric) == pytest.approx(alpha, abs=5e-4)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_kappa_equals_scikit_learn(rows: list[tuple[int, int]]) -> None:
    first, second = (np.array(column) for column in zip(*rows, strict=True))
    for weights, theirs in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        found = cohen_kappa(first, second, weights)  # type: ignore[arg-type]
        if len({*first.tolist(), *second.tolist()}) > 1:
            expected = cohen_kappa_score(first, second, labels=[0, 1, 2], weights=theirs)
            assert found == pytest.approx(expected, abs=1e-12)


def test_coefficients_are_undefined_without_variation() -> None:
    assert cohen_kappa(np.array([1, 1]), np.array([1, 1])) is None
    assert krippendorff_alpha(np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    assert krippendorff_alpha(np.zeros((0, 0))) is None


def judgements(*rows: tuple[int, str, int]) -> pl.LazyFrame:
    """Rows of (document, assessor, grade) on one query."""
    return pl.LazyFrame(
        [("q" + "0" * 16, f"d{doc:016x}", who, grade) for doc, who, grade in rows],
        schema=Judgements.dtypes(),
        orient="row",
    )


def test_report_of_two_assessors_and_clicks() -> None:
    rows = judgements((1, "ann", 2), (1, "bob", 2), (2, "ann", 0), (2, "bob", 1), (3, "bob", 1))
    qrels = pl.LazyFrame(
        {
            "query_id": ["q" + "0" * 16] * 3,
            "doc_id": [f"d{doc:016x}" for doc in (1, 2, 4)],
            "click_grade": [2, 0, 1],
        }
    )
    report = agreement_report(rows, qrels)
    (two,) = report.assessors
    assert (two.first, two.second, two.pairs, two.same) == ("ann", "bob", 2, 1)
    assert two.table == ((0, 1, 0), (0, 0, 0), (0, 0, 1))
    assert report.units == 2
    assert report.clicks is not None
    assert report.clicks.pairs == 2
    assert report.clicks.same == 2  # the tie on document 2 goes to the lower grade
    assert report.clicks.kappa == pytest.approx(1.0)


def test_report_without_anything_in_common() -> None:
    report = agreement_report(judgements((1, "ann", 2), (2, "bob", 1)))
    assert report.assessors == ()
    assert report.alpha_ordinal is None
    assert report.clicks is None
