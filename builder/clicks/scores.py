"""How well a click model predicts held-out pages: log-likelihood and perplexity.

In: click probabilities of pages, and what was clicked. Out: the mean log-likelihood of a page and
the perplexity 2^(-mean log2 p) of every rank, once with marginal click probabilities and once with
those given the clicks above (Dupret & Piwowarski 2008; Chuklin, Markov & de Rijke 2015, ch. 5).

Two conventions are published, and they differ where lists have not ten results each:

- `pyclick`: a page's log-likelihood is the mean over its ranks; perplexity divides every rank's
  sum by the number of all test pages and averages over ten ranks, so that missing ranks count as
  perfectly predicted and ranks beyond ten are ignored. Below the first click, the cascade model
  gives every rank the smallest probability.
- `per_rank`: every rank's sum is divided by the pages that have this rank, perplexity is the mean
  over the ranks that occur; a page's log-likelihood is the sum over its ranks.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models import LEAST, Pages, Prediction
from builder.clicks.models.pages import Floats

PYCLICK_RANKS = 10


@dataclass(frozen=True)
class Score:
    """How well one model predicts the test pages, by one convention.

    Args:
        log_likelihood: Mean of natural logarithms over pages; nearer to 0 is better.
        perplexity: Of clicks by their marginal probability; 1 is perfect, 2 a coin.
        conditional_perplexity: The same given the clicks above.
        by_rank: Marginal perplexity of each rank.
        conditional_by_rank: Conditional perplexity of each rank.
    """

    log_likelihood: float
    perplexity: float
    conditional_perplexity: float
    by_rank: tuple[float, ...]
    conditional_by_rank: tuple[float, ...]


def evaluate(prediction: Prediction, pages: Pages) -> tuple[Score, Score]:
    """Scores of one prediction, by the `pyclick` and the `per_rank` convention.

    Args:
        prediction: A trained model's probabilities of the results shown.
        pages: What was shown and clicked; at least one page.
    """
    click = prediction.marginal(pages)
    marginal = _logarithms(np.where(pages.clicked, click, 1 - click))
    conditional = _logarithms(prediction.conditional(pages))
    own = getattr(prediction, "conditional_by_pyclick", None)
    by_pyclick = conditional if own is None else _logarithms(own(pages))
    weight = pages.weight / pages.weight.sum()
    sums, pyclick_sums = (
        np.add.reduceat(logs, pages.start[:-1]) for logs in (conditional, by_pyclick)
    )
    return (
        _score(
            float((weight * (pyclick_sums / pages.lengths)).sum()),
            *(_perplexity(logs, pages, of_all=True) for logs in (marginal, by_pyclick)),
        ),
        _score(
            float((weight * sums).sum()),
            *(_perplexity(logs, pages, of_all=False) for logs in (marginal, conditional)),
        ),
    )


def _logarithms(probabilities: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probabilities, LEAST)))


def _score(log_likelihood: float, marginal: Floats, conditional: Floats) -> Score:
    return Score(
        log_likelihood,
        float(marginal.mean()),
        float(conditional.mean()),
        tuple(marginal.tolist()),
        tuple(conditional.tolist()),
    )


def _perplexity(logs: Floats, pages: Pages, *, of_all: bool) -> Floats:
    """Perplexity of every rank; `of_all`: of ten ranks, out of all pages."""
    weights = pages.weight[pages.page].astype(np.float64)
    ranks = PYCLICK_RANKS if of_all else int(pages.lengths.max())
    inside = pages.rank <= ranks
    rank = pages.rank[inside] - 1
    sums = np.bincount(rank, weights=(weights * logs)[inside], minlength=ranks)
    having = np.bincount(rank, weights=weights[inside], minlength=ranks)
    return np.asarray(np.exp(-sums / (pages.weight.sum() if of_all else having)))
