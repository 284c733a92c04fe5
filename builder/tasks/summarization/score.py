"""Scores temporal summaries of events by completeness, timeliness and brevity.

Computes expected gain (with and without normalization by verbosity), comprehensiveness and F per
system and event, each with discount-free and latency-discounted gain. The measures are also
computed over the first tau seconds of an event and averaged over events, and comprehensiveness is
integrated over time (equations 13, 14, 17 and 18).

`f_half_harmonic` is F as printed in equation 26; `f_harmonic` has the factor 2 of a harmonic mean,
as in the official scorer. Only the official measures divide expected gain by the gain of an ideal
system.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import polars as pl

from builder.errors import UsageError
from builder.evaluation.checks import require
from builder.tasks.summarization.files import (
    Event,
    PushedUpdate,
    read_events,
    read_nuggets,
    read_runs,
)
from builder.tasks.summarization.measures import (
    EventMeasures,
    MatchedUpdate,
    Nugget,
    binary_relevance,
    graded_relevance,
    updates_before,
)
from builder.tasks.summarization.official import official_event_scores, official_means
from builder.tasks.summarization.parameters import SummarizationParameters
from builder.tasks.summarization.pool import count_words, matching_word_indexes, read_pool

GAINS = ("free", "latency")
SCORES = (
    "expected_gain",
    "expected_gain_verbosity",
    "comprehensiveness",
    "f_half_harmonic",
    "f_harmonic",
)
INTEGRALS = ("comprehensiveness_integral", "comprehensiveness_integral_mean")


def _create_schema(
    string_columns: Sequence[str], integer_columns: Sequence[str], float_columns: Sequence[str]
) -> pl.Schema:
    """Return a schema with string, integer and float columns, in this order."""
    groups = (
        (string_columns, pl.String()),
        (integer_columns, pl.Int64()),
        (float_columns, pl.Float64()),
    )
    return pl.Schema([(name, dtype) for names, dtype in groups for name in names])


KEYS = ("system", "event", "gain")
EVENT_SCHEMA = _create_schema(KEYS, ("updates", "matched", "nuggets"), (*SCORES, *INTEGRALS))
TAU_SCHEMA = _create_schema(KEYS, ("tau", "updates", "matched"), SCORES)
IGNORED_SCHEMA = _create_schema(("reason",), ("lines",), ())
MEAN_KEYS = ("system", "gain")
MEAN_SCHEMA = _create_schema(MEAN_KEYS, ("events",), (*SCORES, *INTEGRALS))
TAU_MEAN_SCHEMA = _create_schema(MEAN_KEYS, ("tau", "events"), SCORES)


@dataclass(frozen=True, slots=True)
class SummarizationReport:
    """Scores of temporal summaries, per event and averaged over events.

    Args:
        official: Measures of the official scorer, one row per system and event for which the
            system pushed an update (`OFFICIAL_SCHEMA`).
        official_means: Means of `official` per system, by descending harmonic mean
            (`OFFICIAL_MEAN_SCHEMA`).
        events: One row per system, event and gain (`EVENT_SCHEMA`). `comprehensiveness_integral`
            is in seconds, and `comprehensiveness_integral_mean` is divided by the length of the
            event; both are null if there is no events file.
        taus: One row per system, event, gain and tau (`TAU_SCHEMA`).
        means: One row per system and gain: number of events, and the mean of every score over the
            events for which it is defined (`MEAN_SCHEMA`). A system without updates for an event
            scores 0 for the event.
        tau_means: One row per system, gain and tau: mean scores over the events with a known start
            (`TAU_MEAN_SCHEMA`).
        ignored: Number of ignored lines by reason: reason, lines.
        parameters: Parameters of the evaluation.
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
    """Evaluate runs of the TREC Temporal Summarization track; see `files` for the formats.

    Args:
        nuggets: File of the nuggets of all events.
        updates: File of pooled updates.
        matches: File of matches between pooled updates and nuggets.
        runs: Run files, each of one or more systems.
        events: File with start and end of each event; required for taus and integrals.
        parameters: Parameters of the evaluation; default `SummarizationParameters()`.

    Raises:
        FormatError: a line is malformed.
        UsageError: there is no nugget or system, a system is in two files, a system or the events
            file has no event with nuggets, or `parameters` has taus but there is no events file.
    """
    parameters = parameters or SummarizationParameters()
    if parameters.taus and events is None:
        raise UsageError("expected an events file, which taus require; found none")
    judged_events = read_nuggets(nuggets)
    require(bool(judged_events), "at least one nugget", str(nuggets))
    ignored = read_pool(judged_events, updates, matches)
    if events is not None:
        intervals = read_events(events)
        _require_judged_event("the start and end", judged_events, sorted(intervals))
        for name in judged_events.keys() & intervals.keys():
            judged_events[name].interval = intervals[name]
    systems = read_runs(runs)
    for system, pushed in systems.items():
        _require_judged_event(f"updates of {system}", judged_events, sorted(pushed))
    return score_summaries(judged_events, systems, parameters, ignored)


def _require_judged_event(
    description: str, judged_events: Mapping[str, Event], event_ids: Sequence[str]
) -> None:
    expected = f"{description} of events with nuggets, such as {min(judged_events)!r}"
    require(not judged_events.keys().isdisjoint(event_ids), expected, event_ids)


def score_summaries(
    events: Mapping[str, Event],
    systems: Mapping[str, Mapping[str, Sequence[PushedUpdate]]],
    parameters: SummarizationParameters,
    ignored: Mapping[str, int] | None = None,
) -> SummarizationReport:
    """Score temporal summaries that are already in memory.

    Args:
        events: Events by id.
        systems: Pushed updates by system and event.
        parameters: Parameters of the evaluation.
        ignored: Number of lines that the readers ignored, by reason; None if they ignored none.
    """
    counts = Counter(ignored or {})
    event_rows: list[dict[str, object]] = []
    tau_rows: list[dict[str, object]] = []
    for key, measures, updates in _iter_summaries(events, systems, parameters, counts):
        interval = events[key["event"]].interval
        event_rows.append(key | _score_event(measures, updates, interval))
        rows = _scores_by_tau(measures, updates, interval, parameters.taus)
        tau_rows.extend(key | row for row in rows)
    frame = pl.DataFrame(event_rows, schema=EVENT_SCHEMA)
    taus = pl.DataFrame(tau_rows, schema=TAU_SCHEMA)
    ignored_rows = sorted((+counts).items())
    official = official_event_scores(events, systems, parameters)
    return SummarizationReport(
        official=official,
        official_means=official_means(official),
        events=frame,
        taus=taus,
        means=_average_over_events(frame, MEAN_KEYS, MEAN_SCHEMA),
        tau_means=_average_over_events(taus, (*MEAN_KEYS, "tau"), TAU_MEAN_SCHEMA),
        ignored=pl.DataFrame(ignored_rows, schema=IGNORED_SCHEMA, orient="row"),
        parameters=parameters,
    )


def _iter_summaries(
    events: Mapping[str, Event],
    systems: Mapping[str, Mapping[str, Sequence[PushedUpdate]]],
    parameters: SummarizationParameters,
    ignored: Counter[str],
) -> Iterator[tuple[dict[str, str], EventMeasures, list[MatchedUpdate]]]:
    """Yield the key, measures and updates for every combination of system, event and gain.

    The key holds the names of the system, event and gain. Events without nuggets are skipped;
    `ignored` counts the updates for such events, and all unpooled updates.
    """
    nuggets = {name: _select_nuggets(event, parameters) for name, event in sorted(events.items())}
    for system, pushed in sorted(systems.items()):
        unknown = sum(len(lines) for name, lines in pushed.items() if not nuggets.get(name))
        ignored["update of a run for an event without nuggets"] += unknown
        for event, selected in nuggets.items():
            if not selected:
                continue
            lines = pushed.get(event, ())
            updates, unpooled = _match_updates(events[event], selected, lines, parameters)
            ignored[f"unpooled update: {parameters.unpooled}"] += unpooled
            for gain in GAINS:
                key = {"system": system, "event": event, "gain": gain}
                yield key, _create_event_measures(selected, gain, parameters), updates


def _select_nuggets(event: Event, parameters: SummarizationParameters) -> dict[str, Nugget]:
    """Return the nuggets of an event that are scored, by nugget id.

    Nuggets of importance 0 are omitted if `zero_importance` is `dropped`.
    """
    keep_all = parameters.zero_importance == "kept"
    return {
        name: Nugget(nugget.time, nugget.importance, count_words(nugget.text))
        for name, nugget in sorted(event.nuggets.items())
        if keep_all or nugget.importance > 0
    }


def _match_updates(
    event: Event,
    nuggets: Mapping[str, Nugget],
    pushed_updates: Sequence[PushedUpdate],
    parameters: SummarizationParameters,
) -> tuple[list[MatchedUpdate], int]:
    """Return a system's updates for an event with their matches, and the number of unpooled ones.

    Updates that are not in the pool are returned only if the parameter `unpooled` is `unmatched`.
    """
    mean_words = sum(nugget.words for nugget in nuggets.values()) / len(nuggets)
    updates, unpooled = [], 0
    for push in pushed_updates:
        pooled = event.find_pooled_update(push.update_id)
        if pooled is not None:
            matches = {
                n: words for n, words in matching_word_indexes(pooled).items() if n in nuggets
            }
            updates.append(MatchedUpdate(push.time, count_words(pooled.text), matches))
            continue
        unpooled += 1
        if parameters.unpooled == "unmatched":
            updates.append(MatchedUpdate(push.time, mean_words, {}))
    return updates, unpooled


def _create_event_measures(
    nuggets: Mapping[str, Nugget], gain: str, parameters: SummarizationParameters
) -> EventMeasures:
    """Create the measures of an event, with discount-free or latency-discounted gain."""
    max_importance = parameters.max_importance
    if max_importance is None:
        max_importance = max(nugget.importance for nugget in nuggets.values())
    relevance = {
        name: binary_relevance(nugget.importance)
        if parameters.relevance == "binary"
        else graded_relevance(nugget.importance, max_importance)
        for name, nugget in nuggets.items()
    }
    return EventMeasures(nuggets, relevance, parameters.latency_step if gain == "latency" else None)


def _score_event(
    measures: EventMeasures, updates: Sequence[MatchedUpdate], interval: tuple[int, int] | None
) -> dict[str, object]:
    """Return the scores of a system for an event, by column name."""
    row = asdict(measures.scores(updates)) | {"nuggets": len(measures.nuggets)}
    if interval is None:
        return row | dict.fromkeys(INTEGRALS)
    start, end = interval
    area = measures.comprehensiveness_integral(updates, start, end)
    mean = None if area is None else area / (end - start)
    return row | dict(zip(INTEGRALS, (area, mean), strict=True))


def _scores_by_tau(
    measures: EventMeasures,
    updates: Sequence[MatchedUpdate],
    interval: tuple[int, int] | None,
    taus: Sequence[int],
) -> Iterator[dict[str, object]]:
    """Yield the scores over the first tau seconds of an event, for each tau."""
    if interval is None:
        return
    for tau in taus:
        yield {"tau": tau} | asdict(measures.scores(updates_before(updates, interval[0] + tau)))


def _average_over_events(
    event_scores: pl.DataFrame, group_columns: Sequence[str], schema: pl.Schema
) -> pl.DataFrame:
    """Return the mean of each measure over the events of each group (Aslam et al., eq. 13)."""
    rows = []
    measures = [
        name for name in schema if name in event_scores.columns and name not in group_columns
    ]
    for key, group in event_scores.sort(*group_columns, "event").group_by(
        *group_columns, maintain_order=True
    ):
        defined = {name: group[name].drop_nulls().to_list() for name in measures}
        means = {name: fmean(values) if values else None for name, values in defined.items()}
        rows.append(dict(zip(group_columns, key, strict=True)) | {"events": group.height} | means)
    return pl.DataFrame(rows, schema=schema)
