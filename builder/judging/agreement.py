"""Inter-assessor agreement, and agreement between assessors and click grades.

Measures: Cohen's kappa (1960; weighted kappa, 1968) for two sources of grades, and Krippendorff's
alpha for any number of assessors with missing values (2011, "Computing Krippendorff's
Alpha-Reliability"). A coefficient is None where it is undefined because no disagreement is
expected: all grades are equal, or no query-document pair has grades from two sources.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.judging.merging import majority_vote
from builder.statistics.agreement import cohen_kappa, krippendorff_alpha
from schemas import GRADES

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class PairwiseAgreement:
    """Agreement between two sources of grades.

    Args:
        first: First source: an assessor, or `manual`.
        second: Second source: an assessor, or `click`.
        pairs: Number of query-document pairs graded by both sources.
        same: Number of pairs with equal grades.
        kappa: Cohen's kappa; None where undefined.
        quadratic_kappa: Cohen's kappa with quadratic weights; None where undefined.
        table: Confusion matrix: number of pairs by grade from the first source (rows) and grade
            from the second source (columns).
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
    """Agreement between assessors, and between assessors and click grades.

    Args:
        assessors: One entry per pair of assessors who judged some query-document pairs in common.
        alpha_nominal: Krippendorff's alpha of all assessors, with the nominal metric.
        alpha_ordinal: Krippendorff's alpha of all assessors, with the ordinal metric.
        units: Number of query-document pairs judged by at least two assessors.
        clicks: Agreement of the majority vote with the click grades; None if no query-document pair
            has both grades.
    """

    assessors: tuple[PairwiseAgreement, ...]
    alpha_nominal: float | None
    alpha_ordinal: float | None
    units: int
    clicks: PairwiseAgreement | None


def measure_agreement(
    judgements: pl.LazyFrame, qrels: pl.LazyFrame | None = None
) -> AgreementReport:
    """Measure the agreement between assessors, and between assessors and click grades.

    Args:
        judgements: Rows with the schema `Judgements`.
        qrels: Rows with the schema `Qrels`, whose `click_grade` is compared with the majority vote;
            None to omit this comparison.
    """
    rows = judgements.select(*PAIR, "assessor", "grade").collect()
    counts = _count_assessors_per_grade(rows)
    return AgreementReport(
        assessors=tuple(_compare_assessors(rows)),
        alpha_nominal=krippendorff_alpha(counts, metric="nominal"),
        alpha_ordinal=krippendorff_alpha(counts, metric="ordinal"),
        units=int((counts.sum(axis=0) >= 2).sum()),
        clicks=None if qrels is None else _compare_with_clicks(rows, qrels),
    )


def _confusion_matrix(first_grades: Integers, second_grades: Integers) -> Integers:
    """Return the confusion matrix: first grades in rows, second grades in columns."""
    size = int(max([*GRADES, *first_grades.tolist(), *second_grades.tolist()])) + 1
    cells = np.bincount(first_grades * size + second_grades, minlength=size * size)
    return cells.reshape(size, size).astype(np.int64)


def _count_assessors_per_grade(judgements: pl.DataFrame) -> Floats:
    """Return how many assessors gave each grade to each query-document pair.

    The array is float64[grades, pairs].
    """
    grades, grade = np.unique(judgements["grade"].to_numpy(), return_inverse=True)
    pairs = judgements.select(PAIR).unique().sort(PAIR).with_row_index("column")
    column = judgements.join(pairs, on=PAIR, how="left", maintain_order="left")["column"].to_numpy()
    counts = np.zeros((len(grades), pairs.height))
    np.add.at(counts, (grade, column), 1.0)
    return counts


def _compare_assessors(judgements: pl.DataFrame) -> Iterator[PairwiseAgreement]:
    """Yield the agreement of each pair of assessors who judged some of the same pairs."""
    for first, second in combinations(judgements["assessor"].unique().sort().to_list(), 2):
        sides = [judgements.filter(pl.col("assessor") == name) for name in (first, second)]
        both = sides[0].join(sides[1], on=PAIR, suffix="_other")
        if both.height:
            yield _measure_pairwise_agreement(first, second, both["grade"], both["grade_other"])


def _compare_with_clicks(judgements: pl.DataFrame, qrels: pl.LazyFrame) -> PairwiseAgreement | None:
    """Return the agreement of majority votes with click grades.

    Returns None if no query-document pair has both a manual and a click grade.
    """
    by_clicks = qrels.filter(pl.col("click_grade").is_not_null()).select(*PAIR, "click_grade")
    both = majority_vote(judgements.lazy()).join(by_clicks, on=PAIR).collect()
    if not both.height:
        return None
    return _measure_pairwise_agreement("manual", "click", both["manual_grade"], both["click_grade"])


def _measure_pairwise_agreement(
    first_source: str, second_source: str, first_grades: pl.Series, second_grades: pl.Series
) -> PairwiseAgreement:
    """Return the agreement of two series of grades for the same query-document pairs."""
    series = (first_grades, second_grades)
    left, right = (np.asarray(values.to_numpy(), dtype=np.int64) for values in series)
    table = _confusion_matrix(left, right).tolist()
    return PairwiseAgreement(
        first_source,
        second_source,
        pairs=len(left),
        same=int((left == right).sum()),
        kappa=cohen_kappa(table),
        quadratic_kappa=cohen_kappa(table, "quadratic"),
        table=tuple(tuple(row) for row in table),
    )
