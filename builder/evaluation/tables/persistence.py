"""Persistence of effectiveness between two snapshots (Keller et al. 2024; LongEval 2023).

Computes one array per statistic from the mean scores of all systems in both snapshots. Undefined
values are NaN. S and P are the mean scores of a system and of the pivot in the first snapshot,
and S' and P' are their mean scores in the second:

    arp_from, arp_to      S and S'            average retrieval performance
    rnd_absolute_drop     S - S'              the difference form of RnD; positive = drop
    rnd_relative_drop     (S - S') / S        the relative form of RnD; positive = drop
    re_delta_drop         (S - S') / S        Result Delta, equation 1; positive = drop
    ri_from, ri_to        (S - P) / P         relative improvement over the pivot, equation 2
    delta_ri              ri_from - ri_to     equation 3; 0 is ideal
    effect_ratio          (S' - P') / (S - P) equation 5; 1 is ideal

The mean of the per-query differences in equation 5 equals the difference of the means, because
system and pivot are averaged over the same judged queries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from builder.evaluation.measures.family import Floats
from builder.statistics.rankings import TIE_TOLERANCE

MeansByFormulaSymbol = Mapping[str, Floats]
"""Mean scores by symbol (`S`, `S'`, `P`, `P'`, `S-P`), each of shape (..., systems, measures)."""

_DESCRIPTIONS = {
    "S": "mean score of the system in the first snapshot",
    "S'": "mean score of the system in the second snapshot",
    "P": "mean score of the pivot in the first snapshot",
    "P'": "mean score of the pivot in the second snapshot",
    "S-P": "difference in mean score between system and pivot in the first snapshot",
}


@dataclass(frozen=True)
class PersistenceStatistic:
    """Statistic of how well effectiveness persists from one snapshot to another.

    Args:
        name: Value of the column `quantity`; states the sign convention if it could be ambiguous.
        ideal: Value for a system whose effectiveness does not change; None if it depends on the
            score.
        operands: Symbols of the mean scores in the formula.
        denominators: Symbols of the mean scores that must not be zero.
        formula: Function that computes the values from the mean scores; NaN where a denominator is
            zero.
    """

    name: str
    ideal: float | None
    operands: tuple[str, ...]
    denominators: tuple[str, ...]
    formula: Callable[[MeansByFormulaSymbol], Floats]

    @property
    def needs_pivot(self) -> bool:
        """Whether the formula uses mean scores of the pivot system."""
        return "P" in self.operands or "P'" in self.operands

    def undefined_reason(
        self, means: MeansByFormulaSymbol, system: int, measure: int, pivot: int | None
    ) -> str:
        """Return why the statistic is undefined for a system and measure, given by index."""
        if self.needs_pivot and system == pivot:
            return "the system is the pivot"
        for symbol in self.operands:
            if np.isnan(means[symbol][system, measure]):
                return f"no {_DESCRIPTIONS[symbol]}"
        zeros = [s for s in self.denominators if abs(means[s][system, measure]) <= TIE_TOLERANCE]
        return f"zero {_DESCRIPTIONS[zeros[0]]}" if zeros else "undefined"


def subtract_with_tolerance(first: Floats, second: Floats) -> Floats:
    """Return `first - second`; differences within the rounding error become 0."""
    gap = first - second
    return np.where(np.abs(gap) <= TIE_TOLERANCE, 0.0, gap)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    out = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=out, where=np.abs(denominator) > TIE_TOLERANCE)
    return out


def _relative_drop(means: MeansByFormulaSymbol) -> Floats:
    return _ratio(subtract_with_tolerance(means["S"], means["S'"]), means["S"])


def _earlier_relative_improvement(means: MeansByFormulaSymbol) -> Floats:
    return _ratio(means["S-P"], means["P"])


def _later_relative_improvement(means: MeansByFormulaSymbol) -> Floats:
    return _ratio(subtract_with_tolerance(means["S'"], means["P'"]), means["P'"])


def _effect_ratio(means: MeansByFormulaSymbol) -> Floats:
    return _ratio(subtract_with_tolerance(means["S'"], means["P'"]), means["S-P"])


_ALL = ("S", "S'", "P", "P'")

PERSISTENCE_STATISTICS = (
    PersistenceStatistic("arp_from", None, ("S",), (), lambda means: means["S"]),
    PersistenceStatistic("arp_to", None, ("S'",), (), lambda means: means["S'"]),
    PersistenceStatistic(
        "rnd_absolute_drop",
        0.0,
        ("S", "S'"),
        (),
        lambda means: subtract_with_tolerance(means["S"], means["S'"]),
    ),
    PersistenceStatistic("rnd_relative_drop", 0.0, ("S", "S'"), ("S",), _relative_drop),
    PersistenceStatistic("re_delta_drop", 0.0, ("S", "S'"), ("S",), _relative_drop),
    PersistenceStatistic("ri_from", None, ("S", "P"), ("P",), _earlier_relative_improvement),
    PersistenceStatistic("ri_to", None, ("S'", "P'"), ("P'",), _later_relative_improvement),
    PersistenceStatistic(
        "delta_ri",
        0.0,
        _ALL,
        ("P", "P'"),
        lambda means: subtract_with_tolerance(
            _earlier_relative_improvement(means), _later_relative_improvement(means)
        ),
    ),
    PersistenceStatistic("effect_ratio", 1.0, _ALL, ("S-P",), _effect_ratio),
)
"""All statistics in table order."""


def means_by_formula_symbol(before: Floats, after: Floats, pivot: int | None) -> dict[str, Floats]:
    """Return the mean scores that the formulas use, by symbol (`S`, `S'`, `P`, `P'`, `S-P`).

    Args:
        before: Means in the first snapshot, shape (..., systems, measures).
        after: Means in the second snapshot, of the same shape.
        pivot: Index of the pivot among the systems; None omits `P`, `P'` and `S-P`. The
            values of `P`, `P'` and `S-P` are NaN for the pivot itself.
    """
    means = {"S": before, "S'": after}
    if pivot is not None:
        for symbol, scores in (("P", before), ("P'", after)):
            means[symbol] = np.repeat(scores[..., [pivot], :], scores.shape[-2], axis=-2)
            means[symbol][..., pivot, :] = np.nan
        means["S-P"] = subtract_with_tolerance(means["S"], means["P"])
    return means


def compute_persistence_statistics(means: MeansByFormulaSymbol) -> dict[str, Floats]:
    """Compute the values of each statistic, by name.

    Statistics that need a pivot are omitted if `means` contains no scores of a pivot.
    """
    has_pivot = "P" in means
    return {
        statistic.name: statistic.formula(means)
        for statistic in PERSISTENCE_STATISTICS
        if has_pivot or not statistic.needs_pivot
    }
