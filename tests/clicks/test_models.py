"""Click models against enumeration of everything hidden, and against each other."""

from itertools import product

import numpy as np
import pytest

from builder.clicks.models import MODELS, Pages, Training
from builder.clicks.models.dbn import expect
from builder.clicks.models.probabilities import Grid, Walk
from builder.parameters import ClickParameters

Log = list[tuple[list[int], list[int]]]
"""Pairs shown in rank order, and clicked ranks in click order."""


def encoded(log: Log, pairs: int | None = None) -> Pages:
    """A log in arrays."""
    shown = [pair for results, _ in log for pair in results]
    clicked = [rank + 1 in clicks for results, clicks in log for rank in range(len(results))]
    start = np.cumsum([0, *(len(results) for results, _ in log)])
    latest = [clicks[-1] if clicks else 0 for _, clicks in log]
    return Pages(
        pair=np.array(shown, dtype=np.int64),
        clicked=np.array(clicked, dtype=bool),
        start=start.astype(np.int64),
        weight=np.ones(len(log), dtype=np.int64),
        latest=np.array(latest, dtype=np.int64),
        pairs=max(shown, default=-1) + 1 if pairs is None else pairs,
    )


def chains(length: int, a: list[float], s: list[float], g: float) -> dict[tuple[int, ...], float]:
    """P(clicks, examinations, satisfactions) of a page, by the generative story of the DBN."""
    found = {}
    for clicks, examined, satisfied in product(product((0, 1), repeat=length), repeat=3):
        p = 1.0
        for k in range(length):
            if k == 0:
                on = 1.0
            elif not examined[k - 1] or satisfied[k - 1]:
                on = 0.0
            else:
                on = g
            p *= on if examined[k] else 1 - on
            click = a[k] if examined[k] else 0.0
            p *= click if clicks[k] else 1 - click
            content = s[k] if clicks[k] else 0.0
            p *= content if satisfied[k] else 1 - content
        found[clicks + examined + satisfied] = p
    return found


A, S, G = [0.3, 0.6, 0.15, 0.45], [0.7, 0.2, 0.5, 0.9], 0.8
ALL_CLICKS = [[k + 1 for k in range(4) if bits[k]] for bits in product((0, 1), repeat=4)]


def test_dbn_posterior_is_that_of_the_enumerated_chain() -> None:
    pages = encoded([([0, 1, 2, 3], clicks) for clicks in ALL_CLICKS])
    a, s = np.array(A)[pages.pair], np.array(S)[pages.pair]
    hidden = expect(pages, pages.by_rank(), pages.deepest, a, s, G)
    for page, clicks in enumerate(ALL_CLICKS):
        seen = tuple(int(k + 1 in clicks) for k in range(4))
        rows = {key[4:]: p for key, p in chains(4, A, S, G).items() if key[:4] == seen}
        total = sum(rows.values())
        for k in range(4):
            at = page * 4 + k
            examined = sum(p for key, p in rows.items() if key[k]) / total
            satisfied = sum(p for key, p in rows.items() if key[4 + k]) / total
            went_on = sum(p for key, p in rows.items() if k < 3 and key[k + 1]) / total
            assert hidden.examined[at] == pytest.approx(examined, abs=1e-12)
            assert hidden.satisfied[at] == pytest.approx(satisfied, abs=1e-12)
            assert hidden.went_on[at] == pytest.approx(went_on, abs=1e-12)


def test_walk_probabilities_are_those_of_the_enumerated_chain() -> None:
    pages = encoded([([0, 1, 2, 3], clicks) for clicks in ALL_CLICKS])
    a, s = np.array(A)[pages.pair], np.array(S)[pages.pair]
    walk = Walk(a, G * (1 - s), G)
    clicks = {}
    for key, p in chains(4, A, S, G).items():
        clicks[key[:4]] = clicks.get(key[:4], 0.0) + p
    joint = np.multiply.reduceat(walk.conditional(pages), pages.start[:-1])
    expected = [clicks[tuple(int(k + 1 in c) for k in range(4))] for c in ALL_CLICKS]
    assert joint == pytest.approx(expected, abs=1e-12)
    marginal = [sum(p for key, p in clicks.items() if key[k]) for k in range(4)]
    assert walk.marginal(pages)[:4] == pytest.approx(marginal, abs=1e-12)


def test_grid_probabilities_are_products() -> None:
    pages = encoded([([0, 1], [2])])
    grid = Grid(np.array([0.5, 0.2]), np.array([1.0, 0.5]))
    assert grid.marginal(pages).tolist() == [0.5, 0.1]
    assert grid.conditional(pages).tolist() == [0.5, 0.1]


HAND = [([0, 1, 2], [2, 1]), ([1, 0, 2], []), ([2, 3], [1])]
UNIFORM = ClickParameters(prior="beta")


def trained(name: str, log: Log, **changes: object) -> object:
    """A model trained with uniform priors."""
    params = UNIFORM.model_copy(update=changes)
    return MODELS[name](encoded(log), Training(params))


def test_sdbn_by_hand() -> None:
    model = trained("sdbn", HAND)
    # clicks / examinations: 0: 1/2, 1: 1/2, 2: 1/2 (the third page counts it), 3: never examined
    assert model.attractiveness.tolist() == [2 / 4, 2 / 4, 2 / 4, 1 / 2]
    # last clicks / clicks: 0: 0/1, 1: 1/1, 2: 1/1
    assert model.satisfaction.tolist() == [1 / 3, 2 / 3, 2 / 3, 1 / 2]
    assert model.has_evidence.tolist() == [True, True, True, False]


def test_sdbn_by_time_and_skipping_by_hand() -> None:
    model = trained("sdbn", HAND, last="time", no_click="skip")
    assert model.attractiveness.tolist() == [2 / 3, 2 / 3, 2 / 3, 1 / 2]
    assert model.satisfaction.tolist() == [2 / 3, 1 / 3, 2 / 3, 1 / 2]


def test_cascade_counts_to_the_first_click() -> None:
    model = trained("cascade", HAND)
    # 0: clicked in 1 of 2; 1: shown below the first click once, skipped once; 2: 1 of 2
    assert model.attractiveness.tolist() == [2 / 4, 1 / 3, 2 / 4, 1 / 2]
    probabilities = model.predict(encoded(HAND, 4)).conditional(encoded(HAND, 4))
    assert probabilities[1] == 0.0  # a click after a click cannot be


def test_dcm_continues_by_rank() -> None:
    model = trained("dcm", HAND)
    pages = encoded([([3, 3, 3], [1, 2, 3])], 4)
    # clicks that were not the last: rank 1: 1 of 2, rank 2: 0 of 1, rank 3: none at all
    conditional = model.predict(pages).conditional(pages)
    assert conditional == pytest.approx([0.5, 0.5 * 2 / 4, 0.5 * 1 / 3])


def test_ctr_by_hand() -> None:
    pages = encoded(HAND)
    rates = {
        name: trained(name, HAND).predict(pages).marginal(pages)
        for name in ("global-ctr", "rank-ctr", "document-ctr")
    }
    assert rates["global-ctr"].tolist() == [4 / 10] * 8
    assert rates["rank-ctr"][:3].tolist() == [3 / 5, 2 / 5, 1 / 4]
    assert rates["document-ctr"][:3].tolist() == [2 / 4, 2 / 4, 2 / 5]


def test_ranks_beyond_training_get_the_prior() -> None:
    longer = encoded([([0, 1, 2, 3], [])])
    assert trained("rank-ctr", HAND).predict(longer).marginal(longer)[3] == 0.5


def random_log(seed: int, pages: int = 60) -> Log:
    """Short lists over few pairs, so that every model has something to learn."""
    rng = np.random.default_rng(seed)
    log: Log = []
    for _ in range(pages):
        results = rng.integers(0, 8, rng.integers(1, 7)).tolist()
        log.append((results, [k + 1 for k in range(len(results)) if rng.random() < 0.3]))
    return log


def likelihood(name: str, pages: Pages, iterations: int) -> float:
    """What expectation-maximisation increases: data and Beta(2, 2) prior, for PBM and DBN."""
    model = MODELS[name](pages, Training(UNIFORM, iterations))
    return float(np.log(model.predict(pages).conditional(pages)).sum())


@pytest.mark.parametrize("name", ["pbm", "dbn"])
def test_expectation_maximisation_climbs(name: str) -> None:
    pages = encoded(random_log(5, 400))
    values = [likelihood(name, pages, iterations) for iterations in (1, 2, 4, 8, 16, 32)]
    assert values == sorted(values)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_identical_pages_weigh_as_much_as_their_copies(name: str) -> None:
    log = random_log(9)
    copies = encoded([page for page in log for _ in range(3)], 8)
    pages = encoded(log, 8)
    weighted = Pages(pages.pair, pages.clicked, pages.start, pages.weight * 3, pages.latest, 8)
    one, other = (MODELS[name](p, Training(UNIFORM, 10)).predict(pages) for p in (copies, weighted))
    assert one.marginal(pages) == pytest.approx(other.marginal(pages), abs=1e-12)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_accept_an_empty_log(name: str) -> None:
    model = MODELS[name](encoded([]), Training())
    assert len(model.predict(encoded([])).marginal(encoded([]))) == 0


@pytest.mark.parametrize("name", sorted(MODELS))
def test_probabilities_are_probabilities(name: str) -> None:
    for prior in ("beta", "empirical_bayes"):
        pages = encoded(random_log(21))
        model = MODELS[name](pages, Training(ClickParameters(prior=prior), 20))
        prediction = model.predict(pages)
        for values in (prediction.marginal(pages), prediction.conditional(pages)):
            assert values.min() >= 0
            assert values.max() <= 1 + 1e-12
