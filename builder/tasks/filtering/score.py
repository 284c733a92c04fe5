"""How well a system filters a stream of documents, in each batch of time.

In: truth and runs in KBA format. Out: per system, confidence cut-off and batch the counts and the
measures of Kenter, Balog, de Rijke (2015), section 4: precision, recall, F_pr, aptness
zeta / (zeta + FP) (equation 1) and F_pra, the harmonic mean of those of precision, recall and
aptness that are defined (equation 2).

Where a batch has no relevant document, precision and recall are undefined (null), however much the
run returns; then F_pra is aptness. Precision of a target with relevant documents of which the run
returned nothing is 0. Macro-averages divide precision and recall by the targets with relevant
documents in the batch, aptness by those and the targets of the run together (section 4.3); F_pr and
F_pra are means of the averages (section 6.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.tasks.filtering.batches import Batches, Seconds, time_batches
from builder.tasks.filtering.kba import FilteringRun, Truth, read_filtering_run, read_truth
from builder.tasks.filtering.measures import MEASURES, TargetCounts, batch_measures
from builder.tasks.filtering.official import official_averages, official_best
from builder.tasks.filtering.parameters import FilteringParameters

BATCH_SCHEMA = {
    "system": pl.String,
    "cutoff": pl.Float64,
    "batch": pl.Int64,
    "documents": pl.Int64,
    "targets_true": pl.Int64,
    "targets": pl.Int64,
    "tp": pl.Int64,
    "fp": pl.Int64,
    "fn": pl.Int64,
    **dict.fromkeys(MEASURES, pl.Float64),
}


@dataclass(frozen=True, slots=True)
class FilteringResult:
    """Scores of filtering runs.

    Args:
        batches: One row per system, cut-off and batch (`BATCH_SCHEMA`); `batch` is the first unix
            second of the batch, `documents` counts documents returned or relevant (the weight
            of the batch), tp, fp and fn count (document, target) pairs.
        whole: The same with the whole period as one batch: the measure without time.
        official: The maxima of the official averages per system (`OFFICIAL_BEST_SCHEMA`).
        official_cutoffs: The official averages per system and cut-off (`OFFICIAL_SCHEMA`).
        runs: One row per system: lines read, left out by reason, pairs that count.
        grid: The batches.
        parameters: What it was computed with.
    """

    batches: pl.DataFrame
    whole: pl.DataFrame
    official: pl.DataFrame
    official_cutoffs: pl.DataFrame
    runs: pl.DataFrame
    grid: Batches
    parameters: FilteringParameters


def evaluate_filtering(
    truth: Path, runs: Sequence[Path], parameters: FilteringParameters | None = None
) -> FilteringResult:
    """Score filtering runs against truth.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One file for each system.
        parameters: How to score; default `FilteringParameters()`.

    Raises:
        FormatError: a line of a file is not an assertion.
        UsageError: no run, two runs with one name, or a period without batches.
    """
    chosen = parameters or FilteringParameters()
    judged = read_truth(truth, chosen.relevance, chosen.assessors)
    systems = [read_filtering_run(path, chosen.relevance) for path in runs]
    return score_filtering(judged, systems, chosen)


def score_filtering(
    truth: Truth, runs: Sequence[FilteringRun], parameters: FilteringParameters
) -> FilteringResult:
    """Score runs that have been read; see `evaluate_filtering`.

    All systems share one period, so that their last batch is the same instant.
    """
    names = [run.system for run in runs]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"expected one or more runs with different file names, found {names}")
    start, end = _period([truth.pairs, *(run.pairs for run in runs)], parameters)
    grid = time_batches(start, end, parameters.granularity)
    whole = Batches(grid.edges[[0, -1]], None)
    matched = [_Matched.of(truth, run, (start, end), parameters) for run in runs]
    official = official_averages(truth, runs, parameters)
    return FilteringResult(
        official=official_best(official),
        official_cutoffs=official,
        batches=_score(matched, grid, parameters),
        whole=_score(matched, whole, parameters),
        runs=pl.DataFrame([item.account for item in matched]).sort("system"),
        grid=grid,
        parameters=parameters,
    )


def _period(tables: Sequence[pl.DataFrame], parameters: FilteringParameters) -> tuple[int, int]:
    times = pl.concat([table["time"] for table in tables])
    if parameters.start is not None and parameters.end is not None:
        return parameters.start, parameters.end
    if times.is_empty():
        raise UsageError("truth and runs hold no document: give the start and end of the period")
    first, last = times.sort()[[0, -1]].to_list()
    start = first if parameters.start is None else parameters.start
    return start, last + 1 if parameters.end is None else parameters.end


@dataclass(frozen=True, slots=True)
class _Matched:
    """Returned pairs of one system beside the relevant ones, within the period."""

    system: str
    returned: pl.DataFrame
    """document, target, time, confidence, hit (the pair is relevant)"""
    relevant: pl.DataFrame
    """document, target, time"""
    account: dict[str, str | int]

    @classmethod
    def of(
        cls,
        truth: Truth,
        run: FilteringRun,
        period: tuple[int, int],
        parameters: FilteringParameters,
    ) -> "_Matched":
        inside = pl.col("time").is_between(*period, closed="left")
        pairs = run.pairs.filter(inside)
        verdicts = truth.pairs.select("document", "target", "relevant")
        joined = pairs.join(verdicts, on=["document", "target"], how="left", maintain_order="left")
        unjudged = joined["relevant"].null_count()
        if parameters.unjudged == "ignored":
            joined = joined.filter(pl.col("relevant").is_not_null())
        account: dict[str, str | int] = {
            "system": run.system,
            "lines": run.lines,
            "below_rating": run.below_rating,
            "repeated": run.repeated,
            "outside_period": run.pairs.height - pairs.height,
            "unjudged": unjudged,
            "pairs": joined.height,
        }
        relevant = truth.pairs.filter(inside & pl.col("relevant")).select(
            "document", "target", "time"
        )
        hits = joined.with_columns(hit=pl.col("relevant").fill_null(value=False)).drop("relevant")
        return cls(run.system, hits, relevant, account)


def _score(
    systems: Sequence[_Matched], grid: Batches, parameters: FilteringParameters
) -> pl.DataFrame:
    frames = [
        _score_cutoff(system, cutoff, grid, parameters)
        for system in systems
        for cutoff in sorted(set(parameters.cutoffs))
    ]
    return pl.concat(frames).sort("system", "cutoff", "batch")


def _score_cutoff(
    system: _Matched, cutoff: float, grid: Batches, parameters: FilteringParameters
) -> pl.DataFrame:
    confidence = pl.col("confidence")
    above = confidence > cutoff if parameters.cutoff_rule == "above" else confidence >= cutoff
    returned = system.returned.filter(above)
    counts = _target_counts(_numbered(returned, grid), _numbered(system.relevant, grid))
    documents = _documents(_numbered(returned, grid), _numbered(system.relevant, grid), grid)
    rows = _batch_rows(counts, len(grid.starts), parameters)
    return pl.DataFrame(
        {
            "system": [system.system] * len(rows),
            "cutoff": [cutoff] * len(rows),
            "batch": grid.starts,
            "documents": documents,
            **{name: [row[name] for row in rows] for name in rows[0]},
        },
        schema=BATCH_SCHEMA,
    )


def _numbered(pairs: pl.DataFrame, grid: Batches) -> pl.DataFrame:
    return pairs.with_columns(number=grid.index(pairs["time"].to_numpy()))


def _documents(returned: pl.DataFrame, relevant: pl.DataFrame, grid: Batches) -> Seconds:
    """Documents returned or relevant in each batch."""
    both = pl.concat([part.select("number", "document") for part in (returned, relevant)])
    numbers = both.unique()["number"].to_numpy()
    return np.bincount(numbers, minlength=len(grid.starts)).astype(np.int64)


def _target_counts(returned: pl.DataFrame, relevant: pl.DataFrame) -> pl.DataFrame:
    """number, tp, fp, true (relevant documents) of each target in each batch, in order."""
    keys = ["number", "target"]
    hit = pl.col("hit")
    found = returned.group_by(keys).agg(tp=hit.sum(), fp=hit.not_().sum())
    wanted = relevant.group_by(keys).agg(true=pl.len())
    joined = found.join(wanted, on=keys, how="full", coalesce=True)
    counts = pl.col("tp", "fp", "true").fill_null(0).cast(pl.Int64)
    return joined.with_columns(counts).sort(keys)


def _batch_rows(
    counts: pl.DataFrame, batches: int, parameters: FilteringParameters
) -> list[dict[str, float | int | None]]:
    targets: list[list[TargetCounts]] = [[] for _ in range(batches)]
    for number, tp, fp, true in counts.select("number", "tp", "fp", "true").iter_rows():
        targets[number].append((tp, fp, true))
    return [batch_measures(batch, parameters.average, parameters.zeta) for batch in targets]
