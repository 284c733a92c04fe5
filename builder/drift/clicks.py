"""Reports how well the click model of each snapshot predicts held-out impressions.

Reads `click_diagnostics` of every built snapshot. Returns the value of the key `clicks` in
`drift.json`: for each snapshot, the model, the log-likelihood and perplexity of the model and of a
baseline that knows only the click rate per rank, and the observed and predicted click rates.
"""

from typing import Any

import polars as pl

from builder.drift.series import Tables

SCORES = ("log_likelihood", "perplexity")
MAX_RANKS = 20
"""Maximum number of ranks in the click statistics; the table `click_diagnostics` has all ranks."""


def click_prediction_statistics(click_diagnostics: Tables) -> list[dict[str, Any]]:
    """Return how well the click model predicts clicks, for each snapshot with held-out impressions.

    Args:
        click_diagnostics: Tables `click_diagnostics` by snapshot name, in chronological order.
    """
    found = ((name, table.scan().collect()) for name, table in click_diagnostics.items())
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
