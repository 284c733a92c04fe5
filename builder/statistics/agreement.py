"""Inter-rater agreement: Cohen's kappa, Fleiss' kappa and Krippendorff's alpha.

Coefficients are computed from tables of counts. They are None if no disagreement is expected by
chance, because all ratings are the same or no unit has two ratings. Integer counts are summed as
integers, so that results are identical on every machine.
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]

POWERS: dict[Weights, int] = {"none": 0, "linear": 1, "quadratic": 2}


def cohen_kappa(table: Sequence[Sequence[int]], weights: Weights = "none") -> float | None:
    """Compute Cohen's kappa of two raters (Cohen 1960; weighted kappa, Cohen 1968).

    Args:
        table: Confusion matrix: number of units by rating of the first rater (rows) and rating of
            the second rater (columns), both ascending.
        weights: Whether the weight of a disagreement is constant (`none`), or linear or quadratic
            in the difference between the ratings.

    Returns:
        1 - observed / expected disagreement; None if no disagreement is expected.
    """
    ratings = range(len(table))
    total = sum(map(sum, table))
    rows = [sum(row) for row in table]
    columns = [sum(row[rating] for row in table) for rating in ratings]
    observed = expected = 0
    for i in ratings:
        for j in ratings:
            weight = math.prod([abs(i - j)] * POWERS[weights]) if i != j else 0
            observed += weight * table[i][j] * total
            expected += weight * rows[i] * columns[j]
    return 1 - observed / expected if expected else None


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Compute Fleiss' kappa of a fixed number of raters per unit (Fleiss 1971).

    Args:
        counts: Number of raters by unit (rows) and rating (columns); all rows have the same sum,
            which is at least 2.

    Returns:
        (observed - expected agreement) / (1 - expected agreement); None if there are no units or no
        disagreement is expected.
    """
    if not counts:
        return None
    units, raters = len(counts), sum(counts[0])
    agreeing = sum(count * (count - 1) for row in counts for count in row)
    observed = agreeing / (units * raters * (raters - 1))
    totals = [sum(column) for column in zip(*counts, strict=True)]
    chance = sum(total * total for total in totals)
    whole = units * raters * units * raters
    if chance == whole:
        return None
    expected = chance / whole
    return float((observed - expected) / (1 - expected))


def krippendorff_alpha(
    counts: Floats, rating_values: Floats | None = None, metric: Metric = "nominal"
) -> float | None:
    """Compute Krippendorff's alpha, which supports missing ratings (Krippendorff 2011).

    Args:
        counts: Number of raters by rating (rows, ascending) and unit (columns); units with fewer
            than two ratings are ignored.
        rating_values: Numeric value of each rating; required only for the interval metric.
        metric: Measure of the difference between two ratings.

    Returns:
        1 - observed / expected disagreement; None if no disagreement is expected.
    """
    counts = counts[:, counts.sum(axis=0) >= 2].astype(np.float64)
    pairs = counts / (counts.sum(axis=0) - 1)
    coincidences = pairs @ counts.T - np.diag(pairs.sum(axis=1))
    totals = coincidences.sum(axis=1)
    cost: Floats = _squared_differences(totals, rating_values, metric)
    expected = (np.outer(totals, totals) - np.diag(totals)) / max(totals.sum() - 1, 1.0)
    denominator = float((cost * expected).sum())
    return 1 - float((cost * coincidences).sum()) / denominator if denominator > 0 else None


def _squared_differences(
    rating_totals: Floats, rating_values: Floats | None, metric: Metric
) -> Floats:
    """Return the squared differences between all ratings under a metric (Krippendorff 2011)."""
    if metric == "nominal":
        return np.asarray(1.0 - np.eye(len(rating_totals)))
    if metric == "interval" and rating_values is not None:
        return np.asarray(np.subtract.outer(rating_values, rating_values) ** 2)
    middle = np.cumsum(rating_totals) - rating_totals / 2
    return np.asarray(np.subtract.outer(middle, middle) ** 2)
