"""Click models against enumeration of everything hidden, and against each other."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from builder.clicks.models import MIN_PROBABILITY, ResultPages, TrainingOptions, get_fit_function
from builder.clicks.models.browsing import BrowsingClickProbabilities
from builder.clicks.models.cascade import CascadeExaminationChain
from builder.clicks.models.ccm import (
    ContinuationProbabilities,
    create_examination_chain,
    posterior_satisfaction,
)
from builder.clicks.models.dbn_pyclick import (
    _expected_continuations,
    is_below_last_click,
    probability_of_click_at_or_below,
    probability_of_no_click_at_top_ranks,
)
from builder.clicks.models.inference import infer_examination
from builder.clicks.models.probabilities import ExaminationChain, IndependentClickProbabilities
from builder.clicks.scores import evaluate_predictions
from builder.parameters import CLICK_MODELS, ClickParameters

Log = list[tuple[list[int], list[int]]]
"""Pairs shown in rank order, and clicked ranks in click order."""


def encoded(log: Log, pairs: int | None = None) -> ResultPages:
    """A log in arrays."""
    shown = [pair for results, _ in log for pair in results]
    clicked = [rank + 1 in clicks for results, clicks in log for rank in range(len(results))]
    start = np.cumsum([0, *(len(results) for results, _ in log)])
    latest = [clicks[-1] if clicks else 0 for _, clicks in log]
    return ResultPages(
        pair=np.array(shown, dtype=np.int64),
        clicked=np.array(clicked, dtype=bool),
        start=start.astype(np.int64),
        weight=np.ones(len(log), dtype=np.int64),
        latest=np.array(latest, dtype=np.int64),
        pairs=max(shown, default=-1) + 1 if pairs is None else pairs,
    )


def chains(
    length: int, a: list[float], s: list[float], going: tuple[float, float, float]
) -> dict[tuple[int, ...], float]:
    """P(clicks, examinations, satisfactions) of a page, by the generative story of DBN and CCM.

    The user goes on after a skip, after a click that does not satisfy, after one that does.
    """
    found = {}
    for clicks, examined, satisfied in product(product((0, 1), repeat=length), repeat=3):
        p = 1.0
        for k in range(length):
            on = 1.0
            if k and not examined[k - 1]:
                on = 0.0
            elif k:
                on = going[clicks[k - 1] + satisfied[k - 1]]
            p *= on if examined[k] else 1 - on
            click = a[k] if examined[k] else 0.0
            p *= click if clicks[k] else 1 - click
            content = s[k] if clicks[k] else 0.0
            p *= content if satisfied[k] else 1 - content
        found[clicks + examined + satisfied] = p
    return found


A, S, G = [0.3, 0.6, 0.15, 0.45], [0.7, 0.2, 0.5, 0.9], 0.8
ALL_CLICKS = [[k + 1 for k in range(4) if bits[k]] for bits in product((0, 1), repeat=4)]
GOING_ON = ContinuationProbabilities(0.85, 0.7, 0.35)


def every_page() -> ResultPages:
    """One page with each pattern of clicks on the same four results."""
    return encoded([([0, 1, 2, 3], clicks) for clicks in ALL_CLICKS])


def given_clicks(joint: dict[tuple[int, ...], float], clicks: list[int]) -> dict[Any, float]:
    """P(examinations, satisfactions | clicks)."""
    seen = tuple(int(k + 1 in clicks) for k in range(4))
    rows = {key[4:]: p for key, p in joint.items() if key[:4] == seen}
    total = sum(rows.values())
    return {key: p / total for key, p in rows.items()}


@pytest.mark.parametrize("name", ["dbn", "ccm"])
def test_posterior_equals_enumeration(name: str) -> None:
    pages, a = every_page(), np.array(A)
    if name == "dbn":
        s = np.array(S)
        chain = ExaminationChain(a[pages.pair], G * (1 - s)[pages.pair], G)
        hidden = infer_examination(pages, chain)
        content = np.where(pages.is_deepest_click, s[pages.pair] / hidden.evidence, 0.0)
        joint = chains(4, A, S, (G, G, 0.0))
    else:
        hidden = infer_examination(pages, create_examination_chain(pages, a, GOING_ON))
        content = posterior_satisfaction(pages, a[pages.pair], GOING_ON, hidden)
        joint = chains(4, A, A, GOING_ON)
    for page, clicks in enumerate(ALL_CLICKS):
        rows = given_clicks(joint, clicks)
        for k in range(4):
            at = page * 4 + k
            examined = sum(p for key, p in rows.items() if key[k])
            satisfied = sum(p for key, p in rows.items() if key[4 + k])
            continued = sum(p for key, p in rows.items() if k < 3 and key[k + 1])
            assert hidden.examined[at] == pytest.approx(examined, abs=1e-12)
            assert content[at] == pytest.approx(satisfied, abs=1e-12)
            assert hidden.continued[at] == pytest.approx(continued, abs=1e-12)


@pytest.mark.parametrize("name", ["dbn", "ccm"])
def test_chain_probabilities_equal_enumeration(name: str) -> None:
    pages, a = every_page(), np.array(A)
    if name == "dbn":
        chain = ExaminationChain(a[pages.pair], G * (1 - np.array(S))[pages.pair], G)
        joint = chains(4, A, S, (G, G, 0.0))
    else:
        chain = create_examination_chain(pages, a, GOING_ON)
        joint = chains(4, A, A, GOING_ON)
    clicks: dict[tuple[int, ...], float] = {}
    for key, p in joint.items():
        clicks[key[:4]] = clicks.get(key[:4], 0.0) + p
    found = np.multiply.reduceat(chain.conditional_outcome_probabilities(pages), pages.start[:-1])
    expected = [clicks[tuple(int(k + 1 in c) for k in range(4))] for c in ALL_CLICKS]
    assert found == pytest.approx(expected, abs=1e-12)
    marginal = [sum(p for key, p in clicks.items() if key[k]) for k in range(4)]
    assert chain.marginal_click_probabilities(pages)[:4] == pytest.approx(marginal, abs=1e-12)


def test_browsing_probabilities_equal_enumeration() -> None:
    """P(clicks) = product over ranks, of which the previous click decides the examination."""
    rng = np.random.default_rng(2)
    gamma, pages = rng.random((3, 3)), every_page()
    known = np.full((4, 4), 0.5)
    known[:3, :3] = gamma
    browsing = BrowsingClickProbabilities(np.array(A)[pages.pair], gamma, 0.5)
    joint = []
    for clicks in ALL_CLICKS:
        p = 1.0
        for rank in range(1, 5):
            previous = max((c for c in clicks if c < rank), default=0)
            click = A[rank - 1] * known[rank - 1, previous]
            p *= click if rank in clicks else 1 - click
        joint.append(p)
    assert sum(joint) == pytest.approx(1, abs=1e-12)
    found = np.multiply.reduceat(
        browsing.conditional_outcome_probabilities(pages), pages.start[:-1]
    )
    assert found == pytest.approx(joint, abs=1e-12)
    marginal = [
        sum(p for p, c in zip(joint, ALL_CLICKS, strict=True) if k + 1 in c) for k in range(4)
    ]
    assert browsing.marginal_click_probabilities(pages)[:4] == pytest.approx(marginal, abs=1e-12)


def naive_browsing(
    log: Log, iterations: int, *, by_rank_alone: bool = False
) -> tuple[dict[int, float], dict[Any, float]]:
    """Expectation-maximization one shown result at a time, under Beta(1, 1).

    Examination depends on the rank and the last click above it, as in UBM, or by rank alone (PBM).
    """
    a: dict[int, float] = {}
    gamma: dict[Any, float] = {}
    for _ in range(iterations):
        sums: dict[Any, list[float]] = {}
        for results, clicks in log:
            for rank, pair in enumerate(results, 1):
                last = max((c for c in clicks if c < rank), default=0)
                context = (rank, 0 if by_rank_alone else last)
                one, other = a.get(pair, 0.5), gamma.get(context, 0.5)
                none = 1 - one * other
                is_clicked = rank in clicks
                attracted = 1.0 if is_clicked else one * (1 - other) / none
                examined = 1.0 if is_clicked else other * (1 - one) / none
                for key, value in ((pair, attracted), (context, examined)):
                    total = sums.setdefault(key, [1.0, 2.0])
                    sums[key] = [total[0] + value, total[1] + 1]
        means = {key: min(won / total, 1 - 1e-6) for key, (won, total) in sums.items()}
        a = {key: value for key, value in means.items() if isinstance(key, int)}
        gamma = {key: value for key, value in means.items() if isinstance(key, tuple)}
    return a, gamma


def naive_chain(log: Log, name: str, iterations: int) -> list[float]:
    """Attractiveness by enumeration of everything hidden, one page at a time, under Beta(1, 1)."""
    a, s, going = [0.5] * 8, [0.5] * 8, (0.5, 0.5, 0.0 if name == "dbn" else 0.5)
    for _ in range(iterations):
        pairs = [[1.0, 2.0] for _ in range(8)]
        content = [[1.0, 2.0] for _ in range(8)]
        on = [[1.0, 2.0] for _ in range(3)]
        for results, clicks in log:
            size = len(results)
            local_s = [a[p] if name == "ccm" else s[p] for p in results]
            joint = chains(size, [a[p] for p in results], local_s, going)
            seen = tuple(int(k + 1 in clicks) for k in range(size))
            rows = {key: p for key, p in joint.items() if key[:size] == seen}
            total = sum(rows.values())
            for key, p in rows.items():
                weight = p / total
                for k, pair in enumerate(results):
                    click, examined, satisfied = key[k], key[size + k], key[2 * size + k]
                    pairs[pair][0] += weight * click
                    pairs[pair][1] += weight * examined
                    target = pairs if name == "ccm" else content
                    target[pair][0] += weight * satisfied
                    target[pair][1] += weight * click
                    if k < size - 1 and examined:
                        kind = click + satisfied
                        on[kind][0] += weight * key[size + k + 1]
                        on[kind][1] += weight
        means = [[min(won / of, 1 - 1e-6) for won, of in part] for part in (pairs, content, on)]
        a, s = means[0], means[1]
        if name == "ccm":
            going = (means[2][0], means[2][1], means[2][2])
        else:
            persistence = (on[0][0] + on[1][0] - 1) / (on[0][1] + on[1][1] - 2)
            going = (persistence, persistence, 0.0)
    return a


def pyclick_marginals(
    a: list[float], s: list[float], going: tuple[float, float, float]
) -> tuple[list[float], list[float], list[float], list[float]]:
    """What PyClick computes of a page without its clicks, result by result.

    Returns:
        P(examined); P(click at or below | examined), if nobody is satisfied; the same of the next
        result; P(no click on as many results from the top as there are below).
    """
    size = len(a)
    examined, ahead, silence = [1.0], [0.0], [1.0]
    for k in range(size - 1):
        on = a[k] * (1 - s[k]) * going[1] + a[k] * s[k] * going[2] + (1 - a[k]) * going[0]
        examined.append(examined[-1] * on)
    for k in reversed(range(size)):
        ahead.insert(0, a[k] + (1 - a[k]) * going[0] * ahead[0])
    reached = 1.0
    for k in range(size - 1):
        silence.append(silence[-1] - reached * a[k])
        reached *= (1 - a[k]) * going[0]
    return examined, ahead[:size], ahead[1:], silence[::-1]


def pyclick_transitions(
    a: list[float],
    s: list[float],
    going: tuple[float, float, float],
    clicks: list[int],
    silence: list[float],
) -> list[dict[tuple[int, int, int], float]]:
    """P(examined, satisfied, next one examined | clicks) of each result, by its factors.

    Attraction does not enter. On a page without clicks, "the last click lies beyond the page": the
    user always continues.
    """
    last, found, examined = max(clicks, default=len(a) + 1), [], 1.0
    for k, silent in enumerate(silence):
        click = k + 1 in clicks
        factors = {}
        for e, content, on in product((0, 1), repeat=3):
            p = examined if e else 1 - examined
            p *= float(e or not click)
            p *= (s[k] if content else 1 - s[k]) if click else float(not content)
            continues = going[click + content] if e else 0.0
            p *= continues if on else 1 - continues
            p *= silent if on and last <= k + 1 else float(on or last <= k + 1)
            factors[e, content, on] = p
        total = sum(factors.values())
        found.append({key: p / total for key, p in factors.items()})
        after = (1 - s[k]) * going[1] + s[k] * going[2]
        skip = going[0] * (1 - a[k]) * examined / (1 - a[k] * examined)
        examined = after if click else skip
    return found


def naive_pyclick(
    log: Log, name: str, iterations: int
) -> tuple[list[float], list[float], tuple[float, float, float]]:
    """Expectation-maximization as PyClick does it, one page at a time, under Beta(1, 1)."""
    is_ccm = name == "ccm-pyclick"
    a, s, going = [0.5] * 8, [0.5] * 8, (0.5, 0.5, 0.5 if is_ccm else 0.0)
    for _ in range(iterations):
        pairs, content = ([[1.0, 2.0] for _ in range(8)] for _ in range(2))
        on = [[1.0, 2.0] for _ in range(3)]
        for results, clicks in log:
            local_a, local_s = [a[p] for p in results], [(a if is_ccm else s)[p] for p in results]
            examined, ahead, below, silence = pyclick_marginals(local_a, local_s, going)
            last = max(clicks, default=len(results) + 1)
            states = pyclick_transitions(local_a, local_s, going, clicks, silence)
            for k, (pair, state) in enumerate(zip(results, states, strict=True)):
                click = int(k + 1 in clicks)
                pairs[pair][0] += click
                pairs[pair][1] += 1
                if k + 1 > last:
                    missed = (1 - examined[k]) * local_a[k]
                    pairs[pair][0] += missed / (1 - examined[k] * ahead[k])
                target = pairs if is_ccm else content
                target[pair][1] += click
                if k + 1 == last:
                    after = (1 - local_s[k]) * going[1] + local_s[k] * going[2]
                    target[pair][0] += local_s[k] / (1 - after * below[k])
                for satisfied in range(1 + click * is_ccm):
                    kind = (click + satisfied) * is_ccm
                    on[kind][0] += state[1, satisfied, 1]
                    on[kind][1] += state[1, satisfied, 1] + state[1, satisfied, 0]
        means = [[min(won / of, 1 - 1e-6) for won, of in part] for part in (pairs, content, on)]
        a, s = means[0], means[1]
        persistence, unsatisfied, satisfied_on = means[2]
        going = (persistence, unsatisfied, satisfied_on) if is_ccm else (*[persistence] * 2, 0.0)
    return a, s, going


@pytest.mark.parametrize("name", ["dbn-pyclick", "ccm-pyclick"])
def test_models_of_pyclick_are_trained_as_one_page_at_a_time(name: str) -> None:
    log = [*random_log(3, 40), ([0, 1, 2], []), ([3, 1], [2])]
    model = trained(name, log, iterations=3)
    a, s, going = naive_pyclick(log, name, 3)
    assert model.attractiveness == pytest.approx(a, abs=1e-12)
    satisfaction = np.array(a if name == "ccm-pyclick" else s)
    assert model.satisfaction == pytest.approx(satisfaction, abs=1e-12)
    chain = model.predict(encoded([(list(range(8)), [])], 8))
    assert chain.after_skip == pytest.approx(going[0], abs=1e-12)
    after_click = (1 - satisfaction) * going[1] + satisfaction * going[2]
    assert chain.after_click == pytest.approx(after_click, abs=1e-12)


@pytest.mark.parametrize("name", ["dbn", "ccm"])
def test_chain_models_equal_training_by_enumeration(name: str) -> None:
    log = [(results[:4], [c for c in clicks if c <= 4]) for results, clicks in random_log(4, 25)]
    params = ClickParameters(prior="beta", iterations=3)
    model = get_fit_function(name)(encoded(log, 8), TrainingOptions(params))
    assert model.attractiveness == pytest.approx(naive_chain(log, name, 3), abs=1e-12)


@pytest.mark.parametrize("name", ["ubm", "pbm"])
def test_browsing_models_are_trained_as_one_result_at_a_time(name: str) -> None:
    log = random_log(6, 80)
    pages = encoded(log, 8)
    model = get_fit_function(name)(
        pages, TrainingOptions(ClickParameters(prior="beta", iterations=7))
    )
    a, gamma = naive_browsing(log, 7, by_rank_alone=name == "pbm")
    assert model.attractiveness == pytest.approx([a.get(p, 0.5) for p in range(8)], abs=1e-12)
    probabilities = model.predict(pages).conditional_outcome_probabilities(pages)
    expected = []
    for results, clicks in log:
        for rank, pair in enumerate(results, 1):
            last = max((c for c in clicks if c < rank), default=0) if name == "ubm" else 0
            click = a[pair] * gamma[rank, last]
            expected.append(click if rank in clicks else 1 - click)
    assert probabilities == pytest.approx(expected, abs=1e-12)


def test_independent_click_probabilities_are_products() -> None:
    pages = encoded([([0, 1], [2])])
    grid = IndependentClickProbabilities(np.array([0.5, 0.2]), np.array([1.0, 0.5]))
    assert grid.marginal_click_probabilities(pages).tolist() == [0.5, 0.1]
    assert grid.conditional_outcome_probabilities(pages).tolist() == [0.5, 0.1]


HAND = [([0, 1, 2], [2, 1]), ([1, 0, 2], []), ([2, 3], [1])]
UNIFORM = ClickParameters(prior="beta")
TEN_STEPS = ClickParameters(prior="beta", iterations=10)


def trained(name: str, log: Log, **changes: object) -> object:
    """A model trained with uniform priors."""
    params = UNIFORM.model_copy(update=changes)
    return get_fit_function(name)(encoded(log), TrainingOptions(params))


def test_sdbn_by_hand() -> None:
    model = trained("sdbn", HAND)
    # clicks / examinations: 0: 1/2, 1: 1/2, 2: 1/2 (the third page counts it), 3: never examined
    assert model.attractiveness.tolist() == [2 / 4, 2 / 4, 2 / 4, 1 / 2]
    # last clicks / clicks: 0: 0/1, 1: 1/1, 2: 1/1
    assert model.satisfaction.tolist() == [1 / 3, 2 / 3, 2 / 3, 1 / 2]
    assert model.relevance == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 4])
    assert model.has_evidence.tolist() == [True, True, True, False]


def test_sdbn_by_time_and_skipping_by_hand() -> None:
    model = trained("sdbn", HAND, last="time", no_click="skip")
    assert model.attractiveness.tolist() == [2 / 3, 2 / 3, 2 / 3, 1 / 2]
    assert model.satisfaction.tolist() == [2 / 3, 1 / 3, 2 / 3, 1 / 2]


def test_cascade_counts_to_the_first_click() -> None:
    model = trained("cascade", HAND)
    # 0: clicked in 1 of 2; 1: shown below the first click once, skipped once; 2: 1 of 2
    assert model.attractiveness.tolist() == [2 / 4, 1 / 3, 2 / 4, 1 / 2]
    assert model.satisfaction.tolist() == [1, 1, 1, 1]
    assert model.has_evidence.tolist() == [True, True, True, False]
    probabilities = model.predict(encoded(HAND, 4)).conditional_outcome_probabilities(
        encoded(HAND, 4)
    )
    assert probabilities[1] == 0.0  # a click after a click cannot be


def test_cascade_by_the_convention_of_pyclick_has_the_smallest_probability_below_a_click() -> None:
    """PyClick's task centric evaluation: marginal above and at the first click, 1e-6 below it."""
    pages = encoded([([0, 1, 2], [2]), ([1, 0], [])])
    chain = CascadeExaminationChain(np.array([0.5, 0.25, 0.5])[pages.pair], np.zeros(5))
    # marginal: 1/2, 1/2 1/4, ..; the second page has no click: 3/4, 1 - 3/4 1/2
    expected = [0.5, 0.125, MIN_PROBABILITY, 0.75, 0.625]
    assert chain.pyclick_conditional_probabilities(pages).tolist() == expected
    assert chain.conditional_outcome_probabilities(pages).tolist() == [0.5, 0.25, 1.0, 0.75, 0.5]
    pyclick, per_rank = evaluate_predictions(chain, pages)
    logs = np.log(expected)
    assert pyclick.log_likelihood == pytest.approx((logs[:3].mean() + logs[3:].mean()) / 2)
    assert per_rank.log_likelihood == pytest.approx(np.log([0.5 * 0.25, 0.75 * 0.5]).mean())


def test_cascade_may_skip_pages_without_clicks() -> None:
    model = trained("cascade", HAND, no_click="skip")
    assert model.attractiveness.tolist() == [2 / 3, 1 / 2, 2 / 3, 1 / 2]
    assert model.has_evidence.tolist() == [True, False, True, False]


def test_dcm_by_time_and_skipping_by_hand() -> None:
    model = trained("dcm", HAND, last="time", no_click="skip")
    assert model.attractiveness.tolist() == [2 / 3, 2 / 3, 2 / 3, 1 / 2]
    # the last click is at rank 1 on both pages; the click at rank 2 came before it
    chain = model.predict(encoded([([0, 1, 2], [])], 4))
    assert chain.after_click.tolist() == [1 / 4, 2 / 3, 1 / 2]


def test_dcm_continues_by_rank() -> None:
    model = trained("dcm", HAND)
    assert model.has_evidence.tolist() == [True, True, True, False]
    pages = encoded([([3, 3, 3], [1, 2, 3])], 4)
    # clicks that were not the last: rank 1: 1 of 2, rank 2: 0 of 1, rank 3: none at all
    conditional = model.predict(pages).conditional_outcome_probabilities(pages)
    assert conditional == pytest.approx([0.5, 0.5 * 2 / 4, 0.5 * 1 / 3])


def test_dcm_continues_beyond_the_ranks_of_training_with_the_prior_mean() -> None:
    model = trained("dcm", HAND, prior_alpha=3.0, prior_beta=1.0)
    pages = encoded([([3, 3, 3, 3, 3], [1, 2, 3, 4, 5])], 4)
    # result 3 was never examined: 3/4; clicks that were not the last: 1 of 2, 0 of 1, 0 of 0;
    # training has three ranks, so that the fourth has the prior mean, 3/4, as the third
    continuation = [4 / 6, 3 / 5, 3 / 4, 3 / 4]
    conditional = model.predict(pages).conditional_outcome_probabilities(pages)
    assert conditional == pytest.approx([3 / 4, *(3 / 4 * value for value in continuation)])


def test_ctr_by_hand() -> None:
    pages = encoded(HAND)
    rates = {
        name: trained(name, HAND).predict(pages).marginal_click_probabilities(pages)
        for name in ("global-ctr", "rank-ctr", "document-ctr")
    }
    assert rates["global-ctr"].tolist() == [4 / 10] * 8
    assert rates["rank-ctr"][:3].tolist() == [3 / 5, 2 / 5, 1 / 4]
    assert rates["document-ctr"][:3].tolist() == [2 / 4, 2 / 4, 2 / 5]
    everywhere = trained("global-ctr", HAND)
    assert everywhere.attractiveness.tolist() == [4 / 10] * 4
    assert everywhere.satisfaction is None


@pytest.mark.parametrize("name", ["rank-ctr", "pbm", "ubm"])
def test_ranks_beyond_training_get_the_prior_mean(name: str) -> None:
    longer = encoded([([0, 1, 2, 3], [])])
    model = trained(name, HAND, prior_alpha=3.0, prior_beta=1.0)
    attractiveness = 1.0 if name == "rank-ctr" else model.attractiveness[3]
    assert model.predict(longer).marginal_click_probabilities(longer)[3] == pytest.approx(
        attractiveness * 3 / 4
    )


def test_probabilities_of_dbn_pyclick_by_hand() -> None:
    pages, a = encoded([([0, 1, 2], [])]), np.array([0.3, 0.6, 0.15])
    here, below = probability_of_click_at_or_below(pages, a, 0.8)
    second = 0.6 + 0.4 * 0.8 * 0.15
    assert here == pytest.approx([0.3 + 0.7 * 0.8 * second, second, 0.15])
    assert below == pytest.approx([second, 0.15, 0])
    # ranks 1 and 2, rank 1, no rank: as many as there are below the result
    expected = [0.7 * (0.8 * 0.4 + 0.2), 0.7, 1]
    assert probability_of_no_click_at_top_ranks(pages, a, 0.8) == pytest.approx(expected)
    # the same on a page after others, of which one is longer
    several = encoded([([2], []), ([1, 0, 2, 1], []), ([0, 1, 2], [])])
    assert probability_of_no_click_at_top_ranks(several, a[several.pair], 0.8)[
        -3:
    ] == pytest.approx(expected)
    assert is_below_last_click(encoded([([0, 1, 2], [2]), ([0], [])])).tolist() == [
        *(False, False, True),
        False,
    ]


def test_continuations_of_dbn_pyclick_by_hand() -> None:
    """A page whose first result is the only click, and one without a click."""
    pages = encoded([([0, 1], [1]), ([1], [])])
    a, s, g = np.array([0.3, 0.6])[pages.pair], np.array([0.7, 0.2])[pages.pair], 0.8
    chain = ExaminationChain(a, g * (1 - s), g)
    continued, could = _expected_continuations(pages, chain, s, g)
    # at the click: satisfied, or not and no click below (1 - .3, by the deviation of PyClick);
    # below it: examined with .8 .3, and nothing follows
    click, skip = 0.3 * (0.8 * 0.7 + 0.2) + 0.7, 1 + (1 - 0.24) / 0.24
    assert continued == pytest.approx([0.3 * 0.8 * 0.7 / click, 0.8 / skip, 1])
    assert could == pytest.approx([0.3 * (0.8 * 0.7 + 0.2) / click, 1 / skip, 1])


def test_one_step_of_dbn_pyclick_by_hand() -> None:
    """A page of two results, the first one clicked, starting from a = s = g = 1/2.

    The second result is examined with probability g (1 - s) / 2 + g / 2 = 3/8, so the posterior of
    attraction without examination is 5/8 1/2 / (1 - 3/8 1/2) = 5/13.
    """
    model = trained("dbn-pyclick", [([0, 1], [1])], iterations=1)
    assert model.attractiveness == pytest.approx([(1 + 1) / (1 + 2), (5 / 13 + 1) / (1 + 2)])
    # satisfied at the last click: s / (1 - (1 - s) g a) = 4/7
    assert model.satisfaction == pytest.approx([(4 / 7 + 1) / (1 + 2), 1 / 2])


def test_one_step_of_ccm_pyclick_by_hand() -> None:
    """A page of two results, the first one clicked, starting from 1/2 for all parameters."""
    log = [([0, 1], [1])]
    model = trained("ccm-pyclick", log, iterations=1)
    # a / (1 - c d) = 2/3 at the last click; attraction without examination, (1/2)^2 / (3/4) = 1/3
    assert model.attractiveness == pytest.approx([(1 + 2 / 3 + 1) / (2 + 2), (1 / 3 + 1) / (1 + 2)])
    assert model.relevance == pytest.approx(np.square(model.attractiveness))
    chain = model.predict(encoded(log))
    # after the skip: P(continued) = 1/4, P(could) = 1/2; after the click: 1/6 and 1/2
    skip, click = (1 / 4 + 1) / (1 / 2 + 2), (1 / 6 + 1) / (1 / 2 + 2)
    assert chain.after_skip == pytest.approx(skip)
    assert chain.after_click == pytest.approx([click, click])


RELEVANCE = {
    **dict.fromkeys(("sdbn", "dbn", "dbn-pyclick"), ("attractiveness", "satisfaction")),
    **dict.fromkeys(("ccm", "ccm-pyclick"), ("attractiveness", "attractiveness")),
}
"""The factors of relevance, where it is a product; of other models, it is the attractiveness."""


@pytest.mark.parametrize("name", sorted(set(CLICK_MODELS) - {"rank-ctr"}))
def test_relevance_is_that_of_the_paper(name: str) -> None:
    model = trained(name, HAND)
    expected = model.attractiveness
    if name in RELEVANCE:
        first, second = (getattr(model, factor) for factor in RELEVANCE[name])
        expected = first * second
    assert model.relevance == pytest.approx(expected)
    assert ((model.relevance > 0) & (model.relevance <= model.attractiveness)).all()


@pytest.mark.parametrize("name", ["pbm", "ubm", "dbn", "ccm", "dbn-pyclick", "ccm-pyclick"])
def test_estimates_stay_a_millionth_below_one(name: str) -> None:
    """Under a prior of a billion clicks and no skip; otherwise, they would divide by zero."""
    model = trained(name, HAND, prior_alpha=1e9, prior_beta=1e-9, iterations=3)
    assert model.attractiveness.tolist() == [0.999999] * 4
    if model.satisfaction is not None:
        assert model.satisfaction.tolist() == [0.999999] * 4
    predicted = model.predict(encoded([([0, 1, 2], [])], 4))
    examination = getattr(predicted, "examination", getattr(predicted, "after_skip", None))
    assert np.unique(examination).tolist() == [0.999999]


def test_pages_of_a_new_weight_of_zero_are_dropped() -> None:
    pages = encoded([([0, 1], [2]), ([2], []), ([3, 1, 0], [3, 1])])
    kept = pages.reweight(np.array([2, 0, 5]))
    assert (kept.pair.tolist(), kept.clicked.tolist()) == (
        [0, 1, 3, 1, 0],
        [False, True, True, False, True],
    )
    assert (kept.start.tolist(), kept.weight.tolist()) == ([0, 2, 5], [2, 5])
    assert (kept.latest.tolist(), kept.pairs, len(kept)) == ([2, 1], 4, 2)
    none = pages.reweight(np.zeros(3, dtype=np.int64))
    assert (len(none), none.start.tolist(), none.pair.tolist()) == (0, [0], [])


def test_pages_know_their_ranks_and_clicks() -> None:
    pages = encoded([([0, 1, 2], [3, 1]), ([2], []), ([3, 1, 0, 2], [2])])
    assert pages.page_index.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert pages.rank.tolist() == [1, 2, 3, 1, 1, 2, 3, 4]
    assert pages.deepest_click_rank.tolist() == [3, 0, 2]
    assert pages.first_click_rank.tolist() == [1, 2**63 - 1, 2]
    assert pages.is_deepest_click.nonzero()[0].tolist() == [2, 5]
    assert pages.previous_click_rank.tolist() == [0, 1, 1, 0, 0, 0, 2, 2]
    at = [(page.tolist(), shown.tolist()) for page, shown in pages.indices_by_rank()]
    assert at == [([0, 1, 2], [0, 3, 4]), ([0, 2], [1, 5]), ([0, 2], [2, 6]), ([2], [7])]
    assert pages.sum_by_pair(np.arange(8.0)).tolist() == [6, 6, 12, 4]


def random_log(seed: int, pages: int = 60) -> Log:
    """Short lists over few pairs, so that every model has something to learn."""
    rng = np.random.default_rng(seed)
    log: Log = []
    for _ in range(pages):
        results = rng.integers(0, 8, rng.integers(1, 7)).tolist()
        log.append((results, [k + 1 for k in range(len(results)) if rng.random() < 0.3]))
    return log


def likelihood(name: str, pages: ResultPages, iterations: int) -> float:
    """What expectation-maximization increases: data and Beta(2, 2) prior, for PBM and DBN."""
    model = get_fit_function(name)(
        pages, TrainingOptions(UNIFORM.model_copy(update={"iterations": iterations}))
    )
    return float(np.log(model.predict(pages).conditional_outcome_probabilities(pages)).sum())


@pytest.mark.parametrize("name", ["pbm", "ubm", "dbn", "ccm"])
def test_expectation_maximization_increases_likelihood(name: str) -> None:
    pages = encoded(random_log(5, 400))
    values = [likelihood(name, pages, iterations) for iterations in (1, 2, 4, 8, 16, 32)]
    assert values == sorted(values)


@pytest.mark.parametrize("name", sorted(CLICK_MODELS))
def test_identical_pages_weigh_as_much_as_their_copies(name: str) -> None:
    log = random_log(9)
    copies = encoded([page for page in log for _ in range(3)], 8)
    pages = encoded(log, 8)
    weighted = ResultPages(
        pages.pair, pages.clicked, pages.start, pages.weight * 3, pages.latest, 8
    )
    one, other = (
        get_fit_function(name)(p, TrainingOptions(TEN_STEPS)).predict(pages)
        for p in (copies, weighted)
    )
    assert one.marginal_click_probabilities(pages) == pytest.approx(
        other.marginal_click_probabilities(pages), abs=1e-12
    )


@pytest.mark.parametrize("name", sorted(CLICK_MODELS))
def test_models_accept_an_empty_log(name: str) -> None:
    model = get_fit_function(name)(encoded([]), TrainingOptions())
    assert len(model.predict(encoded([])).marginal_click_probabilities(encoded([]))) == 0


@pytest.mark.parametrize("name", sorted(CLICK_MODELS))
def test_probabilities_are_probabilities(name: str) -> None:
    for prior in ("beta", "empirical_bayes"):
        pages = encoded(random_log(21))
        model = get_fit_function(name)(
            pages, TrainingOptions(ClickParameters(prior=prior, iterations=20))
        )
        prediction = model.predict(pages)
        for values in (
            prediction.marginal_click_probabilities(pages),
            prediction.conditional_outcome_probabilities(pages),
        ):
            assert values.min() >= 0
            assert values.max() <= 1 + 1e-12
