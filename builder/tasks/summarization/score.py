"""Temporal summarisation: how much of an event a system tells, how soon and how briefly.

In: nuggets, pooled updates, matches and runs of the TREC Temporal Summarization track. Out: for
each system and event, with discount-free and with latency-discounted gain, expected gain, its
verbosity-normalised form, comprehensiveness and F; all of them also for the first tau seconds, the
integral of comprehensiveness over the event, and means over events (equations 13, 14, 17, 18).

Two things are said of F: `f_equation_26` is the formula as printed, `f_harmonic` has the factor 2
of a harmonic mean, as in the official scorer (which divides EG by that of an ideal system first).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import polars as pl

from builder.evaluation.checks import require
from builder.tasks.summarization.files import (
    Event,
    Pushed,
    read_all_summaries,
    read_events,
    read_nuggets,
)
from builder.tasks.summarization.measures import (
    EventMeasures,
    Nugget,
    Update,
    binary_relevance,
    graded_relevance,
    up_to,
)
from builder.tasks.summarization.official import official_means, official_table
from builder.tasks.summarization.parameters import SummarizationParameters
from builder.tasks.summarization.pool import matched_words, read_pool, word_count

GAINS = ("free", "latency")
SCORES = (
    "expected_gain",
    "expected_gain_verbosity",
    "comprehensiveness",
    "f_equation_26",
    "f_harmonic",
)
INTEGRALS = ("comprehensiveness_integral", "comprehensiveness_integral_mean")


def _schema(texts: Sequence[str], counts: Sequence[str], scores: Sequence[str]) -> pl.Schema:
    kinds = ((texts, pl.String()), (counts, pl.Int64()), (scores, pl.Float64()))
    return pl.Schema([(name, kind) for names, kind in kinds for name in names])


KEYS = ("system", "event", "gain")
EVENT_SCHEMA = _schema(KEYS, ("updates", "matched", "nuggets"), (*SCORES, *INTEGRALS))
TAU_SCHEMA = _schema(KEYS, ("tau", "updates", "matched"), SCORES)
IGNORED_SCHEMA = _schema(("reason",), ("lines",), ())
MEAN_KEYS = ("system", "gain")
MEAN_SCHEMA = _schema(MEAN_KEYS, ("events",), (*SCORES, *INTEGRALS))
TAU_MEAN_SCHEMA = _schema(MEAN_KEYS, ("tau", "events"), SCORES)


@dataclass(frozen=True, slots=True)
class SummarizationReport:
    """Scores of summaries.

    Args:
        official: The columns of the official scorer, one row per system and event for which it
            pushed an update (`OFFICIAL_SCHEMA`).
        official_means: Their means per system, best harmonic mean first (`OFFICIAL_MEAN_SCHEMA`).
        events: One row per system, event and gain (`EVENT_SCHEMA`). Integrals are in seconds, or
            divided by the length of the event; null without an events file.
        taus: One row per system, event, gain and tau (`TAU_SCHEMA`).
        means: One row per system and gain: events, and the mean of each score over the events in
            which it is defined; a system scores 0 where it pushed nothing.
        tau_means: The same per system, gain and tau, over events whose start is known.
        ignored: reason, lines: what was read and left out.
        parameters: What it was computed with.
    """

    official: pl.DataFrame
    official_means: pl.DataFrame
    events: pl.DataFrame
    taus: pl.DataFrame
    means: pl.DataFrame
    tau_means: pl.DataFrame
    ignored: pl.DataFrame
    parameters: SummarizationParameters


def evaluate_summaries(
    nuggets: Path,
    updates: Path,
    matches: Path,
    runs: Sequence[Path],
    events: Path | None = None,
    parameters: SummarizationParameters | None = None,
) -> SummarizationReport:
    """Score temporal summaries.

    Args:
        nuggets: Nuggets of all events.
        updates: Pooled updates.
        matches: Matches of pooled updates with nuggets.
        runs: Run files, of one or more systems each.
        events: Start and end of each event, for tau and the integral.
        parameters: How to score; default `SummarizationParameters()`.

    Raises:
        FormatError: a line of a file is not what it should be.
        UsageError: a system comes in two files, there is none, or taus lack an events file.
    """
    chosen = parameters or SummarizationParameters()
    require(not chosen.taus or events is not None, "an events file for taus", chosen.taus)
    known = read_nuggets(nuggets)
    ignored = read_pool(known, updates, matches)
    if events is not None:
        for name, interval in read_events(events).items():
            if name in known:
                known[name].interval = interval
    return score_summaries(known, read_all_summaries(runs), chosen, ignored)


def score_summaries(
    events: Mapping[str, Event],
    systems: Mapping[str, Mapping[str, Sequence[Pushed]]],
    parameters: SummarizationParameters,
    ignored: Mapping[str, int] | None = None,
) -> SummarizationReport:
    """Score what has been read; see `evaluate_summaries`.

    Args:
        events: Events by id.
        systems: Pushed updates of each event of each system.
        parameters: How to score.
        ignored: What was left out so far, by reason.
    """
    counts = Counter(ignored or {})
    scored: list[dict[str, object]] = []
    over_time: list[dict[str, object]] = []
    for key, measures, updates in _summaries(events, systems, parameters, counts):
        interval = events[key["event"]].interval
        scored.append(key | _event_row(measures, updates, interval))
        rows = _tau_rows(measures, updates, interval, parameters.taus)
        over_time.extend(key | row for row in rows)
    frame = pl.DataFrame(scored, schema=EVENT_SCHEMA)
    taus = pl.DataFrame(over_time, schema=TAU_SCHEMA)
    left_out = sorted((+counts).items())
    official = official_table(events, systems, parameters)
    return SummarizationReport(
        official=official,
        official_means=official_means(official),
        events=frame,
        taus=taus,
        means=_means(frame, MEAN_KEYS, MEAN_SCHEMA),
        tau_means=_means(taus, (*MEAN_KEYS, "tau"), TAU_MEAN_SCHEMA),
        ignored=pl.DataFrame(left_out, schema=IGNORED_SCHEMA, orient="row"),
        parameters=parameters,
    )


def _summaries(
    events: Mapping[str, Event],
    systems: Mapping[str, Mapping[str, Sequence[Pushed]]],
    parameters: SummarizationParameters,
    counts: Counter[str],
) -> Iterator[tuple[dict[str, str], EventMeasures, list[Update]]]:
    """Every system with every event that has nuggets, with either gain."""
    nuggets = {name: _counted_nuggets(event, parameters) for name, event in sorted(events.items())}
    for system, pushed in sorted(systems.items()):
        unknown = sum(len(lines) for name, lines in pushed.items() if not nuggets.get(name))
        counts["update of a run for an event without nuggets"] += unknown
        for event, counted in nuggets.items():
            if not counted:
                continue
            updates, unpooled = _updates(events[event], counted, pushed.get(event, ()), parameters)
            counts[f"update that is not pooled: {parameters.unpooled}"] += unpooled
            for gain in GAINS:
                key = {"system": system, "event": event, "gain": gain}
                yield key, _measures(counted, gain, parameters), updates


def _counted_nuggets(event: Event, parameters: SummarizationParameters) -> dict[str, Nugget]:
    kept = parameters.zero_importance == "kept"
    return {
        name: Nugget(nugget.time, nugget.importance, word_count(nugget.text))
        for name, nugget in sorted(event.nuggets.items())
        if kept or nugget.importance > 0
    }


def _updates(
    event: Event,
    nuggets: Mapping[str, Nugget],
    pushed: Sequence[Pushed],
    parameters: SummarizationParameters,
) -> tuple[list[Update], int]:
    """The updates of a system for an event, and how many of them no assessor saw."""
    mean_words = sum(nugget.words for nugget in nuggets.values()) / len(nuggets)
    updates, unpooled = [], 0
    for push in pushed:
        pooled = event.resolve(push.update)
        if pooled is not None:
            matches = {n: words for n, words in matched_words(pooled).items() if n in nuggets}
            updates.append(Update(push.time, word_count(pooled.text), matches))
            continue
        unpooled += 1
        if parameters.unpooled == "unmatched":
            updates.append(Update(push.time, mean_words, {}))
    return updates, unpooled


def _measures(
    nuggets: Mapping[str, Nugget], gain: str, parameters: SummarizationParameters
) -> EventMeasures:
    largest = parameters.max_importance
    if largest is None:
        largest = max(nugget.importance for nugget in nuggets.values())
    relevance = {
        name: binary_relevance(nugget.importance)
        if parameters.relevance == "binary"
        else graded_relevance(nugget.importance, largest)
        for name, nugget in nuggets.items()
    }
    return EventMeasures(nuggets, relevance, parameters.latency_step if gain == "latency" else None)


def _event_row(
    measures: EventMeasures, updates: Sequence[Update], interval: tuple[int, int] | None
) -> dict[str, object]:
    row = asdict(measures.scores(updates)) | {"nuggets": len(measures.nuggets)}
    if interval is None:
        return row | dict.fromkeys(INTEGRALS)
    start, end = interval
    area = measures.comprehensiveness_integral(updates, start, end)
    mean = None if area is None else area / (end - start)
    return row | dict(zip(INTEGRALS, (area, mean), strict=True))


def _tau_rows(
    measures: EventMeasures,
    updates: Sequence[Update],
    interval: tuple[int, int] | None,
    taus: Sequence[int],
) -> Iterator[dict[str, object]]:
    """EG, EG_V, C and F of S_tau; equations 14 and 17."""
    if interval is None:
        return
    for tau in taus:
        yield {"tau": tau} | asdict(measures.scores(up_to(updates, interval[0] + tau)))


def _means(scored: pl.DataFrame, keys: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    """Means over events; equation 13 for expected gain, and alike for the others."""
    rows = []
    measures = [name for name in schema if name in scored.columns and name not in keys]
    for key, group in scored.sort(*keys, "event").group_by(*keys, maintain_order=True):
        defined = {name: group[name].drop_nulls().to_list() for name in measures}
        means = {name: fmean(values) if values else None for name, values in defined.items()}
        rows.append(dict(zip(keys, key, strict=True)) | {"events": group.height} | means)
    return pl.DataFrame(rows, schema=schema)
