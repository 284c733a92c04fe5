"""Trends of several systems, their ranking, and tests of the differences between their slopes.

Fits a trend per system, measure and any other key column, ranks systems by estimated end-point
performance, and compares the slopes of every pair of systems with z-tests, following Kenter, Balog
& de Rijke (2015), sections 3, 5 and 6.1.

Slopes are per day, so that trends of different granularity are comparable (section 5.2);
`intercept` is the value of a fitted line at its first batch.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, time
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from builder.errors import UsageError
from builder.evaluation.evaluator import Evaluation
from builder.evaluation.residuals import ResidualKind
from builder.evaluation.runs.delimited import read_delimited_table
from builder.evaluation.trends import Trend, fit_trend
from builder.statistics.regression import compare_slopes

SECONDS_PER_DAY = 86_400
PER_DAY = {"slope": "slope_per_day", "slope_se": "slope_se_per_day"}
INTEGER_FIELDS = ("batches", "df")
TREND_SCHEMA: dict[str, type[pl.DataType]] = {
    PER_DAY.get(field.name, field.name): (
        pl.Int64
        if field.name in INTEGER_FIELDS
        else pl.String
        if field.name == "reason"
        else pl.Float64
    )
    for field in fields(Trend)
}
SCORE_COLUMNS = ("system", "measure", "snapshot", "score")
_CSV_NAME = re.compile(r"\.csv(\.(gz|zst|zstd))?$", re.IGNORECASE)
SCORE_TYPES: dict[str, pl.DataType] = {
    name: pl.String() if name in SCORE_COLUMNS[:3] else pl.Float64()
    for name in (*SCORE_COLUMNS, "weight")
}


@dataclass(frozen=True, slots=True)
class TrendReport:
    """Trends, ranking and comparisons of systems.

    Args:
        trends: One row per trend: key columns, columns of `TREND_SCHEMA`, and `slope_per_batch`.
        ranking: One row per measure and system, by descending end point, with columns rank (the
            minimum for tied systems), key columns of the best trend, end_point, slope_per_day, p.
        comparisons: One row per measure and pair of systems (equation 4), with the difference
            between the slopes per day, z, two-sided p, and the reason if z and p are null.
        scores: Scores to which the trends were fitted, one row per trend and batch.
    """

    trends: pl.DataFrame
    ranking: pl.DataFrame
    comparisons: pl.DataFrame
    scores: pl.DataFrame


def snapshot_trend_report(scores: pl.DataFrame, residual_kind: ResidualKind = "raw") -> TrendReport:
    """For each system and measure, fit a trend to the scores over the snapshots of a collection.

    Args:
        scores: Columns system, measure, snapshot (`2022-06` or `2022-06-30`), score (null if
            undefined) and optionally weight (amount of data behind the score; default 1).
        residual_kind: Kind of residuals to test.

    Raises:
        UsageError: There are no rows, a column is missing, a key or weight is null, a snapshot is
            not a date, or a row is repeated.
    """
    missing = [column for column in SCORE_COLUMNS if column not in scores.columns]
    if missing:
        raise UsageError(
            f"expected the columns {', '.join(SCORE_COLUMNS)}, found no {', '.join(missing)}"
        )
    if scores.is_empty() or sum(scores.select(SCORE_COLUMNS[:3]).null_count().row(0)):
        raise UsageError(
            "expected at least one row, with a system, a measure and a snapshot in each row"
        )
    _check_weights(scores)
    weight = pl.col("weight") if "weight" in scores.columns else pl.lit(1.0)
    seconds = {name: snapshot_unix_seconds(name) for name in scores["snapshot"].unique().sort()}
    dated = scores.select(
        "system",
        "measure",
        pl.col("snapshot").replace_strict(seconds, return_dtype=pl.Int64).alias("time"),
        pl.col("score").cast(pl.Float64),
        weight.cast(pl.Float64).alias("weight"),
    )
    repeated = scores.filter(dated.select("system", "measure", "time").is_duplicated())
    if repeated.height:
        raise UsageError(
            "expected one score per system, measure and snapshot, found several for "
            + ", ".join(repeated.select(SCORE_COLUMNS[:3]).row(0))
        )
    return trend_report(
        _add_missing_combinations(dated), ["system", "measure"], residual_kind, None
    )


def _check_weights(scores: pl.DataFrame) -> None:
    """Raise a `UsageError` if the column `weight` exists and contains a null."""
    empty = scores.filter(pl.col("weight").is_null()) if "weight" in scores.columns else None
    if empty is not None and empty.height:
        raise UsageError(
            "expected a weight in every row or no weight column, found no weight for "
            + ", ".join(empty.select(SCORE_COLUMNS[:3]).row(0))
        )


def evaluation_trend_report(
    evaluation: Evaluation, residual_kind: ResidualKind = "raw"
) -> TrendReport:
    """Fit trends to the mean scores of an evaluation, weighted by the number of judged queries.

    Args:
        evaluation: Result of `evaluate` or `evaluate_paths`.
        residual_kind: Kind of residuals to test.

    Raises:
        UsageError: The name of a snapshot is not a date.
    """
    full = evaluation.effectiveness.filter(topic_set="full")
    scores = full.select(
        "system",
        "measure",
        "snapshot",
        pl.col("value").alias("score"),
        pl.col("queries").cast(pl.Float64).alias("weight"),
    )
    return snapshot_trend_report(scores, residual_kind)


def snapshot_trend_report_from_file(path: Path, residual_kind: ResidualKind = "raw") -> TrendReport:
    """Fit trends to the scores in a CSV or TSV file with a header.

    Raises:
        FormatError: The file is not a table, or a score or weight is not a finite number.
        UsageError: The path is not a readable file, or `snapshot_trend_report` rejects the table.
    """
    is_csv = _CSV_NAME.search(path.name) is not None
    scores = read_delimited_table(
        path, SCORE_TYPES, separator="," if is_csv else "\t", quoted=is_csv
    )
    try:
        return snapshot_trend_report(scores, residual_kind)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def snapshot_unix_seconds(snapshot: str) -> int:
    """Return the start of a snapshot named `2022-06` or `2022-06-30`, in Unix seconds (UTC).

    Raises:
        UsageError: The name is not a date.
    """
    day = snapshot if len(snapshot) == 10 else f"{snapshot}-01"
    try:
        return int(datetime.combine(date.fromisoformat(day), time(), UTC).timestamp())
    except ValueError:
        raise UsageError(f"expected a snapshot name such as 2022-06, found {snapshot!r}") from None


def _add_missing_combinations(scores: pl.DataFrame) -> pl.DataFrame:
    """Add a row with a null score for each missing combination of system, measure and time."""
    keys = scores.select("system", "measure").unique()
    everything = keys.join(scores.select("time").unique(), how="cross")
    joined = everything.join(scores, on=["system", "measure", "time"], how="left")
    return joined.with_columns(pl.col("weight").fill_null(0.0)).sort("system", "measure", "time")


def trend_report(
    scores: pl.DataFrame, keys: list[str], residual_kind: ResidualKind, batch_seconds: int | None
) -> TrendReport:
    """Fit a trend per combination of keys, rank systems per measure, and compare slopes.

    Args:
        scores: Key columns, time (Unix seconds), score (null if undefined) and weight.
        keys: Columns that identify a trend, including `system` and `measure`.
        residual_kind: Kind of residuals to test.
        batch_seconds: Length of a batch in seconds, for `slope_per_batch`; None if batches differ
            in length.
    """
    trends = _fit_trends(scores, keys, residual_kind, batch_seconds)
    best = _select_best_trends(trends, keys)
    return TrendReport(trends, _rank_systems(best, keys), _compare_systems(best), scores)


def _fit_trends(
    scores: pl.DataFrame, keys: list[str], residual_kind: ResidualKind, batch_seconds: int | None
) -> pl.DataFrame:
    rows = []
    ordered = scores.sort([*keys, "time"])
    for key, group in ordered.group_by(keys, maintain_order=True):
        days = ((group["time"] - group["time"][0]) / SECONDS_PER_DAY).to_list()
        trend = fit_trend(days, group["score"].to_list(), group["weight"].to_list(), residual_kind)
        columns = {PER_DAY.get(name, name): value for name, value in asdict(trend).items()}
        rows.append(dict(zip(keys, key, strict=True)) | columns)
    schema: dict[str, Any] = {**{key: scores.schema[key] for key in keys}, **TREND_SCHEMA}
    batch_days = pl.lit(batch_seconds, dtype=pl.Float64) / SECONDS_PER_DAY
    return pl.DataFrame(rows, schema=schema).with_columns(
        slope_per_batch=pl.col("slope_per_day") * batch_days
    )


def _select_best_trends(trends: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Select, for each system and measure, the trend with the highest end point.

    The selected trends are sorted by measure and descending end point.
    """
    order = ["measure", "end_point", *(key for key in keys if key != "measure")]
    falling = [column == "end_point" for column in order]
    best_first = trends.sort(order, descending=falling, nulls_last=True)
    return best_first.unique(["system", "measure"], keep="first", maintain_order=True)


def _rank_systems(best_trends: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    rank = pl.col("end_point").rank("min", descending=True).over("measure").cast(pl.Int64)
    return best_trends.select(rank.alias("rank"), *keys, "end_point", "slope_per_day", "p")


def _compare_systems(best_trends: pl.DataFrame) -> pl.DataFrame:
    schema = {
        **dict.fromkeys(("measure", "first", "second"), pl.String()),
        **dict.fromkeys(("slope_difference_per_day", "z", "p"), pl.Float64()),
        "reason": pl.String(),
    }
    return pl.DataFrame(list(_comparison_rows(best_trends)), schema=schema, orient="row")


def _comparison_rows(best_trends: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    columns = ("measure", "system", "slope_per_day", "slope_se_per_day")
    for one, two in combinations(best_trends.select(columns).iter_rows(), 2):
        if one[0] != two[0]:
            continue
        if None in one or None in two:
            yield *one[:2], two[1], None, None, None, "the standard error of a slope is undefined"
            continue
        test = compare_slopes(one[2], one[3], two[2], two[3])
        yield *one[:2], two[1], one[2] - two[2], test.statistic, test.p, test.reason
