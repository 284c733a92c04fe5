"""Inter-assessor agreement, and agreement between assessors and click grades.

Measures: Cohen's kappa for two sources of grades (1960; weighted 1968) and Krippendorff's alpha for
any number of assessors with missing values (2011, "Computing Krippendorff's Alpha-Reliability").
A coefficient is None where it is undefined because no disagreement is expected: all grades are
equal, or no pair was judged twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.judging.merging import majority_vote
from schemas import GRADES

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class PairwiseAgreement:
    """Agreement between two sources of grades.

    Args:
        first: First source: an assessor, or `manual`.
        second: Second source: an assessor, or `click`.
        pairs: Number of pairs judged by both.
        same: Number of pairs with equal grades.
        kappa: Cohen's kappa; None where undefined.
        quadratic_kappa: Cohen's kappa with quadratic weights; None where undefined.
        table: Confusion matrix: number of pairs by grade of the first (rows) and second (columns).
    """

    first: str
    second: str
    pairs: int
    same: int
    kappa: float | None
    quadratic_kappa: float | None
    table: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class AgreementReport:
    """Agreement between assessors, and with click grades.

    Args:
        assessors: One entry for every two assessors with common pairs.
        alpha_nominal: Krippendorff's alpha over all assessors, nominal metric.
        alpha_ordinal: Krippendorff's alpha over all assessors, ordinal metric.
        units: Number of pairs judged by at least two assessors.
        clicks: Majority vote against click grades; None if no pair has both.
    """

    assessors: tuple[PairwiseAgreement, ...]
    alpha_nominal: float | None
    alpha_ordinal: float | None
    units: int
    clicks: PairwiseAgreement | None


def agreement_report(
    judgements: pl.LazyFrame, qrels: pl.LazyFrame | None = None
) -> AgreementReport:
    """Measure the agreement of assessors with each other and with click grades.

    Args:
        judgements: Rows of the contract `Judgements`.
        qrels: Rows of the contract `Qrels` with the `click_grade` to compare; None: no comparison.
    """
    rows = judgements.select(*PAIR, "assessor", "grade").collect()
    ratings = _rating_matrix(rows)
    return AgreementReport(
        assessors=tuple(_between_assessors(rows)),
        alpha_nominal=krippendorff_alpha(ratings, "nominal"),
        alpha_ordinal=krippendorff_alpha(ratings, "ordinal"),
        units=int(((~np.isnan(ratings)).sum(axis=0) >= 2).sum()),
        clicks=None if qrels is None else _against_clicks(rows, qrels),
    )


def cohen_kappa(first: Integers, second: Integers, weights: Weights = "none") -> float | None:
    """Cohen's kappa of two aligned lists of grades.

    Args:
        first: int64[n], grades from 0.
        second: int64[n], grades of the same pairs.
        weights: Weight of a disagreement: constant, linear or quadratic in the grade difference.

    Returns:
        1 - observed / expected disagreement; None if no disagreement is expected.
    """
    table = _confusion_matrix(first, second).astype(np.float64)
    distance = np.abs(np.subtract.outer(np.arange(len(table)), np.arange(len(table))))
    cost = {"none": distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), 1.0)
    denominator = float((cost * expected).sum())
    return 1 - float((cost * table).sum()) / denominator if denominator > 0 else None


def krippendorff_alpha(ratings: Floats, metric: Metric = "ordinal") -> float | None:
    """Krippendorff's alpha of any number of assessors, with missing values.

    Args:
        ratings: float64[assessors, pairs]; grades, NaN where an assessor did not judge a pair.
        metric: Difference function between two grades.

    Returns:
        1 - observed / expected disagreement; None if no disagreement is expected.
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    counts = np.stack([(ratings == value).sum(axis=0) for value in values] or [np.zeros(0)])
    counts = counts[:, counts.sum(axis=0) >= 2].astype(np.float64)
    judged = counts.sum(axis=0)
    coincidences = (counts / (judged - 1)) @ counts.T - np.diag((counts / (judged - 1)).sum(axis=1))
    totals = coincidences.sum(axis=1)
    cost = _difference_weights(values, totals, metric)
    expected = (np.outer(totals, totals) - np.diag(totals)) / max(totals.sum() - 1, 1.0)
    denominator = float((cost * expected).sum())
    return 1 - float((cost * coincidences).sum()) / denominator if denominator > 0 else None


def _difference_weights(values: Floats, totals: Floats, metric: Metric) -> Floats:
    """Squared difference between every two values under a metric (section 3 of the paper)."""
    if metric == "nominal":
        return np.asarray(np.not_equal.outer(values, values), dtype=np.float64)
    if metric == "interval":
        return np.asarray(np.subtract.outer(values, values) ** 2)
    middle = np.cumsum(totals) - totals / 2
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def _confusion_matrix(first: Integers, second: Integers) -> Integers:
    """Number of pairs by first grade (rows) and second grade (columns), int64[grades, grades]."""
    size = int(max([*GRADES, *first.tolist(), *second.tolist()])) + 1
    cells = np.bincount(first * size + second, minlength=size * size)
    return cells.reshape(size, size).astype(np.int64)


def _rating_matrix(rows: pl.DataFrame) -> Floats:
    """Grades as float64[assessors, pairs], both axes sorted; NaN where a pair was not judged."""
    assessors = rows["assessor"].unique().sort()
    pairs = rows.select(PAIR).unique().sort(PAIR).with_row_index("column")
    placed = rows.join(pairs, on=PAIR)
    ratings = np.full((len(assessors), pairs.height), np.nan)
    row = np.searchsorted(assessors.to_numpy(), placed["assessor"].to_numpy())
    ratings[row, placed["column"].to_numpy()] = placed["grade"].to_numpy()
    return ratings


def _between_assessors(rows: pl.DataFrame) -> Iterator[PairwiseAgreement]:
    """Agreement of every two assessors with common pairs."""
    for first, second in combinations(rows["assessor"].unique().sort().to_list(), 2):
        sides = [rows.filter(pl.col("assessor") == name) for name in (first, second)]
        both = sides[0].join(sides[1], on=PAIR, suffix="_other")
        if both.height:
            yield _pairwise_agreement(first, second, both["grade"], both["grade_other"])


def _against_clicks(rows: pl.DataFrame, qrels: pl.LazyFrame) -> PairwiseAgreement | None:
    """Agreement of the majority vote with click grades; None if no pair has both."""
    by_clicks = qrels.filter(pl.col("click_grade").is_not_null()).select(*PAIR, "click_grade")
    both = majority_vote(rows.lazy()).join(by_clicks, on=PAIR).collect()
    if not both.height:
        return None
    return _pairwise_agreement("manual", "click", both["manual_grade"], both["click_grade"])


def _pairwise_agreement(
    first: str, second: str, grades: pl.Series, others: pl.Series
) -> PairwiseAgreement:
    """All agreement statistics of two aligned series of grades."""
    one, other = (np.asarray(values.to_numpy(), dtype=np.int64) for values in (grades, others))
    return PairwiseAgreement(
        first,
        second,
        pairs=len(one),
        same=int((one == other).sum()),
        kappa=cohen_kappa(one, other),
        quadratic_kappa=cohen_kappa(one, other, "quadratic"),
        table=tuple(tuple(row) for row in _confusion_matrix(one, other).tolist()),
    )
