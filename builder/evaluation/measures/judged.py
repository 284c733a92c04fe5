"""Judged@k: the share of the first k documents of a ranking that have a judgement."""

from typing import TYPE_CHECKING

import numpy as np

from builder.evaluation.measures.family import Family, Floats

if TYPE_CHECKING:
    from builder.evaluation.measures.hits import Hits
    from builder.evaluation.measures.registry import Measure


def judged_share(measure: "Measure", hits: "Hits") -> Floats:
    """Judged documents of those retrieved, at most k, for each judged query."""
    seen = hits.query[hits.rank <= (measure.cutoff or 0)]
    found = np.bincount(seen, minlength=len(hits.retrieved))
    looked_at = np.minimum(hits.retrieved, measure.cutoff or 0)
    return np.divide(found, looked_at, out=np.zeros(len(found)), where=looked_at > 0)


JUDGED = Family(
    "Judged", "judged share of the documents retrieved", "required", compute=judged_share
)
