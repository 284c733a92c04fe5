"""Judged@k: proportion of the top k documents of a ranking that have a relevance judgement."""

from typing import TYPE_CHECKING

import numpy as np

from builder.evaluation.measures.family import Floats, MeasureFamily

if TYPE_CHECKING:
    from builder.evaluation.measures.hits import Hits
    from builder.evaluation.measures.registry import Measure


def judged_share(measure: "Measure", hits: "Hits") -> Floats:
    """Return the proportion of judged documents in the top k results of each judged query."""
    queries = hits.query[hits.rank <= (measure.cutoff or 0)]
    judged = np.bincount(queries, minlength=len(hits.retrieved))
    depth = np.minimum(hits.retrieved, measure.cutoff or 0)
    return np.divide(judged, depth, out=np.zeros(len(judged)), where=depth > 0)


JUDGED = MeasureFamily(
    "Judged", "proportion of retrieved documents that are judged", "required", compute=judged_share
)
