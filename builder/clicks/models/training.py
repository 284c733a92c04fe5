"""Training options and trained models, shared by all click models."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from builder.clicks.models.pages import ResultPages
from builder.clicks.models.probabilities import ClickProbabilities
from builder.clicks.priors import BetaPrior, fit_beta
from builder.parameters import ClickParameters

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MAX_PROBABILITY = 1 - 1e-6
"""Upper bound of probabilities in expectation-maximization, as in published evaluations."""


@dataclass(frozen=True)
class TrainingOptions:
    """Training options of a click model, and estimators that use these options.

    Args:
        params: Click parameters; only `no_click`, `last`, the prior and `iterations` are used.
    """

    params: ClickParameters = field(default_factory=ClickParameters)

    @property
    def iterations(self) -> int:
        """Number of iterations of expectation-maximization."""
        return self.params.iterations

    @property
    def fixed_prior(self) -> BetaPrior:
        """Fixed Beta prior for global parameters and for expectation-maximization."""
        return BetaPrior(self.params.prior_alpha, self.params.prior_beta)

    def estimate_by_pair(self, successes: Integers, trials: Integers) -> Floats:
        """Return, for each pair, the posterior mean of a success probability under the prior."""
        prior = self.fixed_prior
        if self.params.prior == "empirical_bayes":
            prior = fit_beta(successes, trials, np.ones(len(trials), dtype=np.int64))
        return posterior_mean(successes, trials, prior)

    def estimate_by_group(self, successes: Integers, trials: Integers) -> Floats:
        """Return, for each group of results, such as a rank, the posterior mean of a probability.

        Groups have ample evidence, so the fixed prior suffices.
        """
        return posterior_mean(successes, trials, self.fixed_prior)

    def estimate_global_probability(self, successes: Floats, trials: Floats) -> float:
        """Return the posterior mean of a single probability, given expected counts per result."""
        prior = self.fixed_prior
        won, total = float(successes.sum()), float(trials.sum())
        return min((won + prior.alpha) / (total + prior.alpha + prior.beta), MAX_PROBABILITY)


@dataclass(frozen=True)
class TrainedModel:
    """A trained click model.

    Args:
        predict: Function that predicts the click probabilities of the results on given pages.
        attractiveness: P(click | examined) per pair, float64[pairs]; None if not modeled.
        satisfaction: P(satisfied | clicked) per pair, float64[pairs]; None if not modeled.
        relevance: Ranking score per pair, float64[pairs]; None if not modeled.
        has_evidence: Whether the estimates of each pair are based on data and not only on the
            prior, bool[pairs]; None if all are based on data.
    """

    predict: Callable[[ResultPages], ClickProbabilities]
    attractiveness: Floats | None = None
    satisfaction: Floats | None = None
    relevance: Floats | None = None
    has_evidence: Flags | None = None


FitFunction = Callable[[ResultPages, TrainingOptions], TrainedModel]
"""Function that trains a click model on pages."""


def posterior_mean(
    successes: Integers | Floats, trials: Integers | Floats, prior: BetaPrior
) -> Floats:
    """Return the posterior mean of probabilities under a Beta prior, element by element."""
    return np.asarray((successes + prior.alpha) / (trials + prior.alpha + prior.beta))


def gather_by_rank(rank_values: Floats, pages: ResultPages, default: float) -> Floats:
    """Look up the value for the rank of each result, float64[m].

    Ranks for which `rank_values` has no value get `default`.
    """
    return np.append(rank_values, default)[np.minimum(pages.rank - 1, len(rank_values))]
