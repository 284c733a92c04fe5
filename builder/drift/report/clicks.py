"""Section of the drift report on click models, with predicted and observed click rates."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import Drift
from builder.reporting.parts import (
    Row,
    decimal_cell,
    empty_note,
    grid,
    integer_cell,
    paragraph,
    percentage_cell,
    section,
    table,
)

LIMIT_OF_SDBN = (
    "Limitation of sDBN: it counts a rank as examined only if this or a lower rank is clicked, so "
    "that the attractiveness of results at low ranks is overestimated, by about 0.1 at rank 9 for "
    "simulated users; the full DBN model does not have this bias."
)


def clicks_section(drift: Drift) -> Markup:
    """Render a report section on how well click models predict held-out clicks."""
    found = drift.get("clicks", ())
    if not found:
        text = "No impressions were held out, or the grades are not derived from clicks."
        return section("clicks", "Clicks", None, empty_note(text))
    return section(
        "clicks",
        "Clicks",
        "How well the click model behind the grades predicts held-out impressions. The baseline "
        "knows only the click rate per rank; a model that predicts worse than the baseline does "
        "not describe the users.",
        _model_score_table(found),
        grid(*(_click_rate_table(snapshot) for snapshot in found)),
        paragraph(LIMIT_OF_SDBN, "note")
        if any(snapshot["model"] == "sdbn" for snapshot in found)
        else None,
    )


def _model_score_table(snapshots: list[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshot", "Model", "Held-out impressions", "Log-likelihood", "Baseline",
        "Perplexity", "Baseline",
    )  # fmt: skip
    rows: list[Row] = [
        [
            each["snapshot"],
            each["model"],
            integer_cell(each["held_out"]),
            decimal_cell(each["log_likelihood"], 4),
            decimal_cell(each["baseline_log_likelihood"], 4),
            decimal_cell(each["perplexity"], 4),
            decimal_cell(each["baseline_perplexity"], 4),
        ]
        for each in snapshots
    ]
    return table("Log-likelihood is best near 0, perplexity is best near 1", columns, rows)


def _click_rate_table(snapshot: Mapping[str, Any]) -> Markup:
    most = max(max(row["observed"], row["predicted"]) for row in snapshot["ranks"])
    rows: list[Row] = [
        [
            str(row["rank"]),
            percentage_cell(row["observed"], most),
            percentage_cell(row["predicted"], most),
            integer_cell(row["impressions"]),
        ]
        for row in snapshot["ranks"]
    ]
    columns = ("Rank", "Observed", "Predicted", "Held-out impressions")
    return table(f"Click rate by rank, {snapshot['snapshot']}", columns, rows)
