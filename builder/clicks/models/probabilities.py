"""Marginal and conditional click probabilities predicted by click models.

Every result is clicked with probability a * e, where a is its attractiveness and e its examination
probability. In `IndependentClickProbabilities`, clicks are independent of each other. In
`ExaminationChain`, the user scans the page from the top, and examination depends on the clicks
above (Chuklin, Markov & de Rijke 2015, chapter 3); c and k are the probabilities of examining the
next result after a click and after a skip. The first result has e = 1. The next result has

- conditional on the clicks above: e' = c after a click, and e' = k * (1 - a) * e / (1 - a * e)
  after a skip;
- marginal: e' = e * (c * a + k * (1 - a)).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from builder.clicks.models.pages import ResultPages

Floats = npt.NDArray[np.float64]

MIN_PROBABILITY = 1e-6
"""Lower bound of probabilities before taking logarithms, as in published evaluations."""


class ClickProbabilities(Protocol):
    """Protocol of the click probabilities that a trained model predicts for shown results."""

    def marginal_click_probabilities(self, pages: ResultPages) -> Floats:
        """Return P(click) of each shown result, float64[m]."""

    def conditional_outcome_probabilities(self, pages: ResultPages) -> Floats:
        """Return the probability of each click or skip, given the clicks above it, float64[m]."""


@dataclass(frozen=True)
class IndependentClickProbabilities:
    """Click probabilities if results are clicked independently of each other.

    Args:
        attractiveness: float64[m]; attractiveness of each shown result.
        examination: float64[m]; examination probability of each shown result.
    """

    attractiveness: Floats
    examination: Floats

    def marginal_click_probabilities(self, pages: ResultPages) -> Floats:
        """Return P(click) of each shown result, float64[m]."""
        del pages
        return self.attractiveness * self.examination

    def conditional_outcome_probabilities(self, pages: ResultPages) -> Floats:
        """Return the probability of each click or skip, float64[m]."""
        click = self.marginal_click_probabilities(pages)
        return np.where(pages.clicked, click, 1 - click)


@dataclass(frozen=True)
class ExaminationChain:
    """Click probabilities for a user who scans the page from the top.

    Args:
        attractiveness: a, float64[m]; attractiveness of each shown result.
        after_click: c, float64[m]; probability of examining the next result after a click.
        after_skip: k; probability of examining the next result after a skip, the same for all
            results.
    """

    attractiveness: Floats
    after_click: Floats
    after_skip: float = 1.0

    def marginal_click_probabilities(self, pages: ResultPages) -> Floats:
        """Return P(click) of each shown result, float64[m]."""
        result = np.empty(len(pages.pair))
        examined = np.ones(len(pages))
        for page, shown in pages.indices_by_rank():
            a = self.attractiveness[shown]
            result[shown] = a * examined[page]
            go_on = self.after_click[shown] * a + self.after_skip * (1 - a)
            examined[page] = examined[page] * go_on
        return result

    def conditional_outcome_probabilities(self, pages: ResultPages) -> Floats:
        """Return the probability of each click or skip, given the clicks above it, float64[m]."""
        return self.forward_pass(pages)[0]

    def forward_pass(self, pages: ResultPages) -> tuple[Floats, Floats]:
        """Return the probability of each click or skip, and of the examination of each result.

        Both arrays are float64[m], and conditional on the clicks above each result.
        """
        result, examinations = np.empty(len(pages.pair)), np.empty(len(pages.pair))
        examined = np.ones(len(pages))
        for page, shown in pages.indices_by_rank():
            a, clicked = self.attractiveness[shown], pages.clicked[shown]
            examinations[shown] = examined[page]
            click = a * examined[page]
            result[shown] = np.where(clicked, click, 1 - click)
            skip = (
                self.after_skip * (1 - a) * examined[page] / np.maximum(1 - click, MIN_PROBABILITY)
            )
            examined[page] = np.where(clicked, self.after_click[shown], skip)
        return result, examinations
