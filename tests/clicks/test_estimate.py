"""The stage `clicks`: account, estimates, priors, diagnostics, variants, addition."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.clicks import estimate_relevance, sum_estimates
from builder.errors import UsageError
from builder.io.tables import Table, table_at
from builder.parameters import ClickParameters, VerdictFilter
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import ClickDiagnostics, ClickEstimates, Rejects, Variants, Verdicts

UNIFORM = ClickParameters(prior="beta")
LOG: list[Any] = [
    (1, 7, [11, 12, 13], [2, 2, 1]),
    (1, 7, [12, 11, 13], []),
    (2, 7, [13, 14], [1]),
    (None, 8, [11, 11], [2]),
    (None, 9, [11], [1]),
]


def estimates(out: Path) -> pl.DataFrame:
    """The estimates in a folder."""
    return pl.read_parquet(out / "click_estimates.parquet")


def rejected(out: Path) -> dict[str, int]:
    """Rows by reason, as the table of rejects has them."""
    rows = pl.read_parquet(out / "rejects.parquet")
    Rejects.validate(rows)
    return dict(rows.select("reason", "rows").rows())


def test_hand_computed_estimates(run_estimate: Any) -> None:
    out, ledger = run_estimate(LOG, UNIFORM, queries=(7, 8))
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("impressions", 5, 4)
    assert rejected(out) == {"query_not_selected": 1}
    columns = ("query", "doc", "impressions", "examinations", "clicks", "last_clicks")
    values = ("attractiveness", "satisfaction", "relevance", "other_examinations")
    assert estimates(out).select(*columns, *values).rows() == [
        (7, 11, 2, 2, 1, 0, 2 / 4, 1 / 3, 1 / 6, 1),
        (7, 12, 2, 2, 1, 1, 2 / 4, 2 / 3, 1 / 3, 1),
        (7, 13, 3, 2, 1, 1, 2 / 4, 2 / 3, 1 / 3, 1),
        (7, 14, 1, 0, 0, 0, None, None, None, 0),
        (8, 11, 2, 2, 1, 1, 2 / 4, 2 / 3, 1 / 3, 2),
    ]


def test_skipped_pages_without_clicks_are_rejects(run_estimate: Any) -> None:
    log = [*LOG, (None, 8, [77], [])]
    out, ledger = run_estimate(log, ClickParameters(prior="beta", no_click="skip"), queries=(7, 8))
    assert (ledger.rows_in, ledger.rows_out) == (6, 3)
    assert rejected(out) == {"query_not_selected": 1, "no_click_skipped": 2}
    found = estimates(out).select("doc", "impressions", "examinations", "other_examinations")
    assert found.rows()[1:3] == [(12, 1, 1, 2), (13, 2, 1, 2)]
    assert found.rows()[-1] == (77, 0, 0, 1)  # shown, but in no impression that counts


def test_fitted_priors_are_recorded_in_every_row(run_estimate: Any) -> None:
    log = [
        (None, q, [q * 10 + k for k in range(5)], [1 + q % 4]) for q in range(8) for _ in range(q)
    ]
    out, _ = run_estimate(log)
    found = estimates(out)
    priors = [
        f"{name}_{part}"
        for name in ("attractiveness", "satisfaction")
        for part in ("alpha", "beta")
    ]
    assert found.select(priors).n_unique() == 1
    alpha, beta = found.select(priors[:2]).row(0)
    assert (alpha, beta) != (1, 1)
    examined = found.filter(pl.col("examinations") > 0)
    expected = (examined["clicks"] + alpha) / (examined["examinations"] + alpha + beta)
    assert examined["attractiveness"].to_list() == expected.to_list()


def test_bytes_do_not_depend_on_threads(tmp_path: Path, impressions: Any, candidates: Any) -> None:
    log = [(n % 9, n % 6, [(n * k) % 23 for k in range(1, 9)], [1 + n % 8]) for n in range(3000)]
    tables = {"impressions": impressions(log), "candidates": candidates(*range(6))}
    written = []
    for threads in (1, 3):
        out, scratch = tmp_path / f"out-{threads}", tmp_path / f"scratch-{threads}"
        out.mkdir()
        scratch.mkdir()
        limits = ResourceLimits(scratch, threads, 2**29)
        estimate_relevance(
            out, **tables, params=ClickParameters(), limits=limits, progress=NoProgress()
        )
        written.append({path.name: path.read_bytes() for path in sorted(out.iterdir())})
    assert written[0] == written[1]


def test_diagnostics_are_counts_out_of_totals(run_estimate: Any) -> None:
    out, _ = run_estimate(LOG, queries=(7, 8))
    rows = pl.read_parquet(out / "click_diagnostics.parquet")
    ClickDiagnostics.validate(rows)
    shares = rows.filter(pl.col("value").is_null())["measure", "rank", "count", "total"]
    found = {(measure, rank): (count, total) for measure, rank, count, total in shares.rows()}
    assert found == {
        ("click_through", 1): (2, 4),
        ("click_through", 2): (2, 4),
        ("click_through", 3): (0, 2),
        ("impressions_of_most_active_user", 0): (2, 3),
        ("impressions_of_top_percent_of_users", 0): (2, 3),
        ("impressions_with_duplicate_results", 0): (1, 4),
        ("impressions_with_reordered_clicks", 0): (1, 4),
        ("impressions_with_repeated_clicks", 0): (1, 4),
        ("impressions_without_click", 0): (1, 4),
        ("impressions_without_user", 0): (1, 4),
        ("pairs_clicked", 0): (4, 5),
        ("pairs_examined_once", 0): (0, 5),
        ("pairs_never_examined", 0): (1, 5),
    }


def test_pairs_that_no_impression_counts_are_in_no_diagnostic(run_estimate: Any) -> None:
    log = [(None, 8, [11, 12], [1]), (None, 8, [77], [])]
    out, _ = run_estimate(log, ClickParameters(prior="beta", no_click="skip"))
    rows = pl.read_parquet(out / "click_diagnostics.parquet")
    pairs = rows.filter(pl.col("measure").str.starts_with("pairs_"))
    assert pairs.select("measure", "count", "total").rows() == [
        ("pairs_clicked", 1, 2),
        ("pairs_examined_once", 1, 2),
        ("pairs_never_examined", 1, 2),
    ]


def test_the_most_active_percent_of_102_users_are_two(run_estimate: Any) -> None:
    log = [(user, 8, [11], [1]) for user in range(102) for _ in range(1 + user % 2)]
    out, _ = run_estimate(log, UNIFORM)
    rows = pl.read_parquet(out / "click_diagnostics.parquet")
    (found,) = rows.filter(measure="impressions_of_top_percent_of_users").to_dicts()
    assert (found["count"], found["total"]) == (4, 153)


@pytest.mark.parametrize("is_listed", [True, False])
def test_clicks_of_variants_are_counted_together(
    run_estimate: Any, table: Any, is_listed: bool
) -> None:
    """A query that is not listed represents itself."""
    rows = [(7, 7, None, "a", 1.0, "itself"), (8, 7, None, "b", 0.9, "edit")]
    variants = table(rows if is_listed else rows[1:], Variants)
    apart, _ = run_estimate(LOG, UNIFORM, queries=(7, 8))
    together, ledger = run_estimate(LOG, UNIFORM, queries=(7, 8), variants=variants)
    assert ledger.rows_out == 4
    found = {row["doc"]: row for row in estimates(together).to_dicts()}
    assert {row["query"] for row in found.values()} == {7}
    assert (found[11]["impressions"], found[11]["clicks"]) == (4, 2)
    assert estimates(apart)["impressions"].sum() == estimates(together)["impressions"].sum()


def test_excluded_users_are_not_counted(run_estimate: Any, table: Any) -> None:
    verdicts = table(
        [("user", 1, "bot", "list", "1", 0.9), ("user", 2, "bot", "list", "1", 0.1)], Verdicts
    )
    filters = (VerdictFilter(name="bots", kind="user", label="bot"),)
    log = [*LOG, (2, 8, [12, 11], [1])]
    out, ledger = run_estimate(log, UNIFORM, queries=(7, 8), verdicts=verdicts, filters=filters)
    assert (ledger.rows_in, ledger.rows_out) == (6, 3)
    assert rejected(out) == {"query_not_selected": 1, "user_left_out": 2}
    kept, _ = run_estimate([*log[2:4], log[5]], UNIFORM)
    assert estimates(out).equals(estimates(kept))


@pytest.mark.parametrize("no_click", ["all_examined", "skip"])
@pytest.mark.parametrize("prior", ["empirical_bayes", "beta"])
def test_two_months_add_up_to_their_union(
    run_estimate: Any, tmp_path: Path, limits: ResourceLimits, no_click: Any, prior: Any
) -> None:
    log = [
        (None, n % 6, [(n * k) % 23 for k in range(1, 9)], [1 + n % 8] * (n % 3))
        for n in range(900)
    ]
    params = ClickParameters(no_click=no_click, prior=prior, last="time")
    months = [run_estimate(part, params)[0] for part in (log[:400], log[400:])]
    whole, _ = run_estimate(log, params)
    out = tmp_path / "sum.parquet"
    tables: list[Table] = [table_at(m, "click_estimates", ClickEstimates) for m in months]
    sum_estimates(tables, out, params=params, limits=limits)
    assert out.read_bytes() == (whole / "click_estimates.parquet").read_bytes()


def test_votes_by_user_do_not_add_up(
    run_estimate: Any, tmp_path: Path, limits: ResourceLimits
) -> None:
    out, _ = run_estimate(LOG)
    tables = [table_at(out, "click_estimates", ClickEstimates)]
    with pytest.raises(UsageError, match="vote twice"):
        sum_estimates(tables, tmp_path / "x", params=ClickParameters(votes="user"), limits=limits)
    with pytest.raises(UsageError, match="pbm cannot be added"):
        sum_estimates(tables, tmp_path / "x", params=ClickParameters(model="pbm"), limits=limits)
    with pytest.raises(UsageError, match="at least one"):
        sum_estimates([], tmp_path / "x", params=ClickParameters(), limits=limits)


def test_a_log_without_a_candidate_gives_empty_tables(run_estimate: Any) -> None:
    out, ledger = run_estimate(LOG, queries=(99,))
    assert (ledger.rows_in, ledger.rows_out) == (5, 0)
    assert estimates(out).height == 0
    assert pl.read_parquet(out / "click_diagnostics.parquet")["value"].null_count() == 10
