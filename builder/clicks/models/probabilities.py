"""What a trained click model says about pages: click probabilities, marginal and conditional.

Two shapes cover all models here. On a `Grid` every result is clicked independently, with
probability attractiveness x examination. On a `Walk` the user goes down the page, and what was
examined depends on the clicks above (Chuklin, Markov & de Rijke 2015, chapter 3):
conditional, with e_1 = 1: p = a e; after a click e = c, after none e = k (1 - a) e / (1 - p);
marginal: p = a e, then e = e (c a + k (1 - a)).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from builder.clicks.models.pages import Pages

Floats = npt.NDArray[np.float64]

LEAST = 1e-6
"""Floor applied to probabilities before taking logs, as in the published evaluations."""


class Prediction(Protocol):
    """Click probabilities of shown results."""

    def marginal(self, pages: Pages) -> Floats:
        """P(click), float64[m]."""

    def conditional(self, pages: Pages) -> Floats:
        """P(click or no click, as it was | the clicks above), float64[m]."""


@dataclass(frozen=True)
class Grid:
    """Independent clicks.

    Args:
        attractiveness: float64[m], of each shown result.
        examination: float64[m], of each shown result.
    """

    attractiveness: Floats
    examination: Floats

    def marginal(self, pages: Pages) -> Floats:
        """P(click), float64[m]."""
        del pages
        return self.attractiveness * self.examination

    def conditional(self, pages: Pages) -> Floats:
        """P(what was observed), float64[m]."""
        click = self.marginal(pages)
        return np.where(pages.clicked, click, 1 - click)


@dataclass(frozen=True)
class Walk:
    """A user who walks down the page.

    Args:
        attractiveness: a, float64[m], of each shown result.
        after_click: c, float64[m]; probability to go on to the next result after a click.
        after_skip: k; probability to go on after a result that was examined and not clicked.
    """

    attractiveness: Floats
    after_click: Floats
    after_skip: float = 1.0

    def marginal(self, pages: Pages) -> Floats:
        """P(click), float64[m]."""
        result = np.empty(len(pages.pair))
        examined = np.ones(len(pages))
        for page, shown in pages.by_rank():
            a = self.attractiveness[shown]
            result[shown] = a * examined[page]
            go_on = self.after_click[shown] * a + self.after_skip * (1 - a)
            examined[page] = examined[page] * go_on
        return result

    def conditional(self, pages: Pages) -> Floats:
        """P(what was observed | the clicks above), float64[m]."""
        return self.descend(pages)[0]

    def descend(self, pages: Pages) -> tuple[Floats, Floats]:
        """`conditional`, and P(examined | the clicks above), float64[m] each."""
        result, examinations = np.empty(len(pages.pair)), np.empty(len(pages.pair))
        examined = np.ones(len(pages))
        for page, shown in pages.by_rank():
            a, clicked = self.attractiveness[shown], pages.clicked[shown]
            examinations[shown] = examined[page]
            click = a * examined[page]
            result[shown] = np.where(clicked, click, 1 - click)
            skip = self.after_skip * (1 - a) * examined[page] / np.maximum(1 - click, LEAST)
            examined[page] = np.where(clicked, self.after_click[shown], skip)
        return result, examinations
