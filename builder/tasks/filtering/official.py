"""Averages computed by the official scorer of TREC KBA (cumulative citation recommendation).

Computes precision, recall, F and scaled utility per confidence cut-off, averaged over target
entities (macro) or over (document, target) pairs (micro), and the best averages over all cut-offs.

Unlike the measures of Kenter et al. (2015), these are computed over the whole period. Unjudged
pairs, and targets with too few relevant documents, are ignored. A document is returned if its
confidence, rounded down, is above the cut-off. Precision is 0 if no document is returned. Macro F
is the harmonic mean of macro precision and macro recall. Utility is 2 TP - FP divided by its
maximum, clipped to [-0.5, 1] and rescaled to [0, 1] (Robertson and Soboroff 2002).
"""

from collections.abc import Sequence

import polars as pl

from builder.tasks.filtering.kba import MAX_CONFIDENCE, FilteringRun, FilteringTruth
from builder.tasks.filtering.parameters import FilteringParameters

MIN_UTILITY = -0.5
MEASURES = ("precision", "recall", "f", "utility")
AVERAGES = tuple(f"{average}_{name}" for average in ("macro", "micro") for name in MEASURES)
OFFICIAL_SCHEMA = pl.Schema(
    {"system": pl.String(), "cutoff": pl.Int64(), "targets": pl.Int64()}
    | dict.fromkeys(AVERAGES, pl.Float64())
)
OFFICIAL_BEST_SCHEMA = pl.Schema(
    {"system": pl.String(), "targets": pl.Int64()} | dict.fromkeys(AVERAGES, pl.Float64())
)


def official_averages(
    truth: FilteringTruth, runs: Sequence[FilteringRun], parameters: FilteringParameters
) -> pl.DataFrame:
    """Return the averages of the official TREC KBA scorer, per system and confidence cut-off.

    Args:
        truth: Judged pairs.
        runs: Runs to score.
        parameters: Parameters, of which only `min_positives`, `min_text_bytes` and `cutoff_step`
            are used.
    """
    judged = truth.pairs.filter(
        pl.col("text_bytes").is_null() | (pl.col("text_bytes") >= parameters.min_text_bytes)
    ).select("document", "target", "relevant")
    positives = judged.group_by("target").agg(positives=pl.col("relevant").sum().cast(pl.Int64))
    positives = positives.filter(pl.col("positives") >= parameters.min_positives).sort("target")
    cutoffs = range(0, int(MAX_CONFIDENCE) - 1, parameters.cutoff_step)
    rows = [
        {"system": run.system, "cutoff": cutoff}
        | _average_over_targets(_count_pairs_per_target(returned, positives, cutoff))
        for run in sorted(runs, key=lambda run: run.system)
        for returned in [run.pairs.join(judged, on=["document", "target"])]
        for cutoff in cutoffs
        if positives.height
    ]
    return pl.DataFrame(rows, schema=OFFICIAL_SCHEMA)


def best_official_averages(averages: pl.DataFrame) -> pl.DataFrame:
    """Return the best averages of each system over all cut-offs, sorted by macro F.

    Precision and recall are taken at the lowest cut-off with maximum F. The maximum utility may be
    reached at a different cut-off.

    Args:
        averages: Table returned by `official_averages`.
    """
    best = [
        column
        for average in ("macro", "micro")
        for f in [pl.col(f"{average}_f")]
        for column in (
            pl.col(f"{average}_precision", f"{average}_recall").get(f.arg_max()),
            f.max(),
            pl.col(f"{average}_utility").max(),
        )
    ]
    grouped = averages.sort("system", "cutoff").group_by("system", maintain_order=True)
    maxima = grouped.agg(pl.col("targets").first(), *best).cast(OFFICIAL_BEST_SCHEMA)
    return maxima.sort("macro_f", "system", descending=[True, False])


def _count_pairs_per_target(
    returned_pairs: pl.DataFrame, positive_counts: pl.DataFrame, cutoff: int
) -> pl.DataFrame:
    """Count the true positives, false positives and false negatives of each target."""
    above = returned_pairs.filter(pl.col("confidence").floor() > cutoff)
    relevant = pl.col("relevant")
    hits = above.group_by("target").agg(tp=relevant.sum(), fp=relevant.not_().sum())
    counts = positive_counts.join(hits, on="target", how="left", maintain_order="left")
    numbers = counts.with_columns(pl.col("tp", "fp").fill_null(0).cast(pl.Int64))
    return numbers.select("target", "tp", "fp", fn=pl.col("positives") - pl.col("tp"))


def _average_over_targets(counts_per_target: pl.DataFrame) -> dict[str, float]:
    """Return the number of targets and the macro and micro averages, by column name."""
    targets = [
        _compute_measures(*row) for row in counts_per_target.select("tp", "fp", "fn").iter_rows()
    ]
    means = [sum(column) / len(targets) for column in zip(*targets, strict=True)]
    macro = [*means[:2], _f1(*means[:2]), means[2]]
    precision, recall, utility = _compute_measures(
        *counts_per_target.select("tp", "fp", "fn").sum().row(0)
    )
    micro = [precision, recall, _f1(precision, recall), utility]
    return {"targets": len(targets)} | dict(zip(AVERAGES, macro + micro, strict=True))


def _compute_measures(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    """Return precision, recall and scaled utility; 0 if a denominator is 0."""
    positives = tp + fn
    precision = tp / (tp + fp) if tp + fp else 0.0
    if not positives:
        return precision, 0.0, 0.0
    utility = max((2 * tp - fp) / (2 * positives), MIN_UTILITY)
    return precision, tp / positives, (utility - MIN_UTILITY) / (1 - MIN_UTILITY)


def _f1(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
