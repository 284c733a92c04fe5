"""Fits the dynamic Bayesian network as PyClick does, for comparison with published results.

Follows Chuklin, Markov & de Rijke (2015), section 4.2.4, with the deviations of PyClick:

1. Below the last click, examination has its marginal probability (`_get_session_exam`) instead of
   the one conditional on the clicks above.
2. On a page without clicks, attraction is assumed to be 0 instead of unknown: the "last click"
   (`get_last_click_rank`) lies beyond the page, so `DBNAttrEM.update` adds nothing.
3. For the results below rank r, persistence uses the parameters of ranks 1, 2, ... instead of
   r + 1, r + 2, ..., because `_get_tail_clicks` numbers the sliced page from 0. By deviation 2,
   users always continue on pages without clicks.
4. The user also continues or stops after the last rank (`DBNContEM.update`).

On the pages of TianGong-ST, this reproduces PyClick's published likelihood to six digits; `dbn`
gives a log-likelihood of -0.254750 and a perplexity of 1.325774. For the exact procedure, see
`dbn`.
"""

import numpy as np

from builder.clicks.models.pages import Flags, Floats, ResultPages
from builder.clicks.models.probabilities import ExaminationChain
from builder.clicks.models.training import (
    MAX_PROBABILITY,
    TrainedModel,
    TrainingOptions,
    posterior_mean,
)


def fit_dbn_pyclick(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the DBN model as PyClick does: attractiveness, satisfaction and a global persistence."""
    weights = pages.weight[pages.page_index].astype(np.float64)
    shown, clicks = pages.sum_by_pair(weights), pages.sum_by_pair(weights * pages.clicked)
    below = is_below_last_click(pages)
    a, s, persistence = np.full(pages.pairs, 0.5), np.full(pages.pairs, 0.5), 0.5
    for _ in range(options.iterations):
        a_shown, s_shown = a[pages.pair], s[pages.pair]
        chain = ExaminationChain(a_shown, persistence * (1 - s_shown), persistence)
        ahead, after = probability_of_click_at_or_below(pages, a_shown, persistence)
        examined = chain.marginal_click_probabilities(pages) / a_shown
        hidden = np.where(below, (1 - examined) * a_shown / (1 - examined * ahead), 0.0)
        content = s_shown / (1 - (1 - s_shown) * persistence * after)
        satisfied = np.where(pages.is_deepest_click, content, 0.0)
        continued, unsatisfied = _expected_continuations(pages, chain, s_shown, persistence)
        a = posterior_mean(clicks + pages.sum_by_pair(weights * hidden), shown, options.fixed_prior)
        s = posterior_mean(pages.sum_by_pair(weights * satisfied), clicks, options.fixed_prior)
        a, s = np.minimum(a, MAX_PROBABILITY), np.minimum(s, MAX_PROBABILITY)
        persistence = options.estimate_global_probability(
            weights * continued, weights * unsatisfied
        )
    return TrainedModel(
        lambda p: ExaminationChain(a[p.pair], persistence * (1 - s[p.pair]), persistence),
        a,
        s,
        a * s,
    )


def is_below_last_click(pages: ResultPages) -> Flags:
    """Return whether each result is below the last click of its page, bool[m]."""
    last = pages.deepest_click_rank[pages.page_index]
    return np.asarray((last > 0) & (pages.rank > last))


def probability_of_click_at_or_below(
    pages: ResultPages, attractiveness: Floats, persistence: float
) -> tuple[Floats, Floats]:
    """Return P(click at or below | examined) of each result and of the result below it.

    Both arrays are float64[m].
    """
    here, below = np.zeros(len(attractiveness)), np.zeros(len(attractiveness))
    after = np.zeros(len(pages))
    for page, shown in reversed(pages.indices_by_rank()):
        below[shown] = after[page]
        a = attractiveness[shown]
        here[shown] = a + (1 - a) * persistence * after[page]
        after[page] = here[shown]
    return here, below


def _expected_continuations(
    pages: ResultPages, chain: ExaminationChain, s: Floats, persistence: float
) -> tuple[Floats, Floats]:
    """Return, for each result, P(unsatisfied and continued) and P(unsatisfied).

    Both are probabilities that the user examined the result, given the clicks, and that it did not
    satisfy the user; the first also requires that the user continued to the next result. The ratio
    of their sums estimates the persistence. Both arrays are float64[m].
    """
    examined = chain.forward_pass(pages)[1]
    last, rank = pages.deepest_click_rank[pages.page_index], pages.rank
    on_last = rank == last
    unsatisfied = np.where(on_last, 1 - s, 1.0)
    on = persistence * probability_of_no_click_at_top_ranks(
        pages, chain.attractiveness, persistence
    )
    stop = 1 - persistence
    rest = np.where(on_last, s, (1 - examined) / examined)
    total = unsatisfied * (on + stop) + rest
    is_certain = (last == 0) | (rank < last)
    continued = np.where(is_certain, 1.0, unsatisfied * on / total)
    left_unsatisfied = np.where(is_certain, 1.0, unsatisfied * (on + stop) / total)
    return continued, left_unsatisfied


def probability_of_no_click_at_top_ranks(
    pages: ResultPages, attractiveness: Floats, persistence: float
) -> Floats:
    """Return P(no click at ranks 1 to k | rank 1 examined) for each result, float64[m].

    The number of results below the result is k. PyClick uses this value in place of the probability
    of no click below the result (deviation 3).
    """
    silent, examined = np.ones(len(pages)), np.ones(len(pages))
    top = pages.start[:-1] + np.arange(len(pages))
    result = np.ones(len(attractiveness) + len(pages))
    for index, (page, shown) in enumerate(pages.indices_by_rank()):
        a = attractiveness[shown]
        silent[page] = silent[page] - examined[page] * a
        examined[page] = examined[page] * (1 - a) * persistence
        result[top[page] + index + 1] = silent[page]
    return np.asarray(result[top[pages.page_index] + pages.lengths[pages.page_index] - pages.rank])
