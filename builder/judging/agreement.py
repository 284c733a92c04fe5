"""Agreement between assessors, and between assessors and clicks.

In: judgements (pair, assessor, grade) and click grades. Out: Cohen's kappa for two sources (1960;
weighted 1968), Krippendorff's alpha for any number of assessors with gaps (2011, "Computing
Krippendorff's Alpha-Reliability"), and the table of grades behind them. A coefficient is None where
chance alone explains everything there is: one grade only, or no pair in common.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.judging.merging import majority
from schemas import GRADES

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class TwoSources:
    """How two sources of grades agree.

    Args:
        first: One source: an assessor, or `manual`.
        second: The other: an assessor, or `click`.
        pairs: Pairs that both judged.
        same: Pairs with the same grade.
        kappa: Cohen's kappa; None where undefined.
        quadratic_kappa: The same with squared distances between grades.
        table: Pairs by grade of the first (rows) and of the second (columns).
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
    """Agreement between assessors.

    Args:
        assessors: One entry for every two assessors with a pair in common.
        alpha_nominal: Krippendorff's alpha of all assessors, grades as names.
        alpha_ordinal: The same, grades as an order.
        units: Pairs judged by at least two assessors.
        clicks: Majority of the assessors against clicks; None without pairs graded by both.
    """

    assessors: tuple[TwoSources, ...]
    alpha_nominal: float | None
    alpha_ordinal: float | None
    units: int
    clicks: TwoSources | None


def agreement_report(
    judgements: pl.LazyFrame, qrels: pl.LazyFrame | None = None
) -> AgreementReport:
    """How far assessors agree with each other and with clicks.

    Args:
        judgements: Rows of the contract `Judgements`.
        qrels: Rows of the contract `Qrels`; `click_grade` is compared.
    """
    rows = judgements.select(*PAIR, "assessor", "grade").collect()
    ratings = _ratings(rows)
    return AgreementReport(
        assessors=tuple(_assessors(rows)),
        alpha_nominal=krippendorff_alpha(ratings, "nominal"),
        alpha_ordinal=krippendorff_alpha(ratings, "ordinal"),
        units=int(((~np.isnan(ratings)).sum(axis=0) >= 2).sum()),
        clicks=None if qrels is None else _with_clicks(rows, qrels),
    )


def cohen_kappa(first: Integers, second: Integers, weights: Weights = "none") -> float | None:
    """Cohen's kappa of two lists of grades of the same pairs.

    Args:
        first: int64[n], grades from 0.
        second: int64[n].
        weights: How much a disagreement counts: all alike, by distance, by squared distance.

    Returns:
        1 - observed / expected disagreement; None where none is expected.
    """
    table = _table(first, second).astype(np.float64)
    distance = np.abs(np.subtract.outer(np.arange(len(table)), np.arange(len(table))))
    cost = {"none": distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), 1.0)
    denominator = float((cost * expected).sum())
    return 1 - float((cost * table).sum()) / denominator if denominator > 0 else None


def krippendorff_alpha(ratings: Floats, metric: Metric = "ordinal") -> float | None:
    """Krippendorff's alpha of any number of assessors, gaps allowed.

    Args:
        ratings: float64[assessors, pairs]; grades, nan where an assessor did not judge.
        metric: What a difference between grades means.

    Returns:
        1 - observed / expected disagreement; None where none is expected.
    """
    values = np.unique(ratings[~np.isnan(ratings)])
    counts = np.stack([(ratings == value).sum(axis=0) for value in values] or [np.zeros(0)])
    counts = counts[:, counts.sum(axis=0) >= 2].astype(np.float64)
    judged = counts.sum(axis=0)
    coincidences = (counts / (judged - 1)) @ counts.T - np.diag((counts / (judged - 1)).sum(axis=1))
    totals = coincidences.sum(axis=1)
    cost = _cost(values, totals, metric)
    expected = (np.outer(totals, totals) - np.diag(totals)) / max(totals.sum() - 1, 1.0)
    denominator = float((cost * expected).sum())
    return 1 - float((cost * coincidences).sum()) / denominator if denominator > 0 else None


def _cost(values: Floats, totals: Floats, metric: Metric) -> Floats:
    """Squared difference of every two values, by metric (section 3 of the paper)."""
    if metric == "nominal":
        return np.asarray(np.not_equal.outer(values, values), dtype=np.float64)
    if metric == "interval":
        return np.asarray(np.subtract.outer(values, values) ** 2)
    middle = np.cumsum(totals) - totals / 2
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def _table(first: Integers, second: Integers) -> Integers:
    size = int(max([*GRADES, *first.tolist(), *second.tolist()])) + 1
    cells = np.bincount(first * size + second, minlength=size * size)
    return cells.reshape(size, size).astype(np.int64)


def _ratings(rows: pl.DataFrame) -> Floats:
    """float64[assessors, pairs], assessors and pairs in order, nan where not judged."""
    assessors = rows["assessor"].unique().sort()
    pairs = rows.select(PAIR).unique().sort(PAIR).with_row_index("column")
    placed = rows.join(pairs, on=PAIR)
    ratings = np.full((len(assessors), pairs.height), np.nan)
    row = np.searchsorted(assessors.to_numpy(), placed["assessor"].to_numpy())
    ratings[row, placed["column"].to_numpy()] = placed["grade"].to_numpy()
    return ratings


def _assessors(rows: pl.DataFrame) -> Iterator[TwoSources]:
    for first, second in combinations(rows["assessor"].unique().sort().to_list(), 2):
        sides = [rows.filter(pl.col("assessor") == name) for name in (first, second)]
        both = sides[0].join(sides[1], on=PAIR, suffix="_other")
        if both.height:
            yield _compared(first, second, both["grade"], both["grade_other"])


def _with_clicks(rows: pl.DataFrame, qrels: pl.LazyFrame) -> TwoSources | None:
    by_clicks = qrels.filter(pl.col("click_grade").is_not_null()).select(*PAIR, "click_grade")
    both = majority(rows.lazy()).join(by_clicks, on=PAIR).collect()
    if not both.height:
        return None
    return _compared("manual", "click", both["manual_grade"], both["click_grade"])


def _compared(first: str, second: str, grades: pl.Series, others: pl.Series) -> TwoSources:
    one, other = (np.asarray(values.to_numpy(), dtype=np.int64) for values in (grades, others))
    return TwoSources(
        first,
        second,
        pairs=len(one),
        same=int((one == other).sum()),
        kappa=cohen_kappa(one, other),
        quadratic_kappa=cohen_kappa(one, other, "quadratic"),
        table=tuple(tuple(row) for row in _table(one, other).tolist()),
    )
