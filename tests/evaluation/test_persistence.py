import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repro_eval.measure.overall_effects import DRI, ER

from builder.evaluation.tables.persistence import (
    PERSISTENCE_STATISTICS,
    compute_persistence_statistics,
    means_by_formula_symbol,
    subtract_with_tolerance,
)

FIXTURES = Path(__file__).parent / "fixtures"
TOY = json.loads((FIXTURES / "keller2024_toy.json").read_text())
KELLER = json.loads((FIXTURES / "keller2024_p10.json").read_text())


def means(*systems: list[float]) -> np.ndarray:
    return np.array([[np.mean(scores)] for scores in systems])


def test_the_published_toy_case() -> None:
    case = TOY["er_dri"]
    terms = means_by_formula_symbol(
        means(case["S"], case["P"]), means(case["S2"], case["P2"]), pivot=1
    )
    found = {name: values[0, 0] for name, values in compute_persistence_statistics(terms).items()}
    assert {name: found[name] for name in case["expected"]} == pytest.approx(
        case["expected"], abs=1e-9
    )


def test_drops_are_positive() -> None:
    case = TOY["longeval2023_drop"]
    found = compute_persistence_statistics(
        means_by_formula_symbol(means([case["within"]]), means([case["temporal"]]), None)
    )
    assert {name: found[name][0, 0] for name in case["expected"]} == pytest.approx(case["expected"])
    assert "effect_ratio" not in found


def test_delta_ri_is_exactly_0_if_both_relative_improvements_are_a_fifth() -> None:
    terms = means_by_formula_symbol(means([0.36], [0.3]), means([0.12], [0.1]), pivot=1)
    assert compute_persistence_statistics(terms)["delta_ri"][0, 0] == 0.0


def hits(time: str) -> np.ndarray:
    return np.array([[of[time] / KELLER["topics"][time] / 10] for of in KELLER["hits"].values()])


@pytest.mark.parametrize("time", ["ST", "LT"])
def test_the_p_at_10_column_of_table_1(time: str) -> None:
    systems = list(KELLER["hits"])
    found = compute_persistence_statistics(
        means_by_formula_symbol(hits("WT"), hits(time), systems.index(KELLER["pivot"]))
    )
    for row, system in enumerate(systems):
        assert round(hits("WT")[row, 0], 3) == KELLER["printed"][system]["WT"][0]
        columns = ("arp_to", "re_delta_drop", "delta_ri", "effect_ratio")
        values = [found[name][row, 0] for name in columns]
        printed = KELLER["printed"][system][time]
        np.testing.assert_array_equal(np.round(values, 3)[: len(printed)], printed)
        assert len(printed) == 4 or np.isnan(values[2:]).all()
        for value, exact in zip(
            values[1:], KELLER["exact"].get(system, {}).get(time, []), strict=False
        ):
            assert np.isnan(value) if exact is None else value == pytest.approx(exact, abs=1e-9)


def scores_of(values: np.ndarray) -> dict[str, dict[str, float]]:
    return {str(i): {"m": float(v)} for i, v in enumerate(values)}


def test_repro_eval_says_the_same() -> None:
    rng = np.random.default_rng(5)
    for _ in range(1000):
        n, m = rng.integers(1, 30, 2)
        s, p = rng.random((2, n)) * [[1], [rng.random()]]
        s2, p2 = rng.random((2, m))
        orig, rep = (scores_of(s), scores_of(p)), (scores_of(s2), scores_of(p2))
        found = compute_persistence_statistics(
            means_by_formula_symbol(means(s, p), means(s2, p2), pivot=1)
        )
        ratio = ER(orig[0], orig[1], rep[0], rep[1])["m"]
        assert found["effect_ratio"][0, 0] == pytest.approx(ratio, rel=1e-9)
        delta = DRI(orig[0], orig[1], rep[0], rep[1])["m"]
        assert found["delta_ri"][0, 0] == pytest.approx(delta, rel=1e-9, abs=1e-9)


mean = st.sampled_from([0.0, 0.25, 1.0, float("nan"), 1e-17]) | st.floats(0, 1)


@given(*[st.lists(mean, min_size=3, max_size=3)] * 2, st.sampled_from([None, 0, 2]))
def test_every_value_is_finite_or_has_a_reason(
    before: list[float], after: list[float], pivot: int | None
) -> None:
    terms = means_by_formula_symbol(np.array(before)[:, None], np.array(after)[:, None], pivot)
    with np.errstate(all="raise"):
        found = compute_persistence_statistics(terms)
    for quantity in PERSISTENCE_STATISTICS:
        if quantity.name in found:
            for system in range(3):
                value = found[quantity.name][system, 0]
                if np.isnan(value):
                    assert quantity.undefined_reason(terms, system, 0, pivot) != "undefined"
                assert not np.isinf(value)


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        (
            [0.0, 0.5],
            [0.1, 0.2],
            {"re_delta_drop": "zero mean score of the system in the first snapshot"},
        ),
        (
            [0.5, 0.0],
            [0.1, 0.2],
            {
                "ri_from": "zero mean score of the pivot in the first snapshot",
                "delta_ri": "zero mean score of the pivot in the first snapshot",
            },
        ),
        (
            [0.5, 0.0],
            [0.1, 0.0],
            {
                "ri_to": "zero mean score of the pivot in the second snapshot",
                "delta_ri": "zero mean score of the pivot in the first snapshot",
            },
        ),
        (
            [np.nan, 0.0],
            [np.nan, 0.0],
            {
                "re_delta_drop": "no mean score of the system in the first snapshot",
                "ri_to": "no mean score of the system in the second snapshot",
                "delta_ri": "no mean score of the system in the first snapshot",
            },
        ),
        ([0.5, 0.4], [0.1, 0.0], {"ri_to": "zero mean score of the pivot in the second snapshot"}),
        (
            [0.1 + 0.2, 0.3],
            [0.1, 0.2],
            {
                "effect_ratio": "zero difference in mean score between system and pivot "
                "in the first snapshot"
            },
        ),
        (
            [0.5, 0.4],
            [np.nan, 0.3],
            {"effect_ratio": "no mean score of the system in the second snapshot"},
        ),
        (
            [0.5, np.nan],
            [0.5, 0.3],
            {"ri_from": "no mean score of the pivot in the first snapshot"},
        ),
    ],
)
def test_reasons(before: list[float], after: list[float], reasons: dict[str, str]) -> None:
    terms = means_by_formula_symbol(np.array(before)[:, None], np.array(after)[:, None], pivot=1)
    found = compute_persistence_statistics(terms)
    told = {
        q.name: q.undefined_reason(terms, 0, 0, 1)
        for q in PERSISTENCE_STATISTICS
        if np.isnan(found[q.name][0, 0])
    }
    assert reasons.items() <= told.items()
    pivot = {
        q.name: q.undefined_reason(terms, 1, 0, 1) for q in PERSISTENCE_STATISTICS if q.needs_pivot
    }
    assert set(pivot.values()) == {"the system is the pivot"}


def test_rounding_is_no_difference() -> None:
    assert subtract_with_tolerance(np.array(0.1 + 0.2), np.array(0.3)) == 0
    assert subtract_with_tolerance(np.array(0.3), np.array(0.2)) == pytest.approx(0.1)


def test_an_unchanged_system_is_ideal() -> None:
    before = np.array([[0.4], [0.3]])
    found = compute_persistence_statistics(means_by_formula_symbol(before, before, pivot=1))
    for quantity in PERSISTENCE_STATISTICS:
        if quantity.ideal is not None:
            assert found[quantity.name][0, 0] == pytest.approx(quantity.ideal)
