"""Section of the drift report on queries."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    format_snapshot_pair,
    nest_tables_if_many,
    overlap_heat_map,
    snapshot_upset_plot,
    status_chart,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Cell,
    Row,
    collapsible,
    decimal_cell,
    empty_note,
    figure,
    grid,
    integer_cell,
    percentage_cell,
    section,
    table,
)

STATUS_PARTS = (
    ("kept", "unchanged", lambda p: p["queries"]["kept"]),
    ("new", "added", lambda p: p["queries"]["new"]),
    ("gone", "removed", lambda p: p["queries"]["gone"]),
)
MOVERS = (("new", "New"), ("gone", "Gone"), ("risen", "Risen"), ("fallen", "Fallen"))


def queries_section(drift: Drift) -> Markup:
    """Render a report section on added and removed queries, and on changed query frequencies."""
    listed, judged = drift["queries"]["listed"], drift["queries"]["judged"]
    names = [s["snapshot"] for s in drift["snapshots"]]
    if not listed["ids"] and not judged["ids"]:
        return section(
            "queries",
            "Queries",
            None,
            empty_note("There are no queries in the query files or in the judgements."),
        )
    return section(
        "queries",
        "Queries",
        "Listed queries are in the query file, judged queries in the judgements. If both are built "
        "in the same way, they change in the same way.",
        status_chart("What happened to listed queries", drift["pairs"], STATUS_PARTS)
        if drift["pairs"]
        else None,
        grid(
            figure(
                "Overlap of listed queries", overlap_heat_map("Jaccard, listed", listed["overlap"])
            ),
            figure(
                "Overlap of judged queries", overlap_heat_map("Jaccard, judged", judged["overlap"])
            ),
            figure(
                "Listed queries by snapshots",
                snapshot_upset_plot(
                    "Queries in exactly these snapshots", names, listed["intersections"]
                ),
            ),
            figure(
                "Judged queries by snapshots",
                snapshot_upset_plot(
                    "Queries judged in exactly these snapshots", names, judged["intersections"]
                ),
            ),
        ),
        _frequency_table(drift),
        nest_tables_if_many(
            "Queries that changed most",
            [
                shown
                for pair in drift["pairs"]
                if (shown := _most_changed_query_tables(pair)) is not None
            ],
        ),
    )


def _frequency_table(drift: Drift) -> Markup:
    lengths = {row["snapshot"]: row for row in drift["queries"]["lengths"]}
    rows: list[Row] = []
    for pair in drift["pairs"]:
        q = pair["queries"]
        rows.append(
            [
                format_snapshot_pair(pair),
                integer_cell(q["kept"]),
                decimal_cell(q["frequency_spearman"]),
                percentage_cell(q["impressions_kept_from"] / q["impressions_from"])
                if q["impressions_from"]
                else Cell(numbers.DASH),
                decimal_cell(lengths[pair["from"]]["mean_words"], 2),
                decimal_cell(lengths[pair["to"]]["mean_words"], 2),
            ]
        )
    columns = (
        "Snapshots", "Kept", "Rank correlation of frequency", "Earlier impressions kept",
        "Words per query before", "Words per query after",
    )  # fmt: skip
    return table("Frequency and length of queries", columns, rows)


def _most_changed_query_tables(pair: Mapping[str, Any]) -> Markup | None:
    movers = pair["queries"]["movers"]
    lists = []
    for movement, heading in MOVERS:
        rows = [
            [
                row["text"],
                integer_cell(row["impressions_from"]),
                integer_cell(row["impressions_to"]),
            ]
            for row in movers[movement]
        ]
        if rows:
            lists.append(table(f"{heading} queries", ("Query", "Shown before", "After"), rows))
    if not lists:
        return None
    return collapsible(f"Queries that changed most, {format_snapshot_pair(pair)}", grid(*lists))
