"""The section on queries."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    overlap_map,
    pair_name,
    status_bars,
    upset,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Cell,
    Row,
    decimal,
    figure,
    folded,
    grid,
    integer,
    nothing,
    section,
    share,
    table,
)

STATUS_PARTS = (
    ("kept", "unchanged", lambda p: p["queries"]["kept"]),
    ("new", "added", lambda p: p["queries"]["new"]),
    ("gone", "removed", lambda p: p["queries"]["gone"]),
)
MOVERS = (("new", "New"), ("gone", "Gone"), ("risen", "Risen"), ("fallen", "Fallen"))


def queries(drift: Drift) -> Markup:
    """How queries came, went and changed their frequency."""
    listed, judged = drift["queries"]["listed"], drift["queries"]["judged"]
    names = [s["snapshot"] for s in drift["snapshots"]]
    if not listed["ids"] and not judged["ids"]:
        return section("queries", "Queries", None, nothing("No query is listed or judged."))
    return section(
        "queries",
        "Queries",
        "Listed queries are in the query file, judged ones in the judgements. Where both are made "
        "alike, they change alike.",
        status_bars("What happened to listed queries", drift["pairs"], STATUS_PARTS)
        if drift["pairs"]
        else None,
        grid(
            figure("Overlap of listed queries", overlap_map("Jaccard, listed", listed["overlap"])),
            figure("Overlap of judged queries", overlap_map("Jaccard, judged", judged["overlap"])),
            figure(
                "Where listed queries are",
                upset("Queries in exactly these snapshots", names, listed["intersections"]),
            ),
            figure(
                "Where judged queries are",
                upset("Judged in exactly these snapshots", names, judged["intersections"]),
            ),
        ),
        _frequencies(drift),
        *(_movers(pair) for pair in drift["pairs"]),
    )


def _frequencies(drift: Drift) -> Markup:
    lengths = {row["snapshot"]: row for row in drift["queries"]["lengths"]}
    rows: list[Row] = []
    for pair in drift["pairs"]:
        q = pair["queries"]
        rows.append(
            [
                pair_name(pair),
                integer(q["kept"]),
                decimal(q["frequency_spearman"]),
                share(q["impressions_kept_from"] / q["impressions_from"])
                if q["impressions_from"]
                else Cell(numbers.DASH),
                decimal(lengths[pair["from"]]["mean_words"], 2),
                decimal(lengths[pair["to"]]["mean_words"], 2),
            ]
        )
    columns = (
        "Snapshots", "Kept", "Rank correlation of frequency", "Earlier impressions kept",
        "Words a query before", "Words a query after",
    )  # fmt: skip
    return table("Frequency and length of queries", columns, rows)


def _movers(pair: Mapping[str, Any]) -> Markup | None:
    movers = pair["queries"]["movers"]
    lists = []
    for movement, heading in MOVERS:
        rows = [
            [row["text"], integer(row["impressions_from"]), integer(row["impressions_to"])]
            for row in movers[movement]
        ]
        if rows:
            lists.append(table(f"{heading} queries", ("Query", "Shown before", "After"), rows))
    if not lists:
        return None
    return folded(f"Queries that moved most, {pair_name(pair)}", grid(*lists))
