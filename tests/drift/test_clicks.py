"""How well the click model predicts held-out clicks: from the diagnostics to the report."""

import re
from pathlib import Path

import polars as pl

from builder.drift.clicks import click_prediction_statistics
from builder.drift.report.clicks import LIMIT_OF_SDBN, clicks_section
from builder.io.tables import Table, write_frame
from schemas import ClickDiagnostics

Row = tuple[str, int, int, int, float | None, str | None]


def _table(folder: Path, model: str) -> Table:
    """Diagnostics of 40 held-out impressions out of 160, of which 10 have a second result."""
    rows: list[Row] = [
        ("click_through", 1, 60, 160, None, None),
        ("held_out_clicks", 2, 1, 10, 0.3, model),
        ("held_out_clicks", 1, 20, 40, 0.45, model),
        ("held_out_log_likelihood", 0, 40, 160, -0.9, model),
        ("held_out_perplexity", 0, 40, 160, 1.6, model),
        ("held_out_perplexity", 1, 40, 160, 1.7, model),
        ("baseline_log_likelihood", 0, 40, 160, -0.8, "rank-ctr"),
        ("baseline_perplexity", 0, 40, 160, 1.5, "rank-ctr"),
    ]
    path = folder / f"{model}.parquet"
    frame = pl.DataFrame(rows, schema=ClickDiagnostics.dtypes(), orient="row")
    write_frame(frame, path, ClickDiagnostics)
    return Table((path,), ClickDiagnostics)


def test_statistics_of_a_snapshot_by_hand(tmp_path: Path) -> None:
    (found,) = click_prediction_statistics({"2022-06": _table(tmp_path, "sdbn")})
    assert found == {
        "snapshot": "2022-06",
        "model": "sdbn",
        "held_out": 40,
        "sampled": 160,
        "log_likelihood": -0.9,
        "perplexity": 1.6,
        "baseline_log_likelihood": -0.8,
        "baseline_perplexity": 1.5,
        "ranks": [
            {"rank": 1, "impressions": 40, "observed": 0.5, "predicted": 0.45},
            {"rank": 2, "impressions": 10, "observed": 0.1, "predicted": 0.3},
        ],
    }


def test_twenty_ranks_are_listed(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("held_out_clicks", rank, 1, 10, 0.3, "pbm") for rank in reversed(range(1, 23))
    ]
    rows += [
        (f"{name}_{score}", 0, 40, 160, -0.9, "pbm")
        for name in ("held_out", "baseline")
        for score in ("log_likelihood", "perplexity")
    ]
    path = tmp_path / "many.parquet"
    frame = pl.DataFrame(rows, schema=ClickDiagnostics.dtypes(), orient="row")
    write_frame(frame, path, ClickDiagnostics)
    (found,) = click_prediction_statistics({"2022-06": Table((path,), ClickDiagnostics)})
    assert [row["rank"] for row in found["ranks"]] == list(range(1, 21))


def test_snapshots_without_held_out_impressions_have_no_statistics(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    rows = [("click_through", 1, 0, 3, None, None)]
    frame = pl.DataFrame(rows, schema=ClickDiagnostics.dtypes(), orient="row")
    write_frame(frame, path, ClickDiagnostics)
    assert click_prediction_statistics({"2022-06": Table((path,), ClickDiagnostics)}) == []
    assert "No impressions were held out" in clicks_section({"clicks": []})


def test_the_report_says_what_sdbn_cannot_see(tmp_path: Path) -> None:
    """It conditions on a click at or below; that was said nowhere in a build."""
    sections = {
        model: clicks_section(
            {"clicks": click_prediction_statistics({"x": _table(tmp_path, model)})}
        )
        for model in ("sdbn", "dbn")
    }
    assert LIMIT_OF_SDBN in sections["sdbn"]
    assert LIMIT_OF_SDBN not in sections["dbn"]
    assert "overestimated, by about 0.1 at rank 9" in LIMIT_OF_SDBN
    text = re.sub(r"<[^>]+>", " ", sections["dbn"])
    for shown in ("-0.9000", "1.6000", "-0.8000", "1.5000", "50.0 %", "45.0 %", "30.0 %"):
        assert shown in text.replace("\u2212", "-"), shown
