"""Dependent click model (Guo, Liu & Wang 2009): after a click, continuation depends on the rank.

Assuming that the last click ends the search (section 3.2 of the paper), the maximum-likelihood
estimates are ratios of counts: attractiveness of a pair = its clicks / its examinations;
continuation at a rank = non-last clicks / all clicks at that rank.
"""

from builder.clicks.models.pages import ResultPages
from builder.clicks.models.probabilities import ExaminationChain
from builder.clicks.models.training import TrainedModel, TrainingOptions, gather_by_rank


def fit_dcm(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the dependent click model: attractiveness per pair and continuation per rank."""
    rules = {"no_click": options.params.no_click, "last": options.params.last}
    pairs = pages.click_counts(pages.pair, pages.pairs, **rules)
    ranks = pages.click_counts(pages.rank - 1, int(pages.lengths.max(initial=0)), **rules)
    a = options.estimate_by_pair(pairs.clicks, pairs.examinations)
    go_on = options.estimate_by_group(ranks.clicks - ranks.last_clicks, ranks.clicks)
    return TrainedModel(
        lambda p: ExaminationChain(a[p.pair], gather_by_rank(go_on, p, options.fixed_prior.mean)),
        attractiveness=a,
        relevance=a,
        has_evidence=pairs.examinations > 0,
    )
