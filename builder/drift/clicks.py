"""How well the click model of each snapshot predicts clicks that it has not seen.

In: `click_diagnostics` of every snapshot that was built. Out: the part `clicks` of `drift.json`,
that is the model, its log-likelihood and perplexity beside those of clicks by rank alone, and the
observed and the predicted click rate of each rank.
"""

from typing import Any

import polars as pl

from builder.drift.series import Tables

SCORES = ("log_likelihood", "perplexity")
MAX_RANKS = 20
"""Ranks that are listed; all of them are in `click_diagnostics`."""


def snapshot_statistics(diagnostics: Tables) -> list[dict[str, Any]]:
    """One object for each snapshot where something could be held out.

    Args:
        diagnostics: `click_diagnostics` of each snapshot, by name, in order of time.
    """
    found = ((name, table.scan().collect()) for name, table in diagnostics.items())
    return [
        {"snapshot": name} | _prediction_quality(rows)
        for name, rows in found
        if (rows["measure"] == "held_out_clicks").any()
    ]


def _prediction_quality(diagnostics: pl.DataFrame) -> dict[str, Any]:
    clicks = diagnostics.filter(measure="held_out_clicks").sort("rank")
    whole = diagnostics.filter(rank=0)
    values = dict(zip(whole["measure"], whole["value"], strict=True))
    sizes = whole.row(by_predicate=pl.col("measure") == "held_out_log_likelihood", named=True)
    return {
        "model": sizes["model"],
        "held_out": sizes["count"],
        "sampled": sizes["total"],
        **{name: values[f"held_out_{name}"] for name in SCORES},
        **{f"baseline_{name}": values[f"baseline_{name}"] for name in SCORES},
        "ranks": [
            {
                "rank": row["rank"],
                "impressions": row["total"],
                "observed": row["count"] / row["total"],
                "predicted": row["value"],
            }
            for row in clicks.head(MAX_RANKS).iter_rows(named=True)
        ],
    }
