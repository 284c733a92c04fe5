"""Measures of temporal summarization for one event.

Computes expected gain, comprehensiveness and F of the updates pushed by a system. Equation numbers
refer to Aslam et al., "TREC 2014 Temporal Summarization Track: Metrics" (2014).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from builder.evaluation.checks import require

LATENCY_STEP = 6 * 3600
"""Default latency step, alpha in equation 23, in seconds."""

Relevance: TypeAlias = Literal["graded", "binary"]
WordIndexes: TypeAlias = frozenset[int]
"""Zero-based indexes of words in the text of an update."""


@dataclass(frozen=True, slots=True)
class Nugget:
    """Piece of information that a summary should contain.

    Args:
        time: Time n.t, in Unix seconds.
        importance: Importance n.i, from 0 (none) to 3 (high).
        words: Number of words |n|, at least 1.
    """

    time: int
    importance: float
    words: int


@dataclass(frozen=True, slots=True)
class MatchedUpdate:
    """Update pushed by a system, with the nuggets that its words match.

    Args:
        time: Time u.t, in Unix seconds.
        words: Number of words |u|; the mean length of a nugget if the text is unknown.
        matches: Indexes of the words that match each nugget, by nugget id.
    """

    time: int
    words: float
    matches: Mapping[str, WordIndexes]


@dataclass(frozen=True, slots=True)
class EventScores:
    """Scores of a system for an event; None if a measure is undefined.

    Args:
        updates: Number of updates |S|.
        matched: Number of nuggets matched by at least one update.
        expected_gain: Expected gain EG (equations 10 and 11); 0 if there are no updates.
        expected_gain_verbosity: Expected gain normalized by verbosity, EG_V (equation 12); 0 if
            there are no updates.
        comprehensiveness: Comprehensiveness C (equations 15 and 16); None if no nugget is relevant.
        f_half_harmonic: F as printed in equation 26, without the factor 2 of a harmonic mean.
        f_harmonic: Harmonic mean of EG_V and C, i.e. 2 * f_half_harmonic.
    """

    updates: int
    matched: int
    expected_gain: float
    expected_gain_verbosity: float
    comprehensiveness: float | None
    f_half_harmonic: float | None
    f_harmonic: float | None


def graded_relevance(importance: float, max_importance: float) -> float:
    """Return the relevance exp(importance - max_importance) of a nugget (Aslam et al., eq. 19)."""
    return math.exp(importance - max_importance)


def binary_relevance(importance: float) -> float:
    """Return 1 if the importance of a nugget is above 0, else 0 (Aslam et al. 2014, eq. 20)."""
    return 1.0 if importance > 0 else 0.0


def latency_discount(
    nugget_time: int, update_time: int, latency_step: float = LATENCY_STEP
) -> float:
    """Return the latency discount of an update, between 0 and 2 (Aslam et al., eq. 22).

    The discount is 1 if the update has the time of the nugget, and falls with later times.

    Args:
        nugget_time: Time of the nugget in Unix seconds.
        update_time: Time of the update in Unix seconds.
        latency_step: Latency step alpha (equation 23), in seconds; above 0.

    Raises:
        UsageError: the latency step is not above 0.
    """
    require(latency_step > 0, "a latency step above 0 s", latency_step)
    return 1.0 - 2.0 / math.pi * math.atan((update_time - nugget_time) / latency_step)


def updates_before(updates: Sequence[MatchedUpdate], time: float) -> list[MatchedUpdate]:
    """Return the updates that were pushed strictly before a time (Aslam et al. 2014, eq. 1)."""
    return [update for update in updates if update.time < time]


def earliest_matches(updates: Sequence[MatchedUpdate]) -> dict[str, int]:
    """Return the index of the earliest update that matches each nugget (Aslam et al., eq. 7).

    Keys are nugget ids; values are indexes into `updates`. Of updates with equal times, the first
    in `updates` is used.
    """
    earliest: dict[str, int] = {}
    for index in sorted(range(len(updates)), key=lambda i: updates[i].time):
        for nugget in updates[index].matches:
            earliest.setdefault(nugget, index)
    return earliest


def verbosity(update: MatchedUpdate, new_nuggets: Sequence[str], mean_nugget_words: float) -> float:
    """Return the verbosity of an update, V(u) (Aslam et al. 2014, eq. 24 and 25).

    Args:
        update: Update to score.
        new_nuggets: Ids of the nuggets first matched by the update, M^-1(u, S) (equation 8).
        mean_nugget_words: Mean number of words per nugget of the event, above 0.
    """
    matching = frozenset[int]().union(*(update.matches[nugget] for nugget in new_nuggets))
    return 1.0 + (update.words - len(matching)) / mean_nugget_words


@dataclass(frozen=True, slots=True)
class EventMeasures:
    """Measures of one event, with discount-free or latency-discounted gain.

    Args:
        nuggets: Nuggets N by id; at least one.
        relevance: Relevance R(n) of every nugget, by id.
        latency_step: Latency step alpha in seconds; None for discount-free gain.
    """

    nuggets: Mapping[str, Nugget]
    relevance: Mapping[str, float]
    latency_step: float | None

    def gain(self, update: MatchedUpdate, nugget_id: str) -> float:
        """Return the gain of an update for a nugget, g_F or g_L (Aslam et al., eq. 4 and 5)."""
        relevance = self.relevance[nugget_id]
        if self.latency_step is None:
            return relevance
        time = self.nuggets[nugget_id].time
        return relevance * latency_discount(time, update.time, self.latency_step)

    def gains(self, updates: Sequence[MatchedUpdate]) -> list[float]:
        """Return the total gain of every update, G(u, S) (Aslam et al. 2014, eq. 9)."""
        gains = [0.0] * len(updates)
        for nugget, index in sorted(earliest_matches(updates).items()):
            gains[index] += self.gain(updates[index], nugget)
        return gains

    def verbosities(self, updates: Sequence[MatchedUpdate]) -> list[float]:
        """Return the verbosity of every update, V(u) (Aslam et al. 2014, eq. 24 and 25)."""
        mean_words = sum(n.words for n in self.nuggets.values()) / len(self.nuggets)
        new_nuggets: list[list[str]] = [[] for _ in updates]
        for nugget, index in earliest_matches(updates).items():
            new_nuggets[index].append(nugget)
        return [
            verbosity(update, nuggets, mean_words)
            for update, nuggets in zip(updates, new_nuggets, strict=True)
        ]

    def scores(self, updates: Sequence[MatchedUpdate]) -> EventScores:
        """Return all measures of a list of updates (Aslam et al. 2014, eq. 10 to 16 and 26)."""
        total = math.fsum(self.gains(updates))
        eg = total / len(updates) if updates else 0.0
        eg_v = total / math.fsum(self.verbosities(updates)) if updates else 0.0
        possible = math.fsum(self.relevance.values())
        c = total / possible if possible > 0.0 else None
        f = None if c is None else f_half_harmonic(eg_v, c)
        matched = len(earliest_matches(updates))
        return EventScores(len(updates), matched, eg, eg_v, c, f, None if f is None else 2.0 * f)

    def comprehensiveness_integral(
        self, updates: Sequence[MatchedUpdate], start: int, end: int
    ) -> float | None:
        """Return the integral of comprehensiveness over time in seconds (Aslam et al., eq. 18).

        Comprehensiveness is a step function of time, so the integral is an exact sum. It is None if
        no nugget is relevant.

        Args:
            updates: Updates pushed by a system.
            start: Start of the event in Unix seconds.
            end: End of the event in Unix seconds.
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


def f_half_harmonic(expected_gain_verbosity: float, comprehensiveness: float) -> float:
    """Return F as printed in equation 26: half the harmonic mean of EG_V and C."""
    both = expected_gain_verbosity + comprehensiveness
    return expected_gain_verbosity * comprehensiveness / both if both > 0.0 else 0.0
