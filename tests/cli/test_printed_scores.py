"""What commands print of models, judgements, scores and trends that are given, whole."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.cli.clicks import _print_comparison, _print_report
from builder.cli.evaluation import format_sanity_rows
from builder.cli.json_output import sanity_rows_to_json
from builder.cli.judging import _print_agreement
from builder.cli.options import OutputFormat
from builder.cli.simulate import _print_sanity_scores
from builder.cli.trends import _print_report as print_trends
from builder.clicks import ModelComparison, ModelReport
from builder.clicks.comparison import ModelScores
from builder.clicks.log_summary import LogSummary
from builder.clicks.scores import ClickModelScore
from builder.evaluation import SanityCheckRow
from builder.judging.agreement import AgreementReport, PairwiseAgreement
from tests.cli.test_cli import Captured, run


@pytest.mark.parametrize(
    ("pairs", "clicks", "is_warned"), [(1200, 0, True), (1200, 1, False), (0, 0, False)]
)
def test_a_log_without_clicks_is_warned_of(
    pairs: int, clicks: int, is_warned: bool, capsys: Captured
) -> None:
    log = LogSummary("l", 2001, Counter({"b": 1, "a": 1000}), notes=["odd\x1b"])
    _print_report(ModelReport(log, pairs, 1000, clicks, None), Path("o.tsv"))
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "1,000 impressions from 2,001 records; rejected: a 1,000, b 1",
        "note: odd\\x1b",
        f"wrote {pairs:,} pairs to o.tsv; 1,000 of them were never examined and have no estimate",
    ]
    assert said.err.startswith("warning: found no clicks in the log; ") == is_warned


def test_models_are_compared_by_both_conventions(capsys: Captured) -> None:
    first = ClickModelScore(-0.1234567, 1.25, 2.5, (1.0, 1.5), (2.0, 3.0))
    second = ClickModelScore(-12.5, 1.0, 1.0, (1.23456, 1.0), (1.0, 1.0))
    models = (ModelScores("sdbn", first, second), ModelScores("rank-ctr", second, first))
    logs = (LogSummary("a", 1), LogSummary("b", 2))
    comparison = ModelComparison(1234, 5678, 9012, logs, models)
    _print_comparison(comparison, by_rank=True)
    lines = capsys.readouterr().out.splitlines()
    head = [
        "1 impression from 1 record; rejected: none",
        "2 impressions from 2 records; rejected: none",
        (
            "trained on 1,234 impressions, tested on 5,678; skipped 9,012 test impressions of "
            "queries without training impressions"
        ),
        "",
        "convention pyclick",
        "model     log-likelihood  perplexity  conditional",
        "sdbn           -0.123457    1.250000     2.500000",
        "rank-ctr      -12.500000    1.000000     1.000000",
    ]
    assert lines == [
        *head,
        "perplexity by rank       1       2",
        "sdbn                1.0000  1.5000",
        "rank-ctr            1.2346  1.0000",
        "",
        "convention per_rank",
        "model     log-likelihood  perplexity  conditional",
        "sdbn          -12.500000    1.000000     1.000000",
        "rank-ctr       -0.123457    1.250000     2.500000",
        "perplexity by rank       1       2",
        "sdbn                1.2346  1.0000",
        "rank-ctr            1.0000  1.5000",
    ]
    _print_comparison(comparison, by_rank=False)
    assert capsys.readouterr().out.splitlines() == [*head, *lines[11:16]]


def test_a_comparison_for_machines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    score = ClickModelScore(-0.5, 1.25, 2.5, (1.0,), (2.0,))
    comparison = ModelComparison(
        1, 2, 3, (LogSummary("été", 4),), (ModelScores("rank-ctr", score, score),)
    )
    monkeypatch.setattr("builder.clicks.compare_models", lambda *_, **__: comparison)
    assert run("clicks", "compare", "log", "--format", "json") == 0
    shown = capsys.readouterr().out
    assert shown.startswith('{\n "train": 1,\n "test": 2,\n "unseen": 3,\n "logs": [\n  {\n')
    assert '   "file": "été",\n' in shown
    scores = {
        "log_likelihood": -0.5,
        "perplexity": 1.25,
        "conditional_perplexity": 2.5,
        "by_rank": [1.0],
        "conditional_by_rank": [2.0],
    }
    assert json.loads(shown)["scores"] == [
        {"model": "rank-ctr", "pyclick": scores, "per_rank": scores}
    ]


def test_agreement_for_machines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    report = AgreementReport((), 0.25, None, 0, None)
    monkeypatch.setattr("builder.judging.read_assessments", lambda sources: pl.DataFrame())
    monkeypatch.setattr("builder.judging.measure_agreement", lambda *_: report)
    assert run("assess", "agreement", "j.parquet", "--format", "json") == 0
    assert capsys.readouterr().out == (
        '{\n "assessors": [],\n "alpha_nominal": 0.25,\n "alpha_ordinal": null,\n "units": 0,\n'
        ' "clicks": null\n}\n'
    )


SANITY = [
    SanityCheckRow("fr", "2022-06", 1200, 0.51236, 0.4, 0.0),
    SanityCheckRow("en", "2022-06", 0, None, None, None),
]


def test_sanity_scores_have_three_decimals(capsys: Captured) -> None:
    table = [
        "language  snapshot  queries  nDCG@10   P@10  by chance",
        "fr        2022-06     1,200    0.512  0.400      0.000",
        "en        2022-06         0        -      -          -",
    ]
    assert format_sanity_rows(SANITY).splitlines() == table
    _print_sanity_scores(SANITY)
    assert capsys.readouterr().out.splitlines() == [
        "BM25 compared with a chance baseline:",
        *table,
        "",
    ]
    _print_sanity_scores(None)
    assert capsys.readouterr().out == (
        "BM25 scores: install the extras [baseline] and [evaluation] to compute them\n\n"
    )
    assert sanity_rows_to_json(SANITY)[1] == {
        "language": "en",
        "snapshot": "2022-06",
        "queries": 0,
        "ndcg": None,
        "precision": None,
        "by_chance": None,
    }


def test_agreement_is_printed_by_pair_of_assessors(capsys: Captured) -> None:
    pair = PairwiseAgreement("ann", "bob", 1200, 700, 0.51234, None, ())
    clicks = PairwiseAgreement("manual", "click", 9, 8, 0.0, 1.0, ())
    _print_agreement(AgreementReport((pair,), 0.25, None, 1300, clicks))
    assert capsys.readouterr().out.splitlines() == [
        "first   second  pairs  same   kappa  quadratic kappa",
        "ann     bob     1,200   700  0.5123  undefined",
        "manual  click       9     8  0.0000  1.0000",
        "Krippendorff's alpha over 1,300 pairs: nominal 0.2500, ordinal undefined",
    ]
    _print_agreement(AgreementReport((), None, 0.5, 0, None))
    assert capsys.readouterr().out.splitlines() == [
        "no pair was judged more than once",
        "Krippendorff's alpha over 0 pairs: nominal undefined, ordinal 0.5000",
    ]


def test_trends_have_all_columns_in_json_only(tmp_path: Path, capsys: Captured) -> None:
    hidden = (
        *("intercept", "t", "df", "end_point_observed", "anderson_darling", "durbin_watson"),
        *("durbin_watson_p_positive", "slope_per_batch"),
    )
    trends = pl.DataFrame({"system": ["s"], **{name: [1.0] for name in hidden}, "p": [0.5]})
    report: Any = SimpleNamespace(
        trends=trends, ranking=pl.DataFrame({"system": ["s"]}), comparisons=pl.DataFrame()
    )
    print_trends(OutputFormat.TEXT, report, None)
    assert capsys.readouterr().out == (
        "trends\nsystem       p\ns       0.5000\n\nranking\nsystem\ns\n\ncomparisons\n(none)\n\n"
    )
    print_trends(OutputFormat.JSON, report, None)
    assert set(json.loads(capsys.readouterr().out)["trends"][0]) == {"system", "p", *hidden}
