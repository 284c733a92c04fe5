"""Tables 1, 2 and 3 of Kenter, Balog, de Rijke (2015), on trends of any scores.

In: scores of systems, or trends at several granularities. Out: rank correlations between rankings,
differences between slopes of two granularities, and how often the assumptions of the tests hold.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import polars as pl

from builder.statistics.rankings import kendall_tau_b

ASSUMPTION_ALPHA = 0.05
"""Level below which a p-value rejects an assumption."""
_TREND = ["system", "measure", "cutoff"]


def rank_correlations(rankings: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Kendall's tau-b between every two rankings of systems; Table 1.

    Args:
        rankings: Columns system and score (higher is better, null where undefined) by name.

    Returns:
        first, second, systems (with a score in both), kendall_tau_b, reason where it is null.
    """
    rows = []
    for one, other in combinations(rankings, 2):
        sides = [rankings[name].select("system", "score").drop_nulls() for name in (one, other)]
        both = sides[0].join(sides[1], on="system", suffix="_other").sort("system")
        scores = both.select(pl.col("score", "score_other").cast(pl.Float64)).to_numpy()
        tau = float(kendall_tau_b(scores[:, 0], scores[:, 1]))
        defined = not np.isnan(tau)
        why = "all systems are tied" if both.height > 1 else "fewer than two systems in both"
        value = tau if defined else None
        rows.append((one, other, both.height, value, None if defined else why))
    schema = {
        **dict.fromkeys(("first", "second"), pl.String()),
        "systems": pl.Int64(),
        "kendall_tau_b": pl.Float64(),
        "reason": pl.String(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def slope_stability(trends: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Differences of slopes per second between the first granularity and each other; Table 2.

    Args:
        trends: Columns system, measure, cutoff and slope_per_second by granularity.

    Returns:
        measure, granularity, trends (with a slope in both), mean, std (n - 1), min and max of the
        slope at the first granularity minus that at this one.
    """
    base, *others = trends
    difference = pl.col("slope_per_second") - pl.col("slope_per_second_other")
    frames = [
        trends[base]
        .join(trends[name], on=_TREND, suffix="_other")
        .group_by("measure")
        .agg(
            granularity=pl.lit(name),
            trends=difference.count(),
            mean=difference.mean(),
            std=difference.std(),
            min=difference.min(),
            max=difference.max(),
        )
        .sort("measure")
        for name in others
    ]
    return pl.concat(frames)


def assumption_rates(
    trends: Mapping[str, pl.DataFrame], alpha: float = ASSUMPTION_ALPHA
) -> pl.DataFrame:
    """How often the residuals of trends are normal and independent; Table 3.

    Args:
        trends: Columns of `TrendReport.trends` and `nonzero`: whether a score is above 0; by
            granularity.
        alpha: An assumption holds where its p-value is at least alpha.

    Returns:
        granularity, trends, nonzero, untested (non-zero trends without one of the p-values, which
        count as not met), anderson_darling, durbin_watson and both (numbers of non-zero trends for
        which they hold), share_both (of the non-zero trends; null without any).
    """
    normal = (pl.col("anderson_darling_p") >= alpha).fill_null(value=False)
    independent = (pl.col("durbin_watson_p") >= alpha).fill_null(value=False)
    untested = pl.col("anderson_darling_p").is_null() | pl.col("durbin_watson_p").is_null()
    rows = []
    for name, frame in trends.items():
        counted = frame.filter("nonzero").select(
            nonzero=pl.len(),
            untested=untested.sum(),
            anderson_darling=normal.sum(),
            durbin_watson=independent.sum(),
            both=(normal & independent).sum(),
        )
        rows.append(
            counted.cast(pl.Int64).select(
                pl.lit(name).alias("granularity"),
                pl.lit(frame.height, dtype=pl.Int64).alias("trends"),
                pl.all(),
                share_both=pl.when(pl.col("nonzero") > 0).then(pl.col("both") / pl.col("nonzero")),
            )
        )
    return pl.concat(rows)
