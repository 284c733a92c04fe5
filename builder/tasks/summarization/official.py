"""The columns of the official scorer of the TREC Temporal Summarization track 2014.

In: the nuggets and the pool of an event, and the updates that a system pushed. Out: the 19 columns
that the scorer prints per event and system, and their means over events.

The scorer differs from the metrics document (Aslam et al. 2014) in details that change the numbers:

- Nuggets of importance 0 do not count. The relevance of a nugget is e^importance / e^3.
- Words are counted by spaces. Offsets of matches are counted in bytes. A span marks the words from
  the one before its first space to the one before its last space (`marked_words`).
- Of several matches of one nugget the first one counts, in the order of the matches file. Only
  those that match a new nugget mark words.
- An update that no assessor saw is one word long and matches nothing.
- The confidence of an update is 1 / rank, where rank is its position in the run file; the last
  field of the run is ignored.
- A quotient with denominator 0 is 0, and expected gain is divided by the sum of verbosities.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from builder.tasks.summarization.files import Event, JudgedNugget, Pushed
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
"""The measures of the scorer, in its order; the number of updates stands before them."""
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
    """What the scorer computes for an update.

    Args:
        gain: Relevance of the nuggets that it is the first to match.
        latency_gain: The same, each nugget multiplied by its latency discount.
        latency: Sum of the latency discounts.
        verbosity: 1 + unmarked words / mean words of a nugget.
        confidence: 1 / position in the run file.
    """

    gain: float
    latency_gain: float
    latency: float
    verbosity: float
    confidence: float


def official_table(
    events: Mapping[str, Event],
    systems: Mapping[str, Mapping[str, Sequence[Pushed]]],
    parameters: SummarizationParameters,
) -> pl.DataFrame:
    """Score every system for every event that it pushed an update for (`OFFICIAL_SCHEMA`).

    As in the scorer, events without a nugget of importance above 0 or without a pool have no row.

    Args:
        events: Events by id.
        systems: Pushed updates of each event of each system.
        parameters: Of these, relevance, unpooled and latency_step apply.
    """
    rows: list[dict[str, object]] = []
    for system, pushed in sorted(systems.items()):
        for name, event in sorted(events.items()):
            relevant = any(nugget.importance > 0 for nugget in event.nuggets.values())
            if pushed.get(name) and event.pool and relevant:
                scores = official_scores(event, pushed[name], parameters)
                rows.append({"system": system, "event": name, **scores})
    return pl.DataFrame(rows, schema=OFFICIAL_SCHEMA)


def official_means(table: pl.DataFrame) -> pl.DataFrame:
    """Means over the events of each system, best harmonic mean first (`OFFICIAL_MEAN_SCHEMA`)."""
    rows = [
        {"system": system, "events": group.height}
        | {name: math.fsum(group[name]) / group.height for name in ("updates", *COLUMNS)}
        for (system,), group in table.group_by("system", maintain_order=True)
    ]
    means = pl.DataFrame(rows, schema=OFFICIAL_MEAN_SCHEMA)
    return means.sort("harmonic_mean", "system", descending=[True, False])


def official_scores(
    event: Event, pushed: Sequence[Pushed], parameters: SummarizationParameters
) -> dict[str, float]:
    """Return the number of updates and `COLUMNS` of a system for an event.

    Args:
        event: An event with a nugget of importance above 0.
        pushed: Updates in the order of the run file.
        parameters: Of these, relevance, unpooled and latency_step apply.
    """
    nuggets = {name: n for name, n in event.nuggets.items() if n.importance > 0}
    relevance = {
        name: binary_relevance(nugget.importance)
        if parameters.relevance == "binary"
        else graded_relevance(nugget.importance, MAX_IMPORTANCE)
        for name, nugget in nuggets.items()
    }
    updates = list(_scored(event, nuggets, relevance, pushed, parameters))
    ideal = ideal_gain(list(relevance.values()), len(updates))
    possible = math.fsum(relevance.values())
    confidences = [update.confidence for update in updates]
    plain = _measures(updates, [1.0] * len(updates), 1.0, ideal, possible)
    biased = _measures(updates, confidences, math.fsum(confidences), ideal, possible)
    return {"updates": len(updates)} | dict(zip(COLUMNS, plain + biased, strict=True))


def ideal_gain(relevance: Sequence[float], updates: int) -> float:
    """Return the mean relevance of the best nuggets, as many as there are updates; all for none.

    Args:
        relevance: R of each nugget, at least one.
        updates: Number of updates pushed.
    """
    count = min(len(relevance), updates) or len(relevance)
    return math.fsum(sorted(relevance, reverse=True)[:count]) / count


def marked_words(text: bytes, start: int, end: int) -> range:
    """Return the numbers of the words that a match marks in the text of its update.

    Args:
        text: Text in UTF-8; word i follows the i-th space.
        start: First byte of the span, at least 0.
        end: First byte after the span, at least `start`.
    """
    first = max(0, text.rfind(b" ", 0, start + 1))
    last = text.find(b" ", end)
    return range(text.count(b" ", 0, first), text.count(b" ", 0, last if last >= 0 else None))


def _scored(
    event: Event,
    nuggets: Mapping[str, JudgedNugget],
    relevance: Mapping[str, float],
    pushed: Sequence[Pushed],
    parameters: SummarizationParameters,
) -> Iterator[ScoredUpdate]:
    """Score updates in order of time; of equal times the first one in the file comes first."""
    mean_words = sum(_words(nugget.text) for nugget in nuggets.values()) / len(nuggets)
    matched: set[str] = set()
    for rank in sorted(range(len(pushed)), key=lambda i: pushed[i].time):
        pooled = event.resolve(pushed[rank].update)
        if pooled is None and parameters.unpooled == "ignored":
            continue
        text = pooled.text.encode() if pooled else b""
        gains: list[float] = []
        discounts: list[float] = []
        marked: set[int] = set()
        for match in pooled.matches if pooled else ():
            if match.nugget in nuggets and match.nugget not in matched:
                matched.add(match.nugget)
                marked.update(marked_words(text, match.start, match.end))
                gains.append(relevance[match.nugget])
                time = nuggets[match.nugget].time
                discounts.append(latency_discount(time, pushed[rank].time, parameters.latency_step))
        unmarked = _words(pooled.text if pooled else "") - len(marked)
        yield ScoredUpdate(
            gain=math.fsum(gains),
            latency_gain=math.fsum(g * d for g, d in zip(gains, discounts, strict=True)),
            latency=math.fsum(discounts),
            verbosity=1.0 + unmarked / mean_words,
            confidence=1.0 / (1 + rank),
        )


def _measures(
    updates: Sequence[ScoredUpdate],
    weights: Sequence[float],
    total: float,
    ideal: float,
    possible: float,
) -> list[float]:
    """Return `MEASURES` with the updates weighted by weight / total."""

    def mean(values: Iterator[float]) -> float:
        weighted = (value * weight for value, weight in zip(values, weights, strict=True))
        return _ratio(math.fsum(weighted), total)

    gain = mean(update.gain for update in updates)
    latency_gain = mean(update.latency_gain for update in updates)
    verbosity = math.fsum(update.verbosity for update in updates)
    expected, expected_latency = _ratio(gain, verbosity), _ratio(latency_gain, verbosity)
    normalized = expected_latency / ideal
    comprehensiveness = latency_gain / possible
    return [
        expected,
        expected / ideal,
        expected_latency,
        normalized,
        gain / possible,
        comprehensiveness,
        _ratio(2 * normalized * comprehensiveness, normalized + comprehensiveness),
        _ratio(mean(update.verbosity for update in updates), len(updates)),
        _ratio(mean(update.latency for update in updates), len(updates)),
    ]


def _words(text: str) -> int:
    return text.count(" ") + 1


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0
