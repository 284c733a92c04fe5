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
