"""The section on the topics of queries."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Row,
    integer,
    nothing,
    paragraph,
    section,
    share,
    table,
)

TOPICS_SHOWN = 30
SNAPSHOTS_SHOWN = 4
"""Snapshots that the table of topics shows; all of them are in drift.json."""


def topics(drift: Drift) -> Markup:
    """What queries are about."""
    mix = drift["queries"]["topics"]
    if not mix["mix"]:
        return section("topics", "Topics", None, nothing("No query names a topic."))
    names = mix["snapshots"]
    chosen = _shown(len(names))
    shares = _topic_shares(mix, "impressions")
    most = max(value or 0.0 for row in shares for value in row)
    rows: list[Row] = [
        [
            row["topic"],
            *(share(shares[place][n], most) for n in chosen),
            *(integer(row["queries"][n]) for n in chosen),
        ]
        for place, row in enumerate(mix["mix"][:TOPICS_SHOWN])
    ]
    columns = ["Topic", *(names[n] for n in chosen), *(f"Queries {names[n]}" for n in chosen)]
    divergences = [
        f"{names[n]} to {names[n + 1]}: {numbers.decimal(shown, 4)} by impressions, "
        f"{numbers.decimal(listed, 4)} by queries"
        for n, (shown, listed) in enumerate(
            zip(mix["js_bits_impressions"], mix["js_bits"], strict=True)
        )
    ]
    more = len(mix["mix"]) - len(rows)
    return section(
        "topics",
        "Topics",
        "Share of each topic among the impressions of listed queries, and its queries; a query of "
        "several topics counts for each."
        + (f" Divergence in bits: {'; '.join(divergences)}." if divergences else ""),
        table("Topic mix", columns, rows),
        paragraph(f"{numbers.plural(more, 'more topic')} in drift.json.", "note")
        if more > 0
        else None,
    )


def _shown(snapshots: int) -> list[int]:
    """Positions of the snapshots that a table has room for: the first and the last ones."""
    if snapshots <= SNAPSHOTS_SHOWN:
        return list(range(snapshots))
    return [0, *range(snapshots - SNAPSHOTS_SHOWN + 1, snapshots)]


def _topic_shares(mix: Mapping[str, Any], counted: str) -> list[list[float | None]]:
    """The share of each topic in each snapshot, by `queries` or `impressions`."""
    snapshots = range(len(mix["snapshots"]))
    totals = [sum(row[counted][n] for row in mix["mix"]) for n in snapshots]
    return [
        [row[counted][n] / totals[n] if totals[n] else None for n in snapshots]
        for row in mix["mix"]
    ]
