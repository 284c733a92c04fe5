"""Section of the drift report on topics of queries."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import Drift, collapse_table_if_long, format_snapshot_pair
from builder.reporting import numbers
from builder.reporting.parts import (
    Row,
    decimal_cell,
    empty_note,
    integer_cell,
    paragraph,
    percentage_cell,
    section,
    table,
)

TOPICS_SHOWN = 30
SNAPSHOTS_SHOWN = 4
"""Maximum number of snapshots in the topic table; `drift.json` has all snapshots."""


def topics_section(drift: Drift) -> Markup:
    """Render a report section with the share of each topic in each snapshot."""
    mix = drift["queries"]["topics"]
    if not mix["mix"]:
        return section("topics", "Topics", None, empty_note("No query has a topic."))
    names = mix["snapshots"]
    chosen = _select_snapshot_indexes(len(names))
    shares = _topic_shares(mix, "impressions")
    most = max(value or 0.0 for row in shares for value in row)
    rows: list[Row] = [
        [
            row["topic"],
            *(percentage_cell(shares[place][n], most) for n in chosen),
            *(integer_cell(row["queries"][n]) for n in chosen),
        ]
        for place, row in enumerate(mix["mix"][:TOPICS_SHOWN])
    ]
    columns = ["Topic", *(names[n] for n in chosen), *(f"Queries {names[n]}" for n in chosen)]
    more = len(mix["mix"]) - len(rows)
    return section(
        "topics",
        "Topics",
        "Share of impressions and number of listed queries per topic; a query with several topics "
        "counts for each. Divergence is the Jensen-Shannon divergence in bits.",
        table("Topic mix", columns, rows),
        paragraph(f"{numbers.pluralize(more, 'more topic')} in drift.json.", "note")
        if more > 0
        else None,
        _divergence_table(mix) if len(names) > 1 else None,
    )


def _divergence_table(mix: Mapping[str, Any]) -> Markup:
    rows: list[Row] = [
        [
            format_snapshot_pair({"from": before, "to": after}),
            decimal_cell(shown, 4),
            decimal_cell(listed, 4),
        ]
        for (before, after), shown, listed in zip(
            pairwise(mix["snapshots"]), mix["js_bits_impressions"], mix["js_bits"], strict=True
        )
    ]
    columns = ("Snapshots", "By impressions", "By queries")
    return collapse_table_if_long("Divergence of the topic mix", columns, rows)


def _select_snapshot_indexes(n_snapshots: int) -> list[int]:
    """Return the indexes of the snapshots in the table: the first and the most recent ones."""
    if n_snapshots <= SNAPSHOTS_SHOWN:
        return list(range(n_snapshots))
    return [0, *range(n_snapshots - SNAPSHOTS_SHOWN + 1, n_snapshots)]


def _topic_shares(mix: Mapping[str, Any], field: str) -> list[list[float | None]]:
    """Return the share of each topic (row) in the `queries` or `impressions` of each snapshot."""
    snapshots = range(len(mix["snapshots"]))
    totals = [sum(row[field][n] for row in mix["mix"]) for n in snapshots]
    return [
        [row[field][n] / totals[n] if totals[n] else None for n in snapshots] for row in mix["mix"]
    ]
