"""Ranks topic candidates by popularity and long-term stability.

Input: monthly counts of candidates, such as page views or queries. Output: popularity,
stability measures and a score per candidate. With counts c_1..c_n over n months (0 for months
without a row), mean m, population standard deviation d and median M:

    popularity  p = ln(1 + m) / ln(1 + largest m of all candidates)
    cv          1 / (1 + d / m)                    relative spread
    evenness    -sum q_i ln q_i / ln n, q_i = c_i / sum c      Shannon evenness (Pielou 1966)
    floor       min(1, min c / M)                  minimum relative to the median
    volatility  exp(-median |ln((1 + c_i+1) / (1 + c_i))|)     change from month to month
    trend       exp(-|12 b|), b the least-squares slope of ln(1 + c) per month
    score       p * s, with s one of these five stability measures, each in [0, 1]

If the input has monthly totals (e.g. all page views of a month), counts are divided by the total of
their month and multiplied by the mean total, so that growth of the source is not mistaken for a
trend.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builder.errors import DataError, FormatError
from builder.io.disk import replace_on_success
from builder.io.sources import Source
from builder.queries.monthly_counts import read_monthly_counts
from builder.queries.topics import parse_topics
from builder.text.listing import join_names

Stability = Literal["cv", "evenness", "floor", "volatility", "trend"]
STABILITIES: tuple[Stability, ...] = ("cv", "evenness", "floor", "volatility", "trend")
FORMULA = "score = popularity x {stability}; popularity = ln(1 + mean) / ln(1 + largest mean)"
MIN_MONTHS = 3
MAX_MONTHS = 12
"""Maximum number of months that a note lists."""


def rank_topics(counts: pl.DataFrame, stability: Stability = "cv") -> pl.DataFrame:
    """Rank topic candidates by popularity times stability.

    Args:
        counts: Monthly counts; see `read_monthly_counts`. Counts of the same label and month are
            summed.
        stability: Stability measure used in the score.

    Returns:
        Columns `rank`, `label`, `score`, `mean`, `popularity`, the five stability measures,
        `slope` (of ln(1 + c), per month) and `months` (number of months), sorted by decreasing
        score and, for equal scores, by label.

    Raises:
        DataError: there are fewer than three months, or no count above 0.
    """
    months = _month_range(counts)
    if len(months) < MIN_MONTHS:
        raise DataError(f"expected counts for at least {MIN_MONTHS} months, found {len(months)}")
    labels, series = _monthly_count_matrix(counts, months)
    if not series.max():
        raise DataError("expected at least one count above 0, found none")
    measures = _compute_popularity_and_stability(series)
    frame = pl.DataFrame({"label": labels, **measures}).with_columns(
        score=pl.col("popularity") * pl.col(stability), months=pl.lit(len(months), pl.UInt32)
    )
    order = ["rank", "label", "score", "mean", "popularity", *STABILITIES, "slope", "months"]
    return (
        frame.sort("score", "label", descending=[True, False])
        .with_row_index("rank", 1)
        .select(order)
    )


def rank_topics_from_file(path: Path | str, stability: Stability = "cv") -> pl.DataFrame:
    """Read monthly counts from a file, and rank the topic candidates; see `rank_topics`."""
    return rank_topics(read_monthly_counts(Path(path)), stability)


def to_topic_table(
    ranked_topics: pl.DataFrame, language: str, stability: Stability = "cv"
) -> pl.DataFrame:
    """Convert ranked candidates to a topic table.

    The column `source` records how rank and score were obtained.

    Args:
        ranked_topics: Selected rows of `rank_topics`.
        language: ISO 639-1 code of the labels.
        stability: Stability measure used in the score.
    """
    source = pl.format(
        f"rank {{}}, score {{}} = popularity {{}} x {stability} {{}}, "
        "mean count {} over {} months",
        "rank",
        pl.col("score").round(3),
        pl.col("popularity").round(3),
        pl.col(stability).round(3),
        pl.col("mean").round(1),
        "months",
    )
    return ranked_topics.select(
        pl.format("t{}", pl.col("rank").cast(pl.String).str.zfill(4)).alias("topic_id"),
        "label",
        pl.lit("").alias("aliases"),
        pl.lit(language).alias("language"),
        source.alias("source"),
    )


def write_topics(
    ranked_topics: pl.DataFrame, path: Path, language: str, stability: Stability = "cv"
) -> None:
    """Write ranked candidates to a TSV file of topics, for use in a collection definition.

    Args:
        ranked_topics: Selected rows of `rank_topics`.
        path: TSV file to write.
        language: ISO 639-1 code of the labels.
        stability: Stability measure used in the score.

    Raises:
        DataError: a label is not a valid topic label, for example `NA` or a label with a tab.
    """
    rows = to_topic_table(ranked_topics, language, stability).with_columns(
        pl.col("aliases").replace("", None)  # otherwise written as ""
    )
    with replace_on_success(path) as part:
        rows.write_csv(part, separator="\t")
        try:
            parse_topics(Source(part, path.name))
        except FormatError as error:
            raise DataError(
                f"{path} was not written, because a candidate cannot be a topic: {error}"
            ) from error


def note_missing_months(counts: pl.DataFrame) -> Iterator[str]:
    """Yield a note that lists the months for which no candidate has a row, if there are any.

    Args:
        counts: Monthly counts; see `read_monthly_counts`.
    """
    missing = sorted({*_month_range(counts)} - {*counts["month"]})
    if missing:
        yield (
            f"months without a row, whose counts are taken as 0: {len(missing):,} "
            f"({join_names(missing, MAX_MONTHS, ', ')}); if their counts are missing from the "
            "file, add them, since counts of 0 lower the mean and the stability of all topics"
        )


def _month_range(counts: pl.DataFrame) -> list[str]:
    """Return all months (YYYY-MM) from the first to the last, including months without a row."""
    if counts.is_empty():
        return []
    first, last = (
        int(month[:4]) * 12 + int(month[5:]) - 1
        for month in (min(counts["month"]), max(counts["month"]))
    )
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, last + 1)]


def _monthly_count_matrix(
    counts: pl.DataFrame, months: list[str]
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the sorted labels and an array of their monthly counts, float64[labels, months]."""
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


def _compute_popularity_and_stability(
    monthly_counts: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return the popularity, stability and other measures of all topic candidates, by name.

    Args:
        monthly_counts: Count of each candidate in each month, float64[labels, months].

    Returns:
        For each measure in `rank_topics`, the values of all candidates, float64[labels].
    """
    mean, median = monthly_counts.mean(axis=1), np.median(monthly_counts, axis=1)
    shares = monthly_counts / np.maximum(monthly_counts.sum(axis=1, keepdims=True), 1e-300)
    logs = np.log1p(monthly_counts)
    months = np.arange(monthly_counts.shape[1]) - (monthly_counts.shape[1] - 1) / 2
    slope = logs @ months / (months @ months)
    present = mean > 0
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    return {
        "mean": mean,
        "popularity": np.log1p(mean) / np.log1p(mean.max()),
        "cv": np.where(
            present, mean / np.where(present, mean + monthly_counts.std(axis=1), 1), 0.0
        ),
        "evenness": entropy / np.log(monthly_counts.shape[1]),
        "floor": np.where(
            median > 0,
            monthly_counts.min(axis=1) / np.where(median > 0, median, 1),
            0.0,
        ),
        "volatility": np.exp(-np.median(np.abs(np.diff(logs, axis=1)), axis=1)),
        "trend": np.exp(-np.abs(12 * slope)),
        "slope": slope,
    }
