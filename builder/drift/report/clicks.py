"""The section on click models: predicted beside observed clicks."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import Drift
from builder.reporting.parts import (
    Row,
    decimal,
    grid,
    integer,
    nothing,
    paragraph,
    section,
    share,
    table,
)

LIMIT_OF_SDBN = (
    "What sDBN cannot see: it takes a rank as examined only where that rank, or one below it, is "
    "clicked, so that results at deep ranks look more attractive than they are, by about .1 at "
    "rank 9 for simulated users; the full dbn has no such condition."
)


def clicks(drift: Drift) -> Markup:
    """How well the click model of each snapshot predicts clicks."""
    found = drift.get("clicks", ())
    if not found:
        text = "No clicks could be held out, or the grades do not come from clicks."
        return section("clicks", "Clicks", None, nothing(text))
    return section(
        "clicks",
        "Clicks",
        "How well the click model behind the grades predicts impressions that it has not seen. The "
        "baseline is clicks by rank alone: a model that loses to it follows itself more than the "
        "users.",
        _scores(found),
        grid(*(_ranks(snapshot) for snapshot in found)),
        paragraph(LIMIT_OF_SDBN, "note")
        if any(snapshot["model"] == "sdbn" for snapshot in found)
        else None,
    )


def _scores(found: list[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshot", "Model", "Held-out impressions", "Log-likelihood", "of the baseline",
        "Perplexity", "of the baseline",
    )  # fmt: skip
    rows: list[Row] = [
        [
            each["snapshot"],
            each["model"],
            integer(each["held_out"]),
            decimal(each["log_likelihood"], 4),
            decimal(each["baseline_log_likelihood"], 4),
            decimal(each["perplexity"], 4),
            decimal(each["baseline_perplexity"], 4),
        ]
        for each in found
    ]
    return table("Log-likelihood nearer to 0 is better; perplexity nearer to 1", columns, rows)


def _ranks(snapshot: Mapping[str, Any]) -> Markup:
    most = max(max(row["observed"], row["predicted"]) for row in snapshot["ranks"])
    rows: list[Row] = [
        [
            str(row["rank"]),
            share(row["observed"], most),
            share(row["predicted"], most),
            integer(row["impressions"]),
        ]
        for row in snapshot["ranks"]
    ]
    columns = ("Rank", "Observed", "Predicted", "Held-out impressions")
    return table(f"Click rate by rank, {snapshot['snapshot']}", columns, rows)
