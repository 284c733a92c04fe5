"""Dynamic Bayesian network as PyClick trains it: for comparison with published figures only.

Chuklin, Markov & de Rijke (2015), section 4.2.4, with the differences of that program:

1. examination below the last click has its marginal probability (`_get_session_exam`), not the one
   given the clicks above;
2. attraction on a page without a click is taken as 0, not as hidden, because its "last click"
   (`get_last_click_rank`) lies beyond the page, so that `DBNAttrEM.update` adds nothing;
3. the persistence reads the parameters of ranks 1, 2, ... for the results below rank r instead of
   those of ranks r + 1, r + 2, ...: `_get_tail_clicks` numbers the sliced page from 0; and by
   difference 2 users of pages without a click always go on;
4. at the end of the page, too, the user goes on or stops (`DBNContEM.update`).

On the pages of TianGong-ST this gives PyClick's published likelihood to six digits; `dbn` gives
-0.254750 and 1.325774 there.

`dbn` is the exact procedure.
"""

import numpy as np

from builder.clicks.models.pages import Flags, Floats, Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import CERTAIN, Trained, Training, mean


def dbn_pyclick(pages: Pages, training: Training) -> Trained:
    """Attractiveness and satisfaction by pair, one persistence for all."""
    weights = pages.weight[pages.page].astype(np.float64)
    shown, clicks = pages.sums(weights), pages.sums(weights * pages.clicked)
    below = below_last_click(pages)
    a, s, persistence = np.full(pages.pairs, 0.5), np.full(pages.pairs, 0.5), 0.5
    for _ in range(training.iterations):
        a_shown, s_shown = a[pages.pair], s[pages.pair]
        walk = Walk(a_shown, persistence * (1 - s_shown), persistence)
        ahead, after = clicks_ahead(pages, a_shown, persistence)
        examined = walk.marginal(pages) / a_shown
        hidden = np.where(below, (1 - examined) * a_shown / (1 - examined * ahead), 0.0)
        content = s_shown / (1 - (1 - s_shown) * persistence * after)
        satisfied = np.where(pages.is_last_click, content, 0.0)
        continued, could = _persistence(pages, walk, s_shown, persistence)
        a = mean(clicks + pages.sums(weights * hidden), shown, training.fixed)
        s = mean(pages.sums(weights * satisfied), clicks, training.fixed)
        a, s = np.minimum(a, CERTAIN), np.minimum(s, CERTAIN)
        persistence = training.of_sums(weights * continued, weights * could)
    return Trained(
        lambda p: Walk(a[p.pair], persistence * (1 - s[p.pair]), persistence), a, s, a * s
    )


def below_last_click(pages: Pages) -> Flags:
    """Whether each result is below the last click of a page that has one."""
    last = pages.deepest[pages.page]
    return np.asarray((last > 0) & (pages.rank > last))


def clicks_ahead(pages: Pages, a: Floats, persistence: float) -> tuple[Floats, Floats]:
    """P(a click here or below | examined), and the same of the result below, float64[m] each."""
    here, below = np.zeros(len(a)), np.zeros(len(a))
    after = np.zeros(len(pages))
    for page, shown in reversed(pages.by_rank()):
        below[shown] = after[page]
        here[shown] = a[shown] + (1 - a[shown]) * persistence * after[page]
        after[page] = here[shown]
    return here, below


def _persistence(pages: Pages, walk: Walk, s: Floats, persistence: float) -> tuple[Floats, Floats]:
    """Posterior of going on, and of being able to, at each shown result."""
    examined = walk.descend(pages)[1]
    last, rank = pages.deepest[pages.page], pages.rank
    on_last = rank == last
    unsatisfied = np.where(on_last, 1 - s, 1.0)
    on = persistence * silence_from_top(pages, walk.attractiveness, persistence)
    stop = 1 - persistence
    rest = np.where(on_last, s, (1 - examined) / examined)
    total = unsatisfied * (on + stop) + rest
    is_certain = (last == 0) | (rank < last)
    continued = np.where(is_certain, 1.0, unsatisfied * on / total)
    could = np.where(is_certain, 1.0, unsatisfied * (on + stop) / total)
    return continued, could


def silence_from_top(pages: Pages, a: Floats, persistence: float) -> Floats:
    """P(no click at ranks 1..k | rank 1 examined), k: results below each one; float64[m].

    What PyClick takes for the probability of no click below (difference 3).
    """
    silent, examined = np.ones(len(pages)), np.ones(len(pages))
    top = pages.start[:-1] + np.arange(len(pages))
    result = np.ones(len(a) + len(pages))
    for index, (page, shown) in enumerate(pages.by_rank()):
        silent[page] = silent[page] - examined[page] * a[shown]
        examined[page] = examined[page] * (1 - a[shown]) * persistence
        result[top[page] + index + 1] = silent[page]
    return np.asarray(result[top[pages.page] + pages.lengths[pages.page] - pages.rank])
