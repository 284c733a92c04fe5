"""Diagnostics against a naive count of one impression at a time."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from builder.parameters import ClickParameters
from tests.clicks.conftest import Impression
from tests.thorough import examples

HIGH = 2**63
DOCS = (1, 2, 3, HIGH, HIGH + 1, 2**64 - 1)


@st.composite
def logs(draw: st.DrawFn) -> list[Impression]:
    """Logs with duplicate documents, repeated and reordered clicks, and users or none."""
    impressions: list[Impression] = []
    for _ in range(draw(st.integers(0, 30))):
        shown = draw(st.lists(st.sampled_from(DOCS), min_size=1, max_size=5))
        clicks = draw(st.lists(st.integers(1, len(shown)), max_size=4))
        user = draw(st.none() | st.integers(1, 4))
        impressions.append((user, draw(st.sampled_from((3, HIGH + 1))), shown, clicks))
    return impressions


def naive(log: list[Impression]) -> dict[tuple[str, int], tuple[int, int]]:
    """Every measure over impressions, (count, total) by (measure, rank)."""
    total = len(log)
    pages = {
        "impressions_without_click": sum(not clicks for *_, clicks in log),
        "impressions_with_reordered_clicks": sum(c != sorted(c) for *_, c in log),
        "impressions_with_repeated_clicks": sum(len(set(c)) < len(c) for *_, c in log),
        "impressions_with_duplicate_results": sum(len(set(s)) < len(s) for *_, s, _ in log),
        "impressions_without_user": sum(user is None for user, *_ in log),
    }
    active = sorted(Counter(user for user, *_ in log if user is not None).values(), reverse=True)
    top = -(-len(active) // 100)
    users = {
        "impressions_of_most_active_user": sum(active[:1]),
        "impressions_of_top_percent_of_users": sum(active[:top]),
    }
    ranks = {
        ("click_through", rank): (
            sum(rank in clicks for *_, clicks in log),
            sum(len(shown) >= rank for *_, shown, _ in log),
        )
        for rank in range(1, max((len(shown) for *_, shown, _ in log), default=0) + 1)
    }
    return (
        {(name, 0): (count, total) for name, count in pages.items()}
        | {(name, 0): (count, sum(active)) for name, count in users.items()}
        | ranks
    )


def measured(out: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """The diagnostics in a folder that are not about pairs."""
    rows = pl.read_parquet(out / "click_diagnostics.parquet")
    rows = rows.filter(pl.col("measure").str.contains("^(impressions|click)"))
    return {(m, rank): (c, t) for m, rank, c, t in rows["measure", "rank", "count", "total"].rows()}


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example([(None, 3, [1, 1], []), (None, 3, [HIGH + 1, HIGH + 1], [])], "impression", "separate")
@given(logs(), st.sampled_from(["impression", "user"]), st.sampled_from(["separate", "joined"]))
def test_measures_are_those_of_one_impression_at_a_time(
    run_estimate: Any, log: list[Impression], votes: Any, pages: Any
) -> None:
    out, _ = run_estimate(log, ClickParameters(votes=votes, pages=pages, prior="beta"))
    assert measured(out) == naive(log)
