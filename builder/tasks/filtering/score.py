"""Evaluates filtering runs per time batch with the measures of Kenter, Balog and de Rijke (2015).

Measures per system, confidence cut-off and batch (section 4): precision, recall, F_pr, aptness
zeta / (zeta + FP) (equation 1) and F_pra, the harmonic mean of precision, recall and aptness
(equation 2).

In batches without relevant documents, precision and recall are undefined (null), and F_pra equals
aptness. The precision of a target is 0 if it has relevant documents but none are returned.
Macro-averaged precision and recall are means over the targets with relevant documents in the
batch; macro-averaged aptness also includes the targets returned by the run (section 4.3). F_pr and
F_pra are harmonic means of these averages (section 6.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import UsageError
from builder.tasks.filtering.batches import TimeBatches, create_time_batches
from builder.tasks.filtering.kba import FilteringRun, FilteringTruth, read_filtering_run, read_truth
from builder.tasks.filtering.measures import MEASURES, TargetCounts, compute_batch_measures
from builder.tasks.filtering.official import best_official_averages, official_averages
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
    """Scores of filtering runs, per time batch and over the whole period.

    Args:
        batches: One row per system, cut-off and batch (`BATCH_SCHEMA`); `batch` is the
            start of the batch in Unix seconds; `documents`, the number of returned or relevant
            documents, is the weight of the batch; tp, fp and fn count (document, target) pairs.
        whole: Scores over the whole period as a single batch (`BATCH_SCHEMA`).
        official: Maxima of the official averages per system (`OFFICIAL_BEST_SCHEMA`).
        official_cutoffs: Official averages per system and cut-off (`OFFICIAL_SCHEMA`).
        runs: One row per system: number of lines, of lines ignored for each reason, and of
            evaluated pairs.
        max_confidences: Highest confidence of each system; None if it returns no document.
        time_batches: Time batches of the rows in `batches`.
        parameters: Parameters of the evaluation.
    """

    batches: pl.DataFrame
    whole: pl.DataFrame
    official: pl.DataFrame
    official_cutoffs: pl.DataFrame
    runs: pl.DataFrame
    max_confidences: dict[str, float | None]
    time_batches: TimeBatches
    parameters: FilteringParameters


def evaluate_filtering(
    truth: Path, runs: Sequence[Path], parameters: FilteringParameters | None = None
) -> FilteringResult:
    """Evaluate filtering runs against a truth file.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One run file per system.
        parameters: Parameters of the evaluation; default `FilteringParameters()`.

    Raises:
        FormatError: a line is malformed.
        UsageError: there is no run, two runs have the same name, or the period is empty.
    """
    parameters = parameters or FilteringParameters()
    judged = read_truth(truth, parameters.relevance, parameters.assessors)
    systems = [read_filtering_run(path, parameters.relevance) for path in runs]
    return score_filtering_runs(judged, systems, parameters)


def score_filtering_runs(
    truth: FilteringTruth, runs: Sequence[FilteringRun], parameters: FilteringParameters
) -> FilteringResult:
    """Score filtering runs that are already in memory, with the same time batches for all systems.

    Args:
        truth: Judged pairs.
        runs: Runs with distinct system names.
        parameters: Parameters of the evaluation.
    """
    names = [run.system for run in runs]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"expected one or more run files with distinct names, found {names}")
    start, end = _find_period([truth.pairs, *(run.pairs for run in runs)], parameters)
    grid = create_time_batches(start, end, parameters.granularity)
    whole = TimeBatches(grid.edges[[0, -1]], None)
    matched = [_MatchedRun.from_run(truth, run, (start, end), parameters) for run in runs]
    official = official_averages(truth, runs, parameters)
    return FilteringResult(
        official=best_official_averages(official),
        official_cutoffs=official,
        batches=_score_runs(matched, grid, parameters),
        whole=_score_runs(matched, whole, parameters),
        runs=pl.DataFrame([item.counts for item in matched]).sort("system"),
        max_confidences={run.system: run.pairs.select(pl.max("confidence")).item() for run in runs},
        time_batches=grid,
        parameters=parameters,
    )


def _find_period(
    tables: Sequence[pl.DataFrame], parameters: FilteringParameters
) -> tuple[int, int]:
    """Return the start and exclusive end of the scored period.

    By default, the period extends from the first to the last document.
    """
    times = pl.concat([table["time"] for table in tables])
    if parameters.start is not None and parameters.end is not None:
        return parameters.start, parameters.end
    if times.is_empty():
        raise UsageError(
            "expected at least one document in the truth file or the runs, found none; without "
            "documents, the start and end of the period must be given"
        )
    first, last = times.sort()[[0, -1]].to_list()
    start = first if parameters.start is None else parameters.start
    return start, last + 1 if parameters.end is None else parameters.end


@dataclass(frozen=True, slots=True)
class _MatchedRun:
    """Pairs (document, target) that a system returned, and pairs that are relevant.

    Args:
        system: Name of the system.
        returned: Returned pairs: document, target, time, confidence, hit (whether relevant).
        relevant: Relevant pairs: document, target, time.
        counts: Number of lines, of lines ignored for each reason, and of evaluated pairs.
    """

    system: str
    returned: pl.DataFrame
    relevant: pl.DataFrame
    counts: dict[str, str | int]

    @classmethod
    def from_run(
        cls,
        truth: FilteringTruth,
        run: FilteringRun,
        period: tuple[int, int],
        parameters: FilteringParameters,
    ) -> "_MatchedRun":
        """Join the pairs that a run returned in a period with their judgements."""
        inside = pl.col("time").is_between(*period, closed="left")
        pairs = run.pairs.filter(inside)
        judged = truth.pairs.select("document", "target", "relevant")
        joined = pairs.join(judged, on=["document", "target"], how="left", maintain_order="left")
        unjudged = joined["relevant"].null_count()
        if parameters.unjudged == "ignored":
            joined = joined.filter(pl.col("relevant").is_not_null())
        counts: dict[str, str | int] = {
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
        return cls(run.system, hits, relevant, counts)


def _score_runs(
    runs: Sequence[_MatchedRun], batches: TimeBatches, parameters: FilteringParameters
) -> pl.DataFrame:
    """Score every system at every confidence cut-off, in every time batch."""
    frames = [
        _score_run_at_cutoff(run, cutoff, batches, parameters)
        for run in runs
        for cutoff in sorted(set(parameters.cutoffs))
    ]
    return pl.concat(frames).sort("system", "cutoff", "batch")


def _score_run_at_cutoff(
    run: _MatchedRun, cutoff: float, batches: TimeBatches, parameters: FilteringParameters
) -> pl.DataFrame:
    """Score a system at one confidence cut-off in every batch."""
    confidence = pl.col("confidence")
    above = confidence > cutoff if parameters.cutoff_rule == "above" else confidence >= cutoff
    returned = _add_batch_index(run.returned.filter(above), batches)
    relevant = _add_batch_index(run.relevant, batches)
    documents = _count_documents(returned, relevant, batches)
    rows = _compute_measures_per_batch(
        _count_pairs_per_target(returned, relevant), len(batches.batch_starts), parameters
    )
    return pl.DataFrame(
        {
            "system": [run.system] * len(rows),
            "cutoff": [cutoff] * len(rows),
            "batch": batches.batch_starts,
            "documents": documents,
            **{name: [row[name] for row in rows] for name in rows[0]},
        },
        schema=BATCH_SCHEMA,
    )


def _add_batch_index(pairs: pl.DataFrame, batches: TimeBatches) -> pl.DataFrame:
    """Add the column `batch_index`: the zero-based index of the batch of each pair."""
    return pairs.with_columns(batch_index=batches.find_batch_indexes(pairs["time"].to_numpy()))


def _count_documents(
    returned_pairs: pl.DataFrame, relevant_pairs: pl.DataFrame, batches: TimeBatches
) -> npt.NDArray[np.int64]:
    """Count the distinct documents that are returned, relevant or both, in int64[batches]."""
    both = pl.concat(
        [pairs.select("batch_index", "document") for pairs in (returned_pairs, relevant_pairs)]
    )
    indexes = both.unique()["batch_index"].to_numpy()
    return np.bincount(indexes, minlength=len(batches.batch_starts)).astype(np.int64)


def _count_pairs_per_target(
    returned_pairs: pl.DataFrame, relevant_pairs: pl.DataFrame
) -> pl.DataFrame:
    """Count true positives, false positives and relevant documents per batch and target."""
    keys = ["batch_index", "target"]
    hit = pl.col("hit")
    returned_counts = returned_pairs.group_by(keys).agg(tp=hit.sum(), fp=hit.not_().sum())
    relevant_counts = relevant_pairs.group_by(keys).agg(true=pl.len())
    joined = returned_counts.join(relevant_counts, on=keys, how="full", coalesce=True)
    counts = pl.col("tp", "fp", "true").fill_null(0).cast(pl.Int64)
    return joined.with_columns(counts).sort(keys)


def _compute_measures_per_batch(
    pair_counts: pl.DataFrame, n_batches: int, parameters: FilteringParameters
) -> list[dict[str, float | int | None]]:
    """Return the counts and measures of every batch, by column name."""
    targets: list[list[TargetCounts]] = [[] for _ in range(n_batches)]
    for index, tp, fp, true in pair_counts.select("batch_index", "tp", "fp", "true").iter_rows():
        targets[index].append((tp, fp, true))
    return [compute_batch_measures(batch, parameters.average, parameters.zeta) for batch in targets]
