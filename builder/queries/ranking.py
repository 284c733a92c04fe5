"""Rank topic candidates: popular, and stable over a long time, by numbers.

In: monthly counts of candidates (page views, queries). Out: one row a candidate with its
popularity, several measures of stability, and a score. Over n months with counts c_1..c_n
(months without a row count 0), mean m, population standard deviation d, median M:

    popularity  p = ln(1 + m) / ln(1 + largest m of all candidates)
    cv          1 / (1 + d / m)                    spread of the months
    evenness    -sum q_i ln q_i / ln n, q_i = c_i / sum c      Shannon evenness (Pielou 1966)
    floor       min(1, least c / M)                never far below the usual
    volatility  exp(-median |ln((1 + c_i+1) / (1 + c_i))|)     change from month to month
    trend       exp(-|12 b|), b the least-squares slope of ln(1 + c) over months
    score       p * s, s one of the five, each in [0, 1]

With a total for each month (all views, all queries of that month), counts are divided by it first
and scaled back by the mean total, so that growth of the source itself is not taken for a trend.
"""

import csv
import io
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builder.errors import DataError, FormatError, UsageError
from builder.io import parquet
from builder.io.sources import Source
from builder.trec.bounded import read_text

Stability = Literal["cv", "evenness", "floor", "volatility", "trend"]
STABILITIES: tuple[Stability, ...] = ("cv", "evenness", "floor", "volatility", "trend")
FORMULA = "score = popularity x {stability}; popularity = ln(1 + mean) / ln(1 + largest mean)"
LEAST_MONTHS = 3
COLUMNS = {"label": pl.String, "month": pl.String, "count": pl.Float64}
SEPARATORS = {".tsv": "\t", ".csv": ","}
MOST = 1e15
"""Largest count, whose sums are still exact."""


def read_counts(path: Path) -> pl.DataFrame:
    """Monthly counts of a file: columns `label`, `month` (YYYY-MM), `count` and maybe `total`.

    Args:
        path: `.parquet`, or `.tsv` / `.csv` with a header, plain or compressed.

    Raises:
        FormatError: damaged, columns are missing, or a value is not one.
        UsageError: no such file, or another suffix.
    """
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".zst")).suffix
    if suffix == ".parquet":
        frame = parquet.read_bounded(path).with_row_index("line", 1)
    elif suffix in SEPARATORS:
        frame = _cells(path, SEPARATORS[suffix])
    else:
        raise UsageError(f"expected counts in .parquet, .tsv or .csv, found {path.name}")
    missing = sorted(set(COLUMNS) - set(frame.columns))
    if missing:
        raise FormatError(f"expected columns label, month, count; missing {missing}", path)
    wanted = {**COLUMNS, **({"total": pl.Float64} if "total" in frame.columns else {})}
    try:
        cast = frame.select("line", *(pl.col(n).cast(k, strict=False) for n, k in wanted.items()))
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"expected columns of texts and numbers: {error}", path) from None
    bad = cast.filter(
        pl.any_horizontal(pl.col(wanted).is_null())
        | ~pl.col("count").is_between(0, MOST)
        | ~pl.col("total" if "total" in wanted else "count").is_between(pl.col("count"), MOST)
        | ~pl.col("month").str.contains(r"^\d{4}-(0[1-9]|1[0-2])$")
    )
    if bad.height:
        raise FormatError(
            f"{bad.height} rows without a label, a month YYYY-MM and a count from 0 to {MOST:.0g}",
            path,
            bad["line"][0],
        )
    return cast.drop("line")


def _cells(path: Path, separator: str) -> pl.DataFrame:
    """The cells of a table of text, and on which line each row ends."""
    lines = io.StringIO(read_text(Source(path, str(path))), newline="")
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows = []
    try:
        names = next(reader, [])
        for row in reader:
            if row and len(row) != len(names):
                raise FormatError(
                    f"expected {len(names)} cells, found {len(row)}", path, reader.line_num
                )
            if row:
                rows.append((reader.line_num, *row))
    except csv.Error as error:
        raise FormatError(f"expected a table: {error}", path, reader.line_num) from None
    if len({"line", *names}) <= len(names):
        raise FormatError(f"expected columns of different names, found {names}", path, 1)
    schema = {"line": pl.Int64, **dict.fromkeys(names, pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def rank_topics(counts: pl.DataFrame, stability: Stability = "cv") -> pl.DataFrame:
    """Rank candidates by popularity times stability.

    Args:
        counts: See `read_counts`. Several rows of one label and month add up.
        stability: The measure that enters the score; all are given.

    Returns:
        Columns `rank`, `label`, `score`, `mean`, `popularity`, the five measures of stability,
        `slope` (of ln(1 + c), a month) and `months`; sorted by score, ties by label.

    Raises:
        DataError: fewer than three months, or no count above 0.
    """
    months = _months(counts)
    if len(months) < LEAST_MONTHS:
        raise DataError(f"expected counts of at least {LEAST_MONTHS} months, found {len(months)}")
    labels, series = _series(counts, months)
    if not series.size or not series.max():
        raise DataError("expected a count above 0, found none")
    measures = _measures(series)
    frame = pl.DataFrame({"label": labels, **measures}).with_columns(
        score=pl.col("popularity") * pl.col(stability), months=pl.lit(len(months), pl.UInt32)
    )
    order = ["rank", "label", "score", "mean", "popularity", *STABILITIES, "slope", "months"]
    return (
        frame.sort("score", "label", descending=[True, False])
        .with_row_index("rank", 1)
        .select(order)
    )


def rank_topic_file(path: Path | str, stability: Stability = "cv") -> pl.DataFrame:
    """Rank the candidates of a file of monthly counts; see `read_counts` and `rank_topics`."""
    return rank_topics(read_counts(Path(path)), stability)


def as_topics(ranked: pl.DataFrame, language: str, stability: Stability = "cv") -> pl.DataFrame:
    """Rows for a topic table: the source column records how the topic was chosen.

    Args:
        ranked: The rows of `rank_topics` to keep.
        language: ISO 639-1 code.
        stability: The measure of the score.
    """
    source = pl.format(
        f"rank {{}}, score {{}} = popularity {{}} x {stability} {{}}, mean {{}} over {{}} months",
        "rank",
        pl.col("score").round(3),
        pl.col("popularity").round(3),
        pl.col(stability).round(3),
        pl.col("mean").round(1),
        "months",
    )
    return ranked.select(
        pl.format("t{}", pl.col("rank").cast(pl.String).str.zfill(4)).alias("topic_id"),
        "label",
        pl.lit("").alias("aliases"),
        pl.lit(language).alias("language"),
        source.alias("source"),
    )


def write_topics(
    ranked: pl.DataFrame, path: Path, language: str, stability: Stability = "cv"
) -> None:
    """Write ranked candidates as the topic table of a definition.

    Args:
        ranked: The rows of `rank_topics` to keep.
        path: The file (TSV).
        language: ISO 639-1 code.
        stability: The measure of the score.

    Raises:
        DataError: a label has a tab or a line end.
    """
    rows = as_topics(ranked, language, stability)
    if ranked["label"].str.contains(r"[\t\r\n]").any():
        raise DataError("expected labels without tabs and line ends")
    rows.write_csv(path, separator="\t", quote_style="never")


def _months(counts: pl.DataFrame) -> list[str]:
    """Every month from the first to the last, those without a row included."""
    if counts.is_empty():
        return []
    first, last = (
        int(month[:4]) * 12 + int(month[5:]) - 1
        for month in (min(counts["month"]), max(counts["month"]))
    )
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, last + 1)]


def _series(counts: pl.DataFrame, months: list[str]) -> tuple[list[str], NDArray[np.float64]]:
    """Labels, sorted, and their counts: labels x months."""
    value = pl.col("count")
    if "total" in counts.columns:
        totals = counts.group_by("month").agg(pl.col("total").max()).sort("month")["total"]
        value = pl.col("count") / pl.col("total") * totals.mean()
    summed = (
        counts.with_columns(value.alias("count"))
        .group_by("label", "month")
        .agg(pl.col("count").sum())
    )
    labels = sorted(set(counts["label"]))
    grid = pl.DataFrame({"label": labels}).join(pl.DataFrame({"month": months}), how="cross")
    filled = grid.join(summed, on=["label", "month"], how="left", maintain_order="left")
    return labels, filled["count"].fill_null(0).to_numpy().reshape(len(labels), len(months))


def _measures(series: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    mean, median = series.mean(axis=1), np.median(series, axis=1)
    shares = series / np.maximum(series.sum(axis=1, keepdims=True), 1e-300)
    logs = np.log1p(series)
    months = np.arange(series.shape[1]) - (series.shape[1] - 1) / 2
    slope = logs @ months / (months @ months)
    present = mean > 0
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    return {
        "mean": mean,
        "popularity": np.log1p(mean) / np.log1p(mean.max()),
        "cv": np.where(present, mean / np.where(present, mean + series.std(axis=1), 1), 0.0),
        "evenness": entropy / np.log(series.shape[1]),
        "floor": np.where(
            median > 0, np.minimum(1, series.min(axis=1) / np.where(median > 0, median, 1)), 0.0
        ),
        "volatility": np.exp(-np.median(np.abs(np.diff(logs, axis=1)), axis=1)),
        "trend": np.exp(-np.abs(12 * slope)),
        "slope": slope,
    }
