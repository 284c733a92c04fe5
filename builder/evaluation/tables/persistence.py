"""How effectiveness persists from one snapshot to a later one (Keller et al. 2024; LongEval 2023).

In: mean scores of all systems before and after. Out: one array per quantity, NaN where it is
undefined, and the reason. With S and P the means of a system and of the pivot before, and S', P'
after:

    arp_from, arp_to      S and S'            average retrieval performance
    rnd_absolute_drop     S - S'              the difference form of RnD; positive = drop
    rnd_relative_drop     (S - S') / S        the relative form of RnD; positive = drop
    re_delta_drop         (S - S') / S        Result Delta, equation 1; positive = drop
    ri_from, ri_to        (S - P) / P         relative improvement over the pivot, equation 2
    delta_ri              ri_from - ri_to     equation 3; 0 is ideal
    effect_ratio          (S' - P') / (S - P) equation 5; 1 is ideal

The mean of the per-query differences in equation 5 is the difference of the means, because system
and pivot are averaged over the same judged queries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from builder.evaluation.measures.family import Floats
from builder.statistics.rankings import ZERO

Terms = Mapping[str, Floats]
"""Means by the symbols above, each of shape (..., systems, measures)."""

_MEANING = {
    "S": "mean of the system in the first snapshot",
    "S'": "mean of the system in the second snapshot",
    "P": "mean of the pivot in the first snapshot",
    "P'": "mean of the pivot in the second snapshot",
    "S-P": "difference between system and pivot in the first snapshot",
}


@dataclass(frozen=True)
class Quantity:
    """One measure of persistence.

    Args:
        name: Its name; says the sign where there is a choice.
        ideal: Its value for a system that does not change, if there is one.
        needs: Symbols of the means it is computed from.
        denominators: Symbols that must not be zero.
        formula: From the terms to the value; NaN where a denominator is zero.
    """

    name: str
    ideal: float | None
    needs: tuple[str, ...]
    denominators: tuple[str, ...]
    formula: Callable[[Terms], Floats]

    @property
    def needs_pivot(self) -> bool:
        """Whether it relates a system to a pivot."""
        return "P" in self.needs or "P'" in self.needs

    def why_undefined(self, terms: Terms, system: int, measure: int, pivot: int | None) -> str:
        """Why there is no value for a system and measure; terms of shape (systems, measures)."""
        if self.needs_pivot and system == pivot:
            return "the system is the pivot"
        for symbol in self.needs:
            if np.isnan(terms[symbol][system, measure]):
                return f"no {_MEANING[symbol]}"
        zeros = [s for s in self.denominators if abs(terms[s][system, measure]) <= ZERO]
        return f"zero {_MEANING[zeros[0]]}" if zeros else "undefined"


def difference(first: Floats, second: Floats) -> Floats:
    """First minus second, with what is rounding only set to 0."""
    gap = first - second
    return np.where(np.abs(gap) <= ZERO, 0.0, gap)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    out = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=out, where=np.abs(denominator) > ZERO)
    return out


def _relative_drop(t: Terms) -> Floats:
    return _ratio(difference(t["S"], t["S'"]), t["S"])


def _ri_from(t: Terms) -> Floats:
    return _ratio(t["S-P"], t["P"])


def _ri_to(t: Terms) -> Floats:
    return _ratio(difference(t["S'"], t["P'"]), t["P'"])


def _effect_ratio(t: Terms) -> Floats:
    return _ratio(difference(t["S'"], t["P'"]), t["S-P"])


_ALL = ("S", "S'", "P", "P'")

QUANTITIES = (
    Quantity("arp_from", None, ("S",), (), lambda t: t["S"]),
    Quantity("arp_to", None, ("S'",), (), lambda t: t["S'"]),
    Quantity("rnd_absolute_drop", 0.0, ("S", "S'"), (), lambda t: difference(t["S"], t["S'"])),
    Quantity("rnd_relative_drop", 0.0, ("S", "S'"), ("S",), _relative_drop),
    Quantity("re_delta_drop", 0.0, ("S", "S'"), ("S",), _relative_drop),
    Quantity("ri_from", None, ("S", "P"), ("P",), _ri_from),
    Quantity("ri_to", None, ("S'", "P'"), ("P'",), _ri_to),
    Quantity("delta_ri", 0.0, _ALL, ("P", "P'"), lambda t: _ri_from(t) - _ri_to(t)),
    Quantity("effect_ratio", 1.0, _ALL, ("S-P",), _effect_ratio),
)
"""Every quantity, in the order in which tables show them."""


def terms_of(before: Floats, after: Floats, pivot: int | None) -> dict[str, Floats]:
    """The terms of all quantities.

    Args:
        before: Means in the first snapshot, shape (..., systems, measures).
        after: Means in the second snapshot, the same shape.
        pivot: Position of the pivot among the systems; its own comparison becomes NaN.
    """
    terms = {"S": before, "S'": after}
    if pivot is not None:
        for symbol, scores in (("P", before), ("P'", after)):
            terms[symbol] = np.repeat(scores[..., [pivot], :], scores.shape[-2], axis=-2)
            terms[symbol][..., pivot, :] = np.nan
        terms["S-P"] = difference(terms["S"], terms["P"])
    return terms


def compare(terms: Terms) -> dict[str, Floats]:
    """Every quantity that the terms allow, by name; without a pivot, those that need none."""
    pivot = "P" in terms
    return {q.name: q.formula(terms) for q in QUANTITIES if pivot or not q.needs_pivot}
