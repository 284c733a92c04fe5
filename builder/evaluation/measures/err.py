"""Expected reciprocal rank (ERR): Chapelle, Metzler, Zhang & Grinspan 2009, equation 4.

A document of grade g satisfies the user with probability (2^g - 1) / 2^max, where max is the
highest grade of the relevance scale. This package implements ERR because the common implementation
(gdeval) has a fixed maximum grade and requires numeric query ids.
"""

from typing import TYPE_CHECKING

import numpy as np

from builder.errors import DataError
from builder.evaluation.measures.family import Floats, MeasureFamily

if TYPE_CHECKING:
    from builder.evaluation.measures.hits import Hits, Ints
    from builder.evaluation.measures.registry import Measure


def expected_reciprocal_rank(grades: "Ints", max_grade: int) -> Floats:
    """Compute the ERR of the ranking of each query.

    Args:
        grades: Grade at each rank, shape (queries, depth); 0 if unjudged or not retrieved.
        max_grade: Highest grade of the relevance scale; need not occur in the judgements.

    Returns:
        ERR of each query, in [0, 1).

    Raises:
        DataError: A grade exceeds the maximum.
    """
    if grades.size and grades.max() > max_grade:
        raise DataError(
            f"ERR with maximum grade {max_grade}: found grade {grades.max()} in the judgements; "
            f"set the parameter max to {grades.max()} or higher, for example "
            f"ERR@10(max={grades.max()})"
        )
    stop = (np.exp2(np.maximum(grades, 0)) - 1) / 2.0**max_grade
    reach = np.cumprod(np.hstack([np.ones((len(grades), 1)), 1 - stop[:, :-1]]), axis=1)
    ranks = np.arange(1, grades.shape[1] + 1)
    return np.asarray((stop * reach / ranks).sum(axis=1), dtype=np.float64)


def _compute_err(measure: "Measure", hits: "Hits") -> Floats:
    seen = hits.rank <= (measure.cutoff or np.iinfo(np.int64).max)
    depth = int(hits.rank[seen].max(initial=1))
    grades = np.zeros((len(hits.retrieved), depth), dtype=np.int64)
    grades[hits.query[seen], hits.rank[seen] - 1] = hits.grade[seen]
    return expected_reciprocal_rank(grades, measure["max"])


ERR = MeasureFamily(
    "ERR", "Chapelle et al. 2009", "optional", {"max": 4}, frozenset({"max"}), compute=_compute_err
)
