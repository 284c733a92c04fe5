"""Simplified dynamic Bayesian network (Chapelle & Zhang 2009, section 5), the default model.

a = clicks / examinations and s = last clicks / clicks per pair; the persistence is 1.
"""

from builder.clicks.models.pages import ResultPages
from builder.clicks.models.probabilities import ExaminationChain
from builder.clicks.models.training import TrainedModel, TrainingOptions


def fit_sdbn(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the sDBN model: attractiveness and satisfaction per pair."""
    counts = pages.click_counts(
        pages.pair,
        pages.pairs,
        no_click=options.params.no_click,
        last=options.params.last,
    )
    a = options.estimate_by_pair(counts.clicks, counts.examinations)
    s = options.estimate_by_pair(counts.last_clicks, counts.clicks)
    return TrainedModel(
        lambda p: ExaminationChain(a[p.pair], 1 - s[p.pair]), a, s, a * s, counts.examinations > 0
    )
