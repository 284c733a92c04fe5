"""Tables 1 to 3 of Kenter et al. (2015), by hand on small frames."""

import polars as pl
import pytest

from builder.evaluation.trend_tables import assumption_rates, rank_correlations, slope_stability


def ranking(**scores: float | None) -> pl.DataFrame:
    return pl.DataFrame({"system": list(scores), "score": list(scores.values())})


def test_rank_correlations_by_hand() -> None:
    official = ranking(a=0.9, b=0.5, c=0.1, d=0.3)
    ends = ranking(c=0.2, b=0.8, a=0.7, d=None)
    found = rank_correlations({"official": official, "f_pr": ends, "one": ranking(a=1.0)})
    rows = {(row["first"], row["second"]): row for row in found.iter_rows(named=True)}
    # a b c against b a c: two pairs agree, one does not
    assert rows["official", "f_pr"]["systems"] == 3
    assert rows["official", "f_pr"]["kendall_tau_b"] == pytest.approx(1 / 3)
    assert rows["official", "one"]["kendall_tau_b"] is None
    assert "fewer than two systems" in rows["official", "one"]["reason"]


def slopes(*values: float | None) -> pl.DataFrame:
    rows = [("s", "recall", float(i), value) for i, value in enumerate(values)]
    schema = ["system", "measure", "cutoff", "slope_per_second"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_slope_stability_by_hand() -> None:
    trends = {"day": slopes(1.0, 4.0, None), "week": slopes(0.0, 1.0, 5.0), "x": slopes(1.0)}
    week, x = slope_stability(trends).rows(named=True)
    assert (week["measure"], week["granularity"], week["trends"]) == ("recall", "week", 2)
    assert (week["mean"], week["min"], week["max"]) == (2.0, 1.0, 3.0)
    assert week["std"] == pytest.approx(2**0.5)
    assert (x["trends"], x["mean"], x["std"]) == (1, 0.0, None)


def test_assumption_rates_by_hand() -> None:
    rows = [(True, 0.05, 0.5), (True, 0.04, 0.5), (True, 0.9, 0.01), (True, 0.9, None)]
    frame = pl.DataFrame(
        [*rows, (False, 0.9, 0.9)],
        schema=["nonzero", "anderson_darling_p", "durbin_watson_p"],
        orient="row",
    )
    day, none = assumption_rates({"day": frame, "none": frame.head(0)}).rows(named=True)
    assert day == {
        "granularity": "day",
        "trends": 5,
        "nonzero": 4,
        "untested": 1,
        "anderson_darling": 3,
        "durbin_watson": 2,
        "both": 1,
        "share_both": 0.25,
    }
    assert (none["nonzero"], none["share_both"]) == (0, None)
