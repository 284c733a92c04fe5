"""What all click models share: how they are trained, and what a trained one can do."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from builder.clicks.models.pages import Pages
from builder.clicks.models.probabilities import Prediction
from builder.clicks.priors import Beta, fit_beta
from builder.parameters import ClickParameters

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CERTAIN = 1 - 1e-6
"""Largest probability that expectation-maximisation keeps, as in the published evaluations."""


@dataclass(frozen=True)
class Training:
    """How a model is trained.

    Args:
        params: No-click rule, last click, prior, steps of expectation-maximisation.
    """

    params: ClickParameters = field(default_factory=ClickParameters)

    @property
    def iterations(self) -> int:
        """Steps of expectation-maximisation."""
        return self.params.iterations

    @property
    def fixed(self) -> Beta:
        """The fixed prior: of few parameters, and of those that expectation-maximisation fits."""
        return Beta(self.params.prior_alpha, self.params.prior_beta)

    def of_pairs(self, successes: Integers, trials: Integers) -> Floats:
        """Posterior means of one probability per pair, under the prior that is asked for."""
        prior = self.fixed
        if self.params.prior == "empirical_bayes":
            prior = fit_beta(successes, trials, np.ones(len(trials), dtype=np.int64))
        return mean(successes, trials, prior)

    def of_few(self, successes: Integers, trials: Integers) -> Floats:
        """Posterior means of few probabilities with much evidence each, such as one per rank."""
        return mean(successes, trials, self.fixed)

    def of_sums(self, successes: Floats, trials: Floats) -> float:
        """Posterior mean of one probability from expected counts of each shown result."""
        prior = self.fixed
        won, total = float(successes.sum()), float(trials.sum())
        return min((won + prior.alpha) / (total + prior.alpha + prior.beta), CERTAIN)


@dataclass(frozen=True)
class Trained:
    """A trained click model.

    Args:
        predict: Click probabilities of the results shown on pages.
        attractiveness: P(click | examined) of each pair, float64[pairs]; None where the model
            has none.
        satisfaction: P(satisfied | clicked) of each pair; None where the model has none.
        relevance: What the model ranks results by; None where it cannot.
        has_evidence: Whether anything speaks for the estimates of a pair, bool[pairs]; where
            nothing does they are the prior's. None: there is something for every pair.
    """

    predict: Callable[[Pages], Prediction]
    attractiveness: Floats | None = None
    satisfaction: Floats | None = None
    relevance: Floats | None = None
    has_evidence: Flags | None = None


Fit = Callable[[Pages, Training], Trained]


def mean(successes: Integers | Floats, trials: Integers | Floats, prior: Beta) -> Floats:
    """Posterior mean under a Beta prior, by element."""
    return np.asarray((successes + prior.alpha) / (trials + prior.alpha + prior.beta))


def at_rank(values: Floats, pages: Pages, beyond: float) -> Floats:
    """The value of each shown result's rank; `beyond` for ranks that have none."""
    return np.append(values, beyond)[np.minimum(pages.rank - 1, len(values))]
