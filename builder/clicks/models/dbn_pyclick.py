"""Dynamic Bayesian network as PyClick trains it: for comparison with published figures only.

Chuklin, Markov & de Rijke (2015), section 4.2.4, with the differences of that program:

1. examination below the last click has its marginal probability (`_get_session_exam`), not the one
   given the clicks above;
2. attraction on a page without a click is taken as 0, not as hidden, because its "last click"
   (`get_last_click_rank`) lies beyond the page, so that `DBNAttrEM.update` adds nothing;
3. the persistence reads the parameters of ranks 1, 2, ... for the results below rank r instead of
   those of ranks r + 1, r + 2, ...: `_get_tail_clicks` numbers the sliced page from 0; and by
   difference 2 users of pages without a click always go on;
4. the end of the page counts as a place where the user goes on or stops (`DBNContEM.update`).

On the pages of TianGong-ST this gives PyClick's published likelihood to six digits; `dbn` gives
-0.254750 and 1.325774 there.

`dbn` is the exact procedure.
"""

import numpy as np

from builder.clicks.models.pages import Floats, Integers, Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import CERTAIN, Trained, Training, mean


def dbn_pyclick(pages: Pages, training: Training) -> Trained:
    """Attractiveness and satisfaction by pair, one persistence for all."""
    weights = pages.weight[pages.page].astype(np.float64)
    shown = np.bincount(pages.pair, weights=weights, minlength=pages.pairs)
    clicks = np.bincount(pages.pair, weights=weights * pages.clicked, minlength=pages.pairs)
    ranks, deepest = pages.by_rank(), pages.deepest
    below = _below_last_click(pages, deepest)
    last = pages.clicked & (pages.rank == deepest[pages.page])
    a, s, persistence = np.full(pages.pairs, 0.5), np.full(pages.pairs, 0.5), 0.5
    for _ in range(training.iterations):
        a_shown, s_shown = a[pages.pair], s[pages.pair]
        walk = Walk(a_shown, persistence * (1 - s_shown), persistence)
        ahead, after = _clicks_ahead(pages, ranks, a_shown, persistence)
        examined = walk.marginal(pages) / a_shown
        hidden = np.where(below, (1 - examined) * a_shown / (1 - examined * ahead), 0.0)
        satisfied = np.where(last, s_shown / (1 - (1 - s_shown) * persistence * after), 0.0)
        went_on, could = _persistence(pages, ranks, deepest, walk, s_shown, persistence)
        attracted, content = (
            np.bincount(pages.pair, weights=weights * values, minlength=pages.pairs)
            for values in (hidden, satisfied)
        )
        a = np.minimum(mean(clicks + attracted, shown, training.fixed), CERTAIN)
        s = np.minimum(mean(content, clicks, training.fixed), CERTAIN)
        sums = np.array([weights @ went_on, weights @ could])
        persistence = min(float(mean(sums[:1], sums[1:], training.fixed)[0]), CERTAIN)
    return Trained(
        lambda p: Walk(a[p.pair], persistence * (1 - s[p.pair]), persistence), a, s, a * s
    )


def _below_last_click(pages: Pages, deepest: Integers) -> np.ndarray:
    last = deepest[pages.page]
    return np.asarray((last > 0) & (pages.rank > last))


def _clicks_ahead(
    pages: Pages, ranks: list[tuple[Integers, Integers]], a: Floats, persistence: float
) -> tuple[Floats, Floats]:
    """P(a click here or below | examined), and the same of the result below, float64[m] each."""
    here, below = np.zeros(len(a)), np.zeros(len(a))
    after = np.zeros(len(pages))
    for page, shown in reversed(ranks):
        below[shown] = after[page]
        here[shown] = a[shown] + (1 - a[shown]) * persistence * after[page]
        after[page] = here[shown]
    return here, below


def _persistence(
    pages: Pages,
    ranks: list[tuple[Integers, Integers]],
    deepest: Integers,
    walk: Walk,
    s: Floats,
    persistence: float,
) -> tuple[Floats, Floats]:
    """Posterior of going on, and of being able to, at each shown result."""
    _, examined = walk.descend(pages)
    silent_top = _silent_top(pages, ranks, walk.attractiveness, persistence)
    last, rank = deepest[pages.page], pages.rank
    remaining = pages.lengths[pages.page] - rank
    tail = silent_top[pages.start[:-1][pages.page] + pages.page + remaining]
    on_last = rank == last
    unsatisfied = np.where(on_last, 1 - s, 1.0)
    on, stop = persistence * tail, 1 - persistence
    rest = np.where(on_last, s, (1 - examined) / examined)
    total = unsatisfied * (on + stop) + rest
    certain = (last == 0) | (rank < last)
    went_on = np.where(certain, 1.0, unsatisfied * on / total)
    could = np.where(certain, 1.0, unsatisfied * (on + stop) / total)
    return went_on, could


def _silent_top(
    pages: Pages, ranks: list[tuple[Integers, Integers]], a: Floats, persistence: float
) -> Floats:
    """P(no click at ranks 1..k | rank 1 examined) of each page for k = 0..length, page by page."""
    silent, examined = np.ones(len(pages)), np.ones(len(pages))
    first = pages.start[:-1] + np.arange(len(pages))
    result = np.ones(len(a) + len(pages))
    for index, (page, shown) in enumerate(ranks):
        silent[page] = silent[page] - examined[page] * a[shown]
        examined[page] = examined[page] * (1 - a[shown]) * persistence
        result[first[page] + index + 1] = silent[page]
    return result
