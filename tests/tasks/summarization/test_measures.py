"""Temporal summarization: worked cases, a naive transcription of the equations."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.tasks.summarization.measures import (
    EventMeasures,
    MatchedUpdate,
    Nugget,
    binary_relevance,
    earliest_matches,
    f_half_harmonic,
    graded_relevance,
    latency_discount,
    updates_before,
)
from tests.thorough import examples

HOUR = 3600
NUGGETS = {
    "n1": Nugget(0, 3, 4),
    "n2": Nugget(6 * HOUR, 1, 6),
    "n3": Nugget(12 * HOUR, 2, 5),
    "n4": Nugget(0, 0, 5),
}
UPDATES = [
    MatchedUpdate(6 * HOUR, 10, {"n1": frozenset(range(4)), "n2": frozenset(range(2, 7))}),
    MatchedUpdate(12 * HOUR, 6, {"n1": frozenset(range(3)), "n2": frozenset(range(2))}),
    MatchedUpdate(12 * HOUR, 8, {"n3": frozenset(range(8))}),
]
GRADED = {name: graded_relevance(nugget.importance, 3) for name, nugget in NUGGETS.items()}


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9)


CASES = [
    pytest.param(
        6 * HOUR,
        {
            "gains": [0.5, 0.13533528323661267, 0.36787944117144233],
            "G": [0.6353352832366127, 0, 0.36787944117144233],
            "EG": 0.33440490813601836,
            "EG_V": 0.20900306758501147,
            "C": 0.645984266775929,
            "F_eq26": 0.15791192213243568,
            "F_harmonic": 0.31582384426487137,
            "integral": 36743.11161633814,
            "C_tau": [0.0, 0.4091014486860188, 0.645984266775929],
            "EG_tau": [0.0, 0.6353352832366127, 0.33440490813601836],
        },
        id="latency",
    ),
    pytest.param(
        None,
        {
            "gains": [1.0, 0.13533528323661267, 0.36787944117144233],
            "G": [1.1353352832366126, 0, 0.36787944117144233],
            "EG": 0.5010715748026849,
            "EG_V": 0.31316973425167804,
            "C": 0.9679413967199151,
            "F_eq26": 0.23661487489542027,
            "F_harmonic": 0.47322974979084054,
            "integral": 57605.93363670844,
            "C_tau": [0.0, 0.7310585786300049, 0.9679413967199151],
            "EG_tau": [0.0, 1.1353352832366126, 0.5010715748026849],
        },
        id="free",
    ),
]


@pytest.mark.parametrize(("step", "expected"), CASES)
def test_small_case(step, expected):
    measures = EventMeasures(NUGGETS, GRADED, step)
    scores = measures.scores(UPDATES)
    assert earliest_matches(UPDATES) == {"n1": 0, "n2": 0, "n3": 2}
    gains = [measures.gain(UPDATES[u], n) for n, u in earliest_matches(UPDATES).items()]
    assert gains == exactly(expected["gains"])
    assert measures.gains(UPDATES) == exactly(expected["G"])
    assert measures.verbosities(UPDATES) == exactly([1.6, 2.2, 1.0])
    assert scores.expected_gain == exactly(expected["EG"])
    assert scores.expected_gain_verbosity == exactly(expected["EG_V"])
    assert scores.comprehensiveness == exactly(expected["C"])
    assert scores.f_half_harmonic == exactly(expected["F_eq26"])
    assert scores.f_harmonic == exactly(expected["F_harmonic"])
    integral = measures.comprehensiveness_integral(UPDATES, 0, 24 * HOUR)
    assert integral == exactly(expected["integral"])
    over_time = [measures.scores(updates_before(UPDATES, tau)) for tau in (21_600, 21_601, 43_201)]
    assert [s.comprehensiveness for s in over_time] == exactly(expected["C_tau"])
    assert [s.expected_gain for s in over_time] == exactly(expected["EG_tau"])


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (0, 1.0),
        (21_600, 0.5),
        (-21_600, 1.5),
        (86_400, 0.1559582607547385),
        (-86_400, 1.8440417392452615),
    ],
)
def test_latency_discount(delay, expected):
    assert latency_discount(0, delay) == exactly(expected)
    assert latency_discount(10**9, 10**9 + delay) == exactly(expected)


def test_graded_relevance():
    expected = [0.049787068367863944, 0.1353352832366127, 0.36787944117144233, 1.0]
    assert [graded_relevance(i, 3) for i in range(4)] == exactly(expected)


def test_perfect_system():
    nuggets = {name: nugget for name, nugget in NUGGETS.items() if name != "n4"}
    relevance = {name: binary_relevance(nugget.importance) for name, nugget in nuggets.items()}
    updates = [
        MatchedUpdate(nugget.time, nugget.words, {name: frozenset(range(nugget.words))})
        for name, nugget in nuggets.items()
    ]
    measures = EventMeasures(nuggets, relevance, 6 * HOUR)
    scores = measures.scores(updates)
    assert measures.verbosities(updates) == [1.0, 1.0, 1.0]
    assert scores.expected_gain == exactly(1)
    assert scores.expected_gain_verbosity == exactly(1)
    assert scores.comprehensiveness == exactly(1)
    assert (scores.f_half_harmonic, scores.f_harmonic) == (exactly(0.5), exactly(1))


def test_an_empty_run_gains_nothing():
    scores = EventMeasures(NUGGETS, GRADED, None).scores([])
    assert (scores.expected_gain, scores.expected_gain_verbosity) == (0.0, 0.0)
    assert (scores.comprehensiveness, scores.f_harmonic, scores.matched) == (0.0, 0.0, 0)
    assert EventMeasures(NUGGETS, GRADED, None).comprehensiveness_integral([], 0, 10) == 0.0


def test_without_a_relevant_nugget_comprehensiveness_is_undefined():
    measures = EventMeasures({"n4": NUGGETS["n4"]}, {"n4": 0.0}, None)
    scores = measures.scores(UPDATES[:0])
    assert (scores.expected_gain, scores.comprehensiveness, scores.f_harmonic) == (0.0, None, None)
    assert measures.comprehensiveness_integral([], 0, 10) is None


def test_f_of_nothing_is_zero():
    assert f_half_harmonic(0.0, 0.0) == 0.0


def test_of_updates_of_one_second_the_first_pushed_counts():
    twins = [
        MatchedUpdate(5, 3, {"n1": frozenset({0})}),
        MatchedUpdate(5, 9, {"n1": frozenset({1})}),
    ]
    assert earliest_matches(twins) == {"n1": 0}
    assert earliest_matches(twins[::-1]) == {"n1": 0}


names = st.sampled_from(["n1", "n2", "n3", "n4"])
nugget_sets = st.dictionaries(
    names,
    st.builds(Nugget, st.integers(-90_000, 90_000), st.integers(0, 3), st.integers(1, 9)),
    min_size=1,
)
update_lists = st.lists(
    st.builds(
        MatchedUpdate,
        st.integers(0, 90_000),
        st.just(9),
        st.dictionaries(names, st.frozensets(st.integers(0, 8))),
    ),
    max_size=6,
)


def naive(nuggets, updates, step):
    """EG, EG_V and C: equations 5, 7 to 12, 15, 19, 22 and 24, word for word."""
    top = max(n.importance for n in nuggets.values())
    R = {n: math.exp(v.importance) / math.exp(top) for n, v in nuggets.items()}  # noqa: N806

    def M(n):  # noqa: N802
        matching = [u for u in updates if n in u.matches]
        return min(matching, key=lambda u: u.t if hasattr(u, "t") else u.time, default=None)

    def L(n, u):  # noqa: N802
        return 1 - 2 / math.pi * math.atan((u.time - nuggets[n].time) / step) if step else 1

    def V(u):  # noqa: N802
        words = set()
        for n in nuggets:
            if M(n) is u:
                words |= u.matches[n]
        average = sum(v.words for v in nuggets.values()) / len(nuggets)
        return 1 + (u.words - len(words)) / average

    total = sum(R[n] * L(n, M(n)) for n in nuggets if M(n))
    if not updates:
        return 0, 0, 0
    return total / len(updates), total / sum(map(V, updates)), total / sum(R.values())


@settings(max_examples=examples(1000), deadline=None)
@given(nugget_sets, update_lists, st.sampled_from([None, 6 * HOUR]), st.integers(0, 90_000))
def test_agrees_with_a_naive_transcription(nuggets, updates, step, tau):
    updates = [
        MatchedUpdate(u.time, u.words, {n: w for n, w in u.matches.items() if n in nuggets})
        for u in updates
    ]
    top = max(nugget.importance for nugget in nuggets.values())
    relevance = {name: graded_relevance(n.importance, top) for name, n in nuggets.items()}
    measures = EventMeasures(nuggets, relevance, step)
    for pushed in (updates, updates_before(updates, tau)):
        scores = measures.scores(pushed)
        eg, eg_v, c = naive(nuggets, pushed, step)
        assert scores.expected_gain == exactly(eg)
        assert scores.expected_gain_verbosity == exactly(eg_v)
        assert scores.comprehensiveness == exactly(c)
        assert scores.f_harmonic == exactly(2 * eg_v * c / (eg_v + c) if eg_v + c else 0)


@settings(max_examples=examples(300), deadline=None)
@given(nugget_sets, update_lists, st.integers(0, 40_000), st.integers(1, 50_000))
def test_the_integral_is_that_of_the_step_function(nuggets, updates, start, length):
    updates = [
        MatchedUpdate(u.time, u.words, {n: w for n, w in u.matches.items() if n in nuggets})
        for u in updates
    ]
    relevance = dict.fromkeys(nuggets, 1.0)
    measures = EventMeasures(nuggets, relevance, 6 * HOUR)
    end = start + length
    edges = sorted({start, end, *(u.time for u in updates if start < u.time < end)})
    area = sum(
        measures.scores(updates_before(updates, (left + right) / 2)).comprehensiveness
        * (right - left)
        for left, right in itertools.pairwise(edges)
    )
    assert measures.comprehensiveness_integral(updates, start, end) == pytest.approx(
        area, rel=1e-9, abs=1e-6
    )


def test_a_latency_step_of_one_second() -> None:
    assert latency_discount(10, 11, 1.0) == pytest.approx(0.5)
    assert latency_discount(10, 9, 1.0) == pytest.approx(1.5)
    assert latency_discount(10, 11, 0.5) == pytest.approx(1 - 2 / math.pi * math.atan(2))
