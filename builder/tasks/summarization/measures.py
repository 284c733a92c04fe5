"""Measures of temporal summarisation, for one event.

In: the nuggets of an event, which updates match them with which words, and the updates that a
system pushed. Out: gains, expected gain, comprehensiveness and their F. Equation numbers are those
of Aslam et al., "TREC 2014 Temporal Summarization Track: Metrics" (2014).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from builder.evaluation.checks import require

LATENCY_STEP = 6 * 3600
"""alpha of equation 23, in seconds."""

Relevance: TypeAlias = Literal["graded", "binary"]
Words: TypeAlias = frozenset[int]
"""Positions of words in the text of an update."""


@dataclass(frozen=True, slots=True)
class Nugget:
    """A piece of information that a summary should hold.

    Args:
        time: n.t, unix seconds.
        importance: n.i, 0 (none) to 3 (high).
        words: |n|, at least 1.
    """

    time: int
    importance: float
    words: int


@dataclass(frozen=True, slots=True)
class Update:
    """An update that a system pushed.

    Args:
        time: u.t, unix seconds.
        words: |u|; a mean length where the text is unknown.
        matches: The nuggets that it matches, and its words that match each.
    """

    time: int
    words: float
    matches: Mapping[str, Words]


@dataclass(frozen=True, slots=True)
class EventScores:
    """Scores of a system for an event; null where the measure divides by zero.

    Args:
        updates: |S|.
        matched: Nuggets with a match.
        expected_gain: EG, equations 10 and 11; 0 without updates.
        expected_gain_verbosity: EG_V, equation 12; 0 without updates.
        comprehensiveness: C, equations 15 and 16; null where no nugget is relevant.
        f_equation_26: F as printed, without the factor 2 of a harmonic mean.
        f_harmonic: Harmonic mean of EG_V and C: twice f_equation_26.
    """

    updates: int
    matched: int
    expected_gain: float
    expected_gain_verbosity: float
    comprehensiveness: float | None
    f_equation_26: float | None
    f_harmonic: float | None


def graded_relevance(importance: float, largest: float) -> float:
    """R of a nugget on an exponential scale; equation 19."""
    return math.exp(importance - largest)


def binary_relevance(importance: float) -> float:
    """R of a nugget, 1 for any importance; equation 20."""
    return 1.0 if importance > 0 else 0.0


def latency_discount(nugget_time: int, update_time: int, step: float = LATENCY_STEP) -> float:
    """L in (0, 2), 1 for an update at the time of the nugget; equation 22.

    Raises:
        UsageError: the step is not above 0.
    """
    require(step > 0, "a latency step above 0 s", step)
    return 1.0 - 2.0 / math.pi * math.atan((update_time - nugget_time) / step)


def up_to(updates: Sequence[Update], time: float) -> list[Update]:
    """S_tau, the updates pushed strictly before a time; equation 1."""
    return [update for update in updates if update.time < time]


def earliest_matches(updates: Sequence[Update]) -> dict[str, int]:
    """M(n, S): for each matched nugget, the position of its earliest update; equation 7.

    Among updates of the same second the one that was pushed first counts.
    """
    earliest: dict[str, int] = {}
    for position in sorted(range(len(updates)), key=lambda i: updates[i].time):
        for nugget in updates[position].matches:
            earliest.setdefault(nugget, position)
    return earliest


def verbosity(update: Update, earliest_for: Sequence[str], mean_nugget_words: float) -> float:
    """V(u), 1 plus the words that match nothing new in units of nuggets; equations 24 and 25.

    Args:
        update: The update.
        earliest_for: M^-1(u, S), the nuggets for which it is the earliest match; equation 8.
        mean_nugget_words: Mean length of the nuggets of the event, above 0.
    """
    matching = frozenset[int]().union(*(update.matches[nugget] for nugget in earliest_for))
    return 1.0 + (update.words - len(matching)) / mean_nugget_words


@dataclass(frozen=True, slots=True)
class EventMeasures:
    """The measures of one event with one gain function.

    Args:
        nuggets: N, by id; at least one.
        relevance: R(n) of each.
        latency_step: alpha of the latency discount in seconds; null for discount-free gain.
    """

    nuggets: Mapping[str, Nugget]
    relevance: Mapping[str, float]
    latency_step: float | None

    def gain(self, update: Update, nugget: str) -> float:
        """g_F or g_L of an update for a nugget; equations 4 and 5."""
        relevance = self.relevance[nugget]
        if self.latency_step is None:
            return relevance
        time = self.nuggets[nugget].time
        return relevance * latency_discount(time, update.time, self.latency_step)

    def gains(self, updates: Sequence[Update]) -> list[float]:
        """G(u, S) of each update; equation 9."""
        gains = [0.0] * len(updates)
        for nugget, position in sorted(earliest_matches(updates).items()):
            gains[position] += self.gain(updates[position], nugget)
        return gains

    def verbosities(self, updates: Sequence[Update]) -> list[float]:
        """V(u) of each update; equations 24 and 25."""
        mean_words = sum(n.words for n in self.nuggets.values()) / len(self.nuggets)
        earliest_for: list[list[str]] = [[] for _ in updates]
        for nugget, position in earliest_matches(updates).items():
            earliest_for[position].append(nugget)
        return [
            verbosity(update, nuggets, mean_words)
            for update, nuggets in zip(updates, earliest_for, strict=True)
        ]

    def scores(self, updates: Sequence[Update]) -> EventScores:
        """All measures of a set of updates; equations 10 to 16 and 26."""
        total = math.fsum(self.gains(updates))
        eg = total / len(updates) if updates else 0.0
        eg_v = total / math.fsum(self.verbosities(updates)) if updates else 0.0
        possible = math.fsum(self.relevance.values())
        c = total / possible if possible > 0.0 else None
        f = None if c is None else f_equation_26(eg_v, c)
        matched = len(earliest_matches(updates))
        return EventScores(len(updates), matched, eg, eg_v, c, f, None if f is None else 2.0 * f)

    def comprehensiveness_integral(
        self, updates: Sequence[Update], start: int, end: int
    ) -> float | None:
        """Integral of C_tau over [start, end] in seconds, exact; equation 18.

        C_tau only rises where an update is the earliest match of a nugget, so that the integral
        is a sum over steps. Null where no nugget is relevant.
        """
        possible = math.fsum(self.relevance.values())
        if not possible > 0.0:
            return None
        gains = zip(updates, self.gains(updates), strict=True)
        rises = sorted((min(max(update.time, start), end), gain) for update, gain in gains)
        edges = [time for time, _ in rises] + [end]
        height, area = 0.0, []
        for (_, gain), (left, right) in zip(rises, pairwise(edges), strict=True):
            height += gain
            area.append(height * (right - left))
        return math.fsum(area) / possible


def f_equation_26(expected_gain_verbosity: float, comprehensiveness: float) -> float:
    """F as printed in equation 26, half of a harmonic mean; 0 where both parts are 0."""
    both = expected_gain_verbosity + comprehensiveness
    return expected_gain_verbosity * comprehensiveness / both if both > 0.0 else 0.0
