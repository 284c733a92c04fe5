"""Log-likelihood and perplexity of a click model on held-out result pages.

Reports the mean log-likelihood per page and the perplexity 2^(-mean log2 p) per rank. Perplexity is
computed from marginal click probabilities and from probabilities given the clicks above (Dupret &
Piwowarski 2008; Chuklin, Markov & de Rijke 2015, chapter 5).

There are two published conventions. On logs whose pages all have ten results, both conventions give
the same perplexities, except for the conditional perplexity of the cascade model:

- `pyclick`: the log-likelihood of a page is the mean over its ranks. The perplexity of a rank
  is normalized by the number of all test pages, and averaged over ten ranks: missing ranks are
  treated as perfectly predicted, and ranks beyond ten are ignored. For the cascade model, all ranks
  below the first click get the minimum probability.
- `per_rank`: the log-likelihood of a page is the sum over its ranks. The perplexity of a rank
  is normalized by the number of pages with this rank, and averaged over the existing ranks.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models import MIN_PROBABILITY, ClickProbabilities, ResultPages
from builder.clicks.models.pages import Floats

PYCLICK_RANKS = 10


@dataclass(frozen=True)
class ClickModelScore:
    """Predictive quality of a click model under one convention.

    Args:
        log_likelihood: Mean natural log-likelihood per page; higher is better.
        perplexity: Marginal perplexity; 1 is perfect, 2 is a coin toss.
        conditional_perplexity: Perplexity given the clicks above.
        by_rank: Marginal perplexity of each rank.
        conditional_by_rank: Conditional perplexity of each rank.
    """

    log_likelihood: float
    perplexity: float
    conditional_perplexity: float
    by_rank: tuple[float, ...]
    conditional_by_rank: tuple[float, ...]


def evaluate_predictions(
    predicted: ClickProbabilities, pages: ResultPages
) -> tuple[ClickModelScore, ClickModelScore]:
    """Return the scores of predicted clicks under the conventions `pyclick` and `per_rank`.

    Args:
        predicted: Click probabilities that a trained model predicts for the pages.
        pages: Test pages with their clicks; at least one.
    """
    click = predicted.marginal_click_probabilities(pages)
    marginal = _clipped_logarithms(np.where(pages.clicked, click, 1 - click))
    conditional = _clipped_logarithms(predicted.conditional_outcome_probabilities(pages))
    own = getattr(predicted, "pyclick_conditional_probabilities", None)
    by_pyclick = conditional if own is None else _clipped_logarithms(own(pages))
    weight = pages.weight / pages.weight.sum()
    sums, pyclick_sums = (
        np.add.reduceat(logs, pages.start[:-1]) for logs in (conditional, by_pyclick)
    )
    return (
        _create_score(
            float((weight * (pyclick_sums / pages.lengths)).sum()),
            *(_perplexity_by_rank(logs, pages, pyclick=True) for logs in (marginal, by_pyclick)),
        ),
        _create_score(
            float((weight * sums).sum()),
            *(_perplexity_by_rank(logs, pages, pyclick=False) for logs in (marginal, conditional)),
        ),
    )


def _clipped_logarithms(probabilities: Floats) -> Floats:
    """Return the natural logarithms of probabilities clipped to `MIN_PROBABILITY`."""
    return np.asarray(np.log(np.maximum(probabilities, MIN_PROBABILITY)))


def _create_score(log_likelihood: float, marginal: Floats, conditional: Floats) -> ClickModelScore:
    """Create a score from a log-likelihood and two arrays of perplexities by rank."""
    return ClickModelScore(
        log_likelihood,
        float(marginal.mean()),
        float(conditional.mean()),
        tuple(marginal.tolist()),
        tuple(conditional.tolist()),
    )


def _perplexity_by_rank(log_probabilities: Floats, pages: ResultPages, *, pyclick: bool) -> Floats:
    """Return the perplexity at each rank.

    If `pyclick` is true, return it for ranks 1 to 10 and average over all pages, including pages
    without a result at the rank. Otherwise, return it for all existing ranks and average over the
    pages with a result at the rank.
    """
    weights = pages.weight[pages.page_index].astype(np.float64)
    ranks = PYCLICK_RANKS if pyclick else int(pages.lengths.max())
    inside = pages.rank <= ranks
    rank = pages.rank[inside] - 1
    sums = np.bincount(rank, weights=(weights * log_probabilities)[inside], minlength=ranks)
    having = np.bincount(rank, weights=weights[inside], minlength=ranks)
    return np.asarray(np.exp(-sums / (pages.weight.sum() if pyclick else having)))
