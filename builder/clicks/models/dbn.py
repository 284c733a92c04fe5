"""Dynamic Bayesian network (Chapelle & Zhang 2009), fitted by exact expectation-maximization.

Parameters: attractiveness a and satisfaction s of each pair, and a global persistence g. The user
continues with probability g (1 - s) after a click, and with probability g after a skip.
"""

import numpy as np

from builder.clicks.models.inference import infer_examination
from builder.clicks.models.pages import Floats, ResultPages
from builder.clicks.models.probabilities import ExaminationChain
from builder.clicks.models.training import (
    MAX_PROBABILITY,
    TrainedModel,
    TrainingOptions,
    posterior_mean,
)


def fit_dbn(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the DBN model: attractiveness and satisfaction per pair, and a global persistence."""
    weights = pages.weight[pages.page_index].astype(np.float64)
    clicks = pages.sum_by_pair(weights * pages.clicked)
    inner = weights * (pages.rank < pages.lengths[pages.page_index])
    a, s, persistence = np.full(pages.pairs, 0.5), np.full(pages.pairs, 0.5), 0.5
    for _ in range(options.iterations):
        chain = _create_examination_chain(pages, a, s, persistence)
        hidden = infer_examination(pages, chain)
        satisfied = np.where(pages.is_deepest_click, s[pages.pair] / hidden.evidence, 0.0)
        examinations = pages.sum_by_pair(weights * hidden.examined)
        a = np.minimum(posterior_mean(clicks, examinations, options.fixed_prior), MAX_PROBABILITY)
        s = np.minimum(
            posterior_mean(pages.sum_by_pair(weights * satisfied), clicks, options.fixed_prior),
            MAX_PROBABILITY,
        )
        persistence = options.estimate_global_probability(
            weights * hidden.continued, inner * (hidden.examined - satisfied)
        )
    return TrainedModel(lambda p: _create_examination_chain(p, a, s, persistence), a, s, a * s)


def _create_examination_chain(
    pages: ResultPages, a: Floats, s: Floats, persistence: float
) -> ExaminationChain:
    """Return the examination chain of the pages, given the parameters of all pairs."""
    return ExaminationChain(a[pages.pair], persistence * (1 - s[pages.pair]), persistence)
