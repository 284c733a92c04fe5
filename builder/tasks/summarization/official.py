"""Measures of the official scorer of the TREC 2014 Temporal Summarization track.

Computes the 19 columns printed by the scorer per system and event, and their means over events.
The scorer differs from the metrics document (Aslam et al. 2014) in details that affect the scores:

- Nuggets of importance 0 are ignored. The relevance of a nugget is e^importance / e^3.
- Words are separated by single spaces, and offsets of matches are in bytes. A match marks the words
  of its span shifted by one word to the left (`marked_word_indexes`).
- Only the first match of a nugget counts and marks words: the earliest update, and within an update
  the first line of the matches file.
- An unpooled update consists of one word and has no matches.
- The confidence of an update is 1 / rank, where rank is its line number among the updates of the
  system for the event; the last field of the run is ignored.
- Quotients with denominator 0 are 0, and expected gain is divided by the sum of verbosities.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from builder.tasks.summarization.files import Event, JudgedNugget, PushedUpdate
from builder.tasks.summarization.measures import (
    binary_relevance,
    graded_relevance,
    latency_discount,
)
from builder.tasks.summarization.parameters import SummarizationParameters

MAX_IMPORTANCE = 3
MEASURES = (
    "expected_gain",
    "normalized_expected_gain",
    "expected_latency_gain",
    "normalized_expected_latency_gain",
    "comprehensiveness",
    "latency_comprehensiveness",
    "harmonic_mean",
    "expected_verbosity",
    "expected_latency",
)
COLUMNS = (*MEASURES, *(f"confidence_biased_{name}" for name in MEASURES))
"""Columns that the official scorer prints after the number of updates, in printed order."""
OFFICIAL_SCHEMA = pl.Schema(
    {"system": pl.String(), "event": pl.String(), "updates": pl.Int64()}
    | dict.fromkeys(COLUMNS, pl.Float64())
)
OFFICIAL_MEAN_SCHEMA = pl.Schema(
    {"system": pl.String(), "events": pl.Int64()}
    | dict.fromkeys(("updates", *COLUMNS), pl.Float64())
)


@dataclass(frozen=True, slots=True)
class ScoredUpdate:
    """Scores of one update in the official scorer.

    Args:
        gain: Sum of the relevance of the nuggets that are first matched by the update.
        latency_gain: Sum of relevance times latency discount of the nuggets first matched by the
            update.
        latency: Sum of the latency discounts of the nuggets first matched by the update.
        verbosity: 1 + (number of unmarked words in the update) / (mean number of words per nugget).
        confidence: 1 / rank of the update in the run file.
    """

    gain: float
    latency_gain: float
    latency: float
    verbosity: float
    confidence: float


def official_event_scores(
    events: Mapping[str, Event],
    systems: Mapping[str, Mapping[str, Sequence[PushedUpdate]]],
    parameters: SummarizationParameters,
) -> pl.DataFrame:
    """Return the official scores, one row per system and event.

    As in the scorer, events without a pool or without a nugget of importance above 0 are skipped.

    Args:
        events: Events by id.
        systems: Pushed updates by system and event.
        parameters: Parameters, of which only `relevance`, `unpooled` and `latency_step` are used.
    """
    rows: list[dict[str, object]] = []
    for system, pushed in sorted(systems.items()):
        for name, event in sorted(events.items()):
            relevant = any(nugget.importance > 0 for nugget in event.nuggets.values())
            if pushed.get(name) and event.pool and relevant:
                scores = official_scores(event, pushed[name], parameters)
                rows.append({"system": system, "event": name, **scores})
    return pl.DataFrame(rows, schema=OFFICIAL_SCHEMA)


def official_means(event_scores: pl.DataFrame) -> pl.DataFrame:
    """Return each system's mean official scores over events; the best system is first.

    Args:
        event_scores: Table returned by `official_event_scores`.
    """
    rows = [
        {"system": system, "events": group.height}
        | {name: math.fsum(group[name]) / group.height for name in ("updates", *COLUMNS)}
        for (system,), group in event_scores.group_by("system", maintain_order=True)
    ]
    means = pl.DataFrame(rows, schema=OFFICIAL_MEAN_SCHEMA)
    return means.sort("harmonic_mean", "system", descending=[True, False])


def official_scores(
    event: Event, pushed_updates: Sequence[PushedUpdate], parameters: SummarizationParameters
) -> dict[str, float]:
    """Return the number of updates and the official scores of a system for one event, by column.

    Args:
        event: Event with at least one nugget of importance above 0.
        pushed_updates: Updates of the system for the event, in file order.
        parameters: Parameters, of which only `relevance`, `unpooled` and `latency_step` are used.
    """
    nuggets = {name: n for name, n in event.nuggets.items() if n.importance > 0}
    relevance = {
        name: binary_relevance(nugget.importance)
        if parameters.relevance == "binary"
        else graded_relevance(nugget.importance, MAX_IMPORTANCE)
        for name, nugget in nuggets.items()
    }
    updates = list(_score_updates(event, nuggets, relevance, pushed_updates, parameters))
    ideal = ideal_gain(list(relevance.values()), len(updates))
    possible = math.fsum(relevance.values())
    confidences = [update.confidence for update in updates]
    plain = _compute_measures(updates, [1.0] * len(updates), 1.0, ideal, possible)
    biased = _compute_measures(updates, confidences, math.fsum(confidences), ideal, possible)
    return {"updates": len(updates)} | dict(zip(COLUMNS, plain + biased, strict=True))


def ideal_gain(relevances: Sequence[float], n_updates: int) -> float:
    """Return the mean relevance of the `n_updates` most relevant nuggets.

    All nuggets are used if there are fewer than `n_updates` nuggets, or if `n_updates` is 0.

    Args:
        relevances: Relevance of every nugget; at least one nugget.
        n_updates: Number of updates pushed.
    """
    count = min(len(relevances), n_updates) or len(relevances)
    return math.fsum(sorted(relevances, reverse=True)[:count]) / count


def marked_word_indexes(text: bytes, start: int, end: int) -> range:
    """Return the indexes of the words that a match marks in the text of an update.

    As in the official scorer, every index is too low by 1: if the span contains words 3 and 4, the
    words 2 and 3 are marked.

    Args:
        text: Text in UTF-8; word i follows the i-th space.
        start: First byte of the span, at least 0.
        end: First byte after the span, at least `start`.
    """
    first = max(0, text.rfind(b" ", 0, start + 1))
    last = text.find(b" ", end)
    return range(text.count(b" ", 0, first), text.count(b" ", 0, last if last >= 0 else None))


def _score_updates(
    event: Event,
    nuggets: Mapping[str, JudgedNugget],
    relevance: Mapping[str, float],
    pushed_updates: Sequence[PushedUpdate],
    parameters: SummarizationParameters,
) -> Iterator[ScoredUpdate]:
    """Yield the scores of a system's updates in chronological order.

    Unpooled updates are left out if the parameter `unpooled` is `ignored`.
    """
    mean_words = sum(_count_words(nugget.text) for nugget in nuggets.values()) / len(nuggets)
    matched: set[str] = set()
    for rank in sorted(range(len(pushed_updates)), key=lambda i: pushed_updates[i].time):
        pooled = event.find_pooled_update(pushed_updates[rank].update_id)
        if pooled is None and parameters.unpooled == "ignored":
            continue
        text = pooled.text.encode() if pooled else b""
        gains: list[float] = []
        discounts: list[float] = []
        marked: set[int] = set()
        for match in pooled.matches if pooled else ():
            if match.nugget in nuggets and match.nugget not in matched:
                matched.add(match.nugget)
                marked.update(marked_word_indexes(text, match.start, match.end))
                gains.append(relevance[match.nugget])
                time = nuggets[match.nugget].time
                discounts.append(
                    latency_discount(time, pushed_updates[rank].time, parameters.latency_step)
                )
        unmarked = _count_words(pooled.text if pooled else "") - len(marked)
        yield ScoredUpdate(
            gain=math.fsum(gains),
            latency_gain=math.fsum(g * d for g, d in zip(gains, discounts, strict=True)),
            latency=math.fsum(discounts),
            verbosity=1.0 + unmarked / mean_words,
            confidence=1.0 / (1 + rank),
        )


def _compute_measures(
    updates: Sequence[ScoredUpdate],
    weights: Sequence[float],
    total_weight: float,
    ideal_gain: float,
    total_relevance: float,
) -> list[float]:
    """Return the official measures, computed from weighted sums over the updates.

    Args:
        updates: Scores of the updates.
        weights: Weight of each update in the sums.
        total_weight: Divisor of the weighted sums.
        ideal_gain: Mean relevance of the best nuggets, as returned by the function `ideal_gain`.
        total_relevance: Sum of the relevance of all nuggets.
    """

    def weighted_sum(values: Iterator[float]) -> float:
        weighted = (value * weight for value, weight in zip(values, weights, strict=True))
        return _ratio(math.fsum(weighted), total_weight)

    gain = weighted_sum(update.gain for update in updates)
    latency_gain = weighted_sum(update.latency_gain for update in updates)
    verbosity = math.fsum(update.verbosity for update in updates)
    expected, expected_latency = _ratio(gain, verbosity), _ratio(latency_gain, verbosity)
    normalized = expected_latency / ideal_gain
    comprehensiveness = latency_gain / total_relevance
    return [
        expected,
        expected / ideal_gain,
        expected_latency,
        normalized,
        gain / total_relevance,
        comprehensiveness,
        _ratio(2 * normalized * comprehensiveness, normalized + comprehensiveness),
        _ratio(weighted_sum(update.verbosity for update in updates), len(updates)),
        _ratio(weighted_sum(update.latency for update in updates), len(updates)),
    ]


def _count_words(text: str) -> int:
    """Return the number of words in a text, where words are separated by single spaces."""
    return text.count(" ") + 1


def _ratio(numerator: float, denominator: float) -> float:
    """Return the quotient of two numbers; 0 if the denominator is 0."""
    return numerator / denominator if denominator else 0.0
