"""Agreement of assessors with each other and with click grades."""

import polars as pl
import pytest

from builder.judging.agreement import measure_agreement
from schemas import Judgements


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
    report = measure_agreement(rows, qrels)
    (two,) = report.assessors
    assert (two.first, two.second, two.pairs, two.same) == ("ann", "bob", 2, 1)
    assert two.table == ((0, 1, 0), (0, 0, 0), (0, 0, 1))
    assert report.units == 2
    assert report.clicks is not None
    assert report.clicks.pairs == 2
    assert report.clicks.same == 2  # the tie on document 2 goes to the lower grade
    assert report.clicks.kappa == pytest.approx(1.0)


def test_report_without_anything_in_common() -> None:
    report = measure_agreement(judgements((1, "ann", 2), (2, "bob", 1)))
    assert report.assessors == ()
    assert report.alpha_ordinal is None
    assert report.clicks is None


def test_coefficients_of_two_assessors_by_hand() -> None:
    """Grades 2 and 2, 0 and 1; a third pair that only bob judged counts nowhere."""
    rows = judgements((1, "ann", 2), (1, "bob", 2), (2, "ann", 0), (2, "bob", 1), (3, "bob", 1))
    report = measure_agreement(rows)
    (two,) = report.assessors
    assert (two.kappa, two.quadratic_kappa) == pytest.approx((1 / 3, 2 / 3))
    assert (report.alpha_nominal, report.alpha_ordinal) == pytest.approx((0.4, 5 / 6))


def test_every_two_assessors_with_pairs_in_common_are_compared() -> None:
    rows = judgements(
        (1, "bob", 1), (1, "ann", 0), (2, "bob", 2), (2, "cy", 2), (3, "cy", 0), (4, "ann", 1)
    )
    report = measure_agreement(rows)
    assert [(two.first, two.second, two.pairs, two.same) for two in report.assessors] == [
        ("ann", "bob", 1, 0),
        ("bob", "cy", 1, 1),
    ]
    assert report.assessors[0].table == ((0, 1, 0), (0, 0, 0), (0, 0, 0))
    assert report.units == 2


def test_click_grades_that_are_missing_are_not_compared() -> None:
    qrels = pl.LazyFrame(
        {
            "query_id": ["q" + "0" * 16] * 2,
            "doc_id": [f"d{doc:016x}" for doc in (1, 2)],
            "click_grade": [None, 1],
        },
        schema_overrides={"click_grade": pl.UInt8},
    )
    rows = judgements((1, "ann", 2), (2, "ann", 0))
    clicks = measure_agreement(rows, qrels).clicks
    assert clicks is not None
    assert (clicks.first, clicks.second, clicks.pairs, clicks.same) == ("manual", "click", 1, 0)
    assert clicks.table == ((0, 1, 0), (0, 0, 0), (0, 0, 0))
    assert measure_agreement(judgements((1, "ann", 2)), qrels).clicks is None
