"""Trends of many systems, the ranking they give, and tests between them.

In: scores of systems over time. Out: a trend for each system, measure and other key, systems ranked
by estimated end-point performance, and z-tests between the slopes of every two systems. Kenter,
Balog, de Rijke (2015), sections 3, 5 and 6.1.

Slopes are per second, so that trends of different granularity compare (section 5.2); `intercept`
is the height of a line at the first batch.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from builder.errors import FormatError, UsageError
from builder.evaluation.evaluator import Evaluation
from builder.evaluation.residuals import ResidualKind
from builder.evaluation.trends import Trend, fit_trend
from builder.statistics.regression import compare_slopes

PER_SECOND = {"slope": "slope_per_second", "slope_se": "slope_se_per_second"}
INTEGER_FIELDS = ("batches", "df")
TREND_SCHEMA: dict[str, type[pl.DataType]] = {
    PER_SECOND.get(field.name, field.name): (
        pl.Int64
        if field.name in INTEGER_FIELDS
        else pl.String
        if field.name == "reason"
        else pl.Float64
    )
    for field in fields(Trend)
}
CSV = {"separator": ","}
TSV = {"separator": "\t", "quote_char": None}
SCORE_COLUMNS = ("system", "measure", "snapshot", "score")
SCORE_TYPES: dict[str, pl.DataType] = {
    name: pl.String() if name in SCORE_COLUMNS[:3] else pl.Float64()
    for name in (*SCORE_COLUMNS, "weight")
}


@dataclass(frozen=True, slots=True)
class TrendReport:
    """Trends of systems.

    Args:
        trends: One row per key: the key columns, then `TREND_SCHEMA` and `slope_per_batch`.
        ranking: One row per system and measure, by falling end point: rank (ties share the
            least), the key of its best trend, end_point, slope_per_second, p.
        comparisons: One row per pair of ranked systems and measure: difference of their slopes
            per second, z, two-sided p, reason where null (equation 4).
        scores: The scores behind the trends, one row per key and batch.
    """

    trends: pl.DataFrame
    ranking: pl.DataFrame
    comparisons: pl.DataFrame
    scores: pl.DataFrame


def snapshot_trend(scores: pl.DataFrame, residuals: ResidualKind = "raw") -> TrendReport:
    """The trend of any measure over the snapshots of a collection.

    Args:
        scores: Columns system, measure, snapshot (`2022-06` or `2022-06-30`), score (null where
            undefined) and, if wanted, weight (the amount of data behind a score; 1 without).
        residuals: Residuals that the tests of the assumptions take.

    Raises:
        UsageError: a column is absent, a snapshot is not a date, or a row is there twice.
    """
    absent = [column for column in SCORE_COLUMNS if column not in scores.columns]
    if absent:
        raise UsageError(f"expected columns {', '.join(SCORE_COLUMNS)}, missing: {absent}")
    weight = pl.col("weight") if "weight" in scores.columns else pl.lit(1.0)
    dated = scores.select(
        "system",
        "measure",
        pl.col("snapshot").map_elements(snapshot_seconds, return_dtype=pl.Int64).alias("time"),
        pl.col("score").cast(pl.Float64),
        weight.cast(pl.Float64).alias("weight"),
    )
    if dated.select("system", "measure", "time").is_duplicated().any():
        raise UsageError("expected one score per system, measure and snapshot; some are repeated")
    return trend_report(_completed(dated), ["system", "measure"], residuals, None)


def evaluation_trend(evaluation: Evaluation, residuals: ResidualKind = "raw") -> TrendReport:
    """The trends of evaluated systems over the snapshots of a collection.

    A mean score weighs as much as the queries that were judged in its snapshot.

    Args:
        evaluation: What `evaluate` or `evaluate_paths` gave.
        residuals: Residuals that the tests of the assumptions take.

    Raises:
        UsageError: a snapshot is not a date.
    """
    full = evaluation.effectiveness.filter(topic_set="full")
    scores = full.select(
        "system",
        "measure",
        "snapshot",
        pl.col("value").alias("score"),
        pl.col("queries").cast(pl.Float64).alias("weight"),
    )
    return snapshot_trend(scores, residuals)


def snapshot_trend_path(path: Path, residuals: ResidualKind = "raw") -> TrendReport:
    """`snapshot_trend` of a file with a header: CSV if its name ends in `.csv`, otherwise TSV.

    Raises:
        FormatError: the file is not such a table.
        UsageError: as `snapshot_trend`.
    """
    dialect: dict[str, Any] = CSV if path.suffix == ".csv" else TSV
    try:
        scores = pl.read_csv(path, schema_overrides=SCORE_TYPES, glob=False, **dialect)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FormatError(
            f"expected a table of scores (TSV, or CSV in .csv): {error}", path
        ) from error
    return snapshot_trend(scores, residuals)


def snapshot_seconds(snapshot: str) -> int:
    """First unix second (UTC) of a snapshot such as `2022-06` or `2022-06-30`.

    Raises:
        UsageError: not such a date.
    """
    pattern = {7: "%Y-%m", 10: "%Y-%m-%d"}.get(len(snapshot), "")
    try:
        return int(datetime.strptime(snapshot, pattern).replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise UsageError(f"expected a snapshot such as 2022-06, found {snapshot!r}") from None


def _completed(scores: pl.DataFrame) -> pl.DataFrame:
    """Every system and measure at every time; absent scores are null, without weight."""
    keys = scores.select("system", "measure").unique()
    everything = keys.join(scores.select("time").unique(), how="cross")
    joined = everything.join(scores, on=["system", "measure", "time"], how="left")
    return joined.with_columns(pl.col("weight").fill_null(0.0)).sort("system", "measure", "time")


def trend_report(
    scores: pl.DataFrame, keys: list[str], residuals: ResidualKind, seconds: int | None
) -> TrendReport:
    """Fit a trend to the scores of each key, rank the systems and compare their slopes.

    Args:
        scores: The key columns, time (unix seconds), score (null where undefined) and weight.
        keys: Columns that identify a trend; `system` and `measure` are among them.
        residuals: Residuals that the tests of the assumptions take.
        seconds: Length of a batch, for `slope_per_batch`; None where batches differ in length.
    """
    trends = _trends(scores, keys, residuals, seconds)
    best = _best(trends, keys)
    return TrendReport(trends, _ranking(best, keys), _comparisons(best), scores)


def _trends(
    scores: pl.DataFrame, keys: list[str], residuals: ResidualKind, seconds: int | None
) -> pl.DataFrame:
    rows = []
    ordered = scores.sort([*keys, "time"])
    for key, group in ordered.group_by(keys, maintain_order=True):
        since_start = (group["time"] - group["time"][0]).to_list()
        trend = fit_trend(
            since_start, group["score"].to_list(), group["weight"].to_list(), residuals
        )
        described = {PER_SECOND.get(name, name): value for name, value in asdict(trend).items()}
        rows.append(dict(zip(keys, key, strict=True)) | described)
    schema: dict[str, Any] = {**{key: scores.schema[key] for key in keys}, **TREND_SCHEMA}
    batch = pl.lit(seconds, dtype=pl.Float64)
    return pl.DataFrame(rows, schema=schema).with_columns(
        slope_per_batch=pl.col("slope_per_second") * batch
    )


def _best(trends: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The trend with the highest end point of each system and measure, best first."""
    order = ["measure", "end_point", *(key for key in keys if key != "measure")]
    falling = [column == "end_point" for column in order]
    best_first = trends.sort(order, descending=falling, nulls_last=True)
    return best_first.unique(["system", "measure"], keep="first", maintain_order=True)


def _ranking(best: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    rank = pl.col("end_point").rank("min", descending=True).over("measure").cast(pl.Int64)
    return best.select(rank.alias("rank"), *keys, "end_point", "slope_per_second", "p")


def _comparisons(best: pl.DataFrame) -> pl.DataFrame:
    schema = {
        **dict.fromkeys(("measure", "first", "second"), pl.String()),
        **dict.fromkeys(("slope_difference_per_second", "z", "p"), pl.Float64()),
        "reason": pl.String(),
    }
    return pl.DataFrame(list(_compared(best)), schema=schema, orient="row")


def _compared(best: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    columns = ("measure", "system", "slope_per_second", "slope_se_per_second")
    for one, two in combinations(best.select(columns).iter_rows(), 2):
        if one[0] != two[0]:
            continue
        if None in one or None in two:
            yield *one[:2], two[1], None, None, None, "a slope without standard error"
            continue
        test = compare_slopes(one[2], one[3], two[2], two[3])
        yield *one[:2], two[1], one[2] - two[2], test.statistic, test.p, test.reason
