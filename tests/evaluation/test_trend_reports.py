"""Trends over snapshots: ranking, weights, comparisons."""

import gzip

import polars as pl
import pytest

from builder.errors import FormatError, UsageError
from builder.evaluation.evaluator import evaluate
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.trend_reports import (
    evaluation_trend_report,
    snapshot_trend_report,
    snapshot_trend_report_from_file,
    snapshot_unix_seconds,
    trend_report,
)
from builder.evaluation.trends import fit_trend

DAY = 86_400


def snapshots(**scores):
    months = ["2022-06", "2022-07", "2022-09", "2022-10"]
    rows = [
        (system, "nDCG", month, score)
        for system, values in scores.items()
        for month, score in zip(months, values, strict=False)
    ]
    return pl.DataFrame(rows, schema=["system", "measure", "snapshot", "score"], orient="row")


def test_trend_over_snapshots(tmp_path):
    report = snapshot_trend_report(
        snapshots(fading=[0.4, 0.38, 0.31, 0.3], flat=[0.2] * 4, new=[0.9])
    )
    assert report.ranking["system"].to_list() == ["fading", "flat", "new"]
    assert report.ranking["rank"].to_list() == [1, 2, None]
    fading, flat, new = report.trends.rows(named=True)
    days = [0, 30, 92, 122]
    expected = fit_trend(days, [0.4, 0.38, 0.31, 0.3], [1] * 4)
    assert fading["slope_per_day"] == pytest.approx(expected.slope, rel=1e-12)
    assert fading["end_point"] == pytest.approx(expected.end_point, rel=1e-12)
    assert fading["p"] == pytest.approx(expected.p, rel=1e-9)
    assert (flat["end_point"], flat["p"]) == (0.2, None)
    assert (new["batches"], new["end_point"]) == (1, None)
    assert report.comparisons["reason"].null_count() == 0
    assert report.comparisons.select("first", "second").rows() == [
        ("fading", "flat"),
        ("fading", "new"),
        ("flat", "new"),
    ]


def test_slopes_are_compared_by_hand() -> None:
    """Slopes -0.02 and 0.01 per day; the standard errors are those of the single trends."""
    report = snapshot_trend_report(snapshots(a=[0.6, 0.1, -1.3, -1.8], b=[0.2, 0.45, 1.2, 1.35]))
    a, b = (row["slope_per_day"] for row in report.trends.sort("system").rows(named=True))
    errors = report.trends["slope_se_per_day"].to_list()
    (row,) = report.comparisons.rows(named=True)
    sign = 1 if row["first"] == "a" else -1
    assert {row["first"], row["second"]} == {"a", "b"}
    assert row["slope_difference_per_day"] == pytest.approx(sign * (a - b))
    assert row["z"] == pytest.approx(sign * (a - b) / sum(e**2 for e in errors) ** 0.5)


def test_systems_are_ranked_and_compared_for_each_measure() -> None:
    """Systems a and b have the same end point of AP, and no slope has a standard error."""
    ends = {"AP": {"c": 0.2, "b": 0.5, "a": 0.5}, "RR": {"c": 0.9, "a": 0.1}}
    rows = [
        (system, measure, month, end)
        for measure, systems in ends.items()
        for system, end in systems.items()
        for month in ("2022-06", "2022-07-01", "2022-09")
    ]
    report = snapshot_trend_report(
        pl.DataFrame(rows, schema=["system", "measure", "snapshot", "score"], orient="row")
    )
    assert report.ranking.rows() == [
        (1, "a", "AP", 0.5, 0.0, None),
        (1, "b", "AP", 0.5, 0.0, None),
        (3, "c", "AP", 0.2, 0.0, None),
        (1, "c", "RR", 0.9, 0.0, None),
        (2, "a", "RR", 0.1, 0.0, None),
    ]
    assert report.ranking.columns == [
        *("rank", "system", "measure", "end_point", "slope_per_day", "p")
    ]
    undefined = (None, None, None, "the standard error of a slope is undefined")
    assert report.comparisons.rows() == [
        ("AP", "a", "b", *undefined),
        ("AP", "a", "c", *undefined),
        ("AP", "b", "c", *undefined),
        ("RR", "c", "a", *undefined),
    ]
    assert report.comparisons.columns == [
        *("measure", "first", "second", "slope_difference_per_day", "z", "p", "reason")
    ]
    assert report.trends.schema == {
        "system": pl.String,
        "measure": pl.String,
        "batches": pl.Int64,
        **dict.fromkeys(("intercept", "slope_per_day", "slope_se_per_day", "t"), pl.Float64),
        "df": pl.Int64,
        "p": pl.Float64,
        "end_point": pl.Float64,
        **dict.fromkeys(("end_point_observed", "anderson_darling"), pl.Float64),
        **dict.fromkeys(("anderson_darling_p", "durbin_watson"), pl.Float64),
        **dict.fromkeys(("durbin_watson_p", "durbin_watson_p_positive"), pl.Float64),
        "reason": pl.String,
        "slope_per_batch": pl.Float64,
    }
    assert report.trends["slope_per_batch"].null_count() == 5


def test_a_system_without_a_score_for_a_snapshot_has_a_batch_of_no_weight() -> None:
    """1 June 2022 began 1,654,041,600 seconds after 1970, 1 July 30 days later."""
    scores = snapshots(a=[0.1, 0.2], b=[0.3]).reverse()
    assert snapshot_trend_report(scores).scores.rows() == [
        ("a", "nDCG", 1654041600, 0.1, 1.0),
        ("a", "nDCG", 1656633600, 0.2, 1.0),
        ("b", "nDCG", 1654041600, 0.3, 1.0),
        ("b", "nDCG", 1656633600, None, 0.0),
    ]
    weighted = scores.with_columns(weight=pl.Series([5, 4, 3]))
    assert snapshot_trend_report(weighted).scores["weight"].to_list() == [3.0, 4.0, 5.0, 0.0]


def test_a_system_is_ranked_by_its_best_trend() -> None:
    """Of `s`, the cutoff 9 ends at 0.4, the cutoff 5 at 0.3; 7 has too few batches."""
    rows = [
        ("s", "m", cutoff, day * DAY, score, 1.0)
        for cutoff, scores in ((5, [0.3] * 3), (9, [0.4] * 3), (7, [0.9]), (8, [0.4] * 3))
        for day, score in enumerate(scores)
    ]
    columns = ["system", "measure", "cutoff", "time", "score", "weight"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    report = trend_report(frame, ["system", "measure", "cutoff"], "raw", DAY)
    assert report.ranking.rows() == [(1, "s", "m", 8, 0.4, 0.0, None)]
    assert report.trends.select("cutoff", "end_point", "slope_per_batch").rows() == [
        (5, 0.3, 0.0), (7, None, None), (8, 0.4, 0.0), (9, 0.4, 0.0)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["raw", "weighted"])
def test_the_residuals_that_are_tested_are_those_of_the_parameter(kind, tmp_path) -> None:
    """The Durbin-Watson statistic is 2.709 for raw, 3.108 for weighted residuals (see Trend)."""
    frame = pl.DataFrame(
        {
            "system": "a",
            "measure": "m",
            "snapshot": [f"2022-06-0{day}" for day in range(1, 7)],
            "score": [0.5, 0.46, 0.47, 0.38, 0.41, 0.3],
            "weight": [10, 20, 15, 30, 5, 20],
        }
    )
    path = tmp_path / "scores.csv"
    frame.write_csv(path)
    expected = {"raw": 2.709187, "weighted": 3.107941}[kind]
    for report in (snapshot_trend_report(frame, kind), snapshot_trend_report_from_file(path, kind)):
        assert report.trends["durbin_watson"][0] == pytest.approx(expected, abs=1e-6)
        assert report.trends["slope_per_day"][0] == pytest.approx(-0.039842519685)


def test_trends_of_an_evaluation_are_of_all_judged_queries(make_qrels, make_run) -> None:
    """P@1 is 1 of 2, 1 of 1 and 0 of 1; only q1 is judged in every snapshot."""
    pytest.importorskip("pytrec_eval")
    judged = {"2022-06": ["q1", "q2"], "2022-07": ["q1"], "2022-08-15": ["q1"]}
    found = {"2022-06": "ab", "2022-07": "a", "2022-08-15": "b"}
    qrels = {name: make_qrels([(q, "a", 1) for q in queries]) for name, queries in judged.items()}
    runs = {
        name: make_run({f"q{n}": [document] for n, document in enumerate(documents, 1)})
        for name, documents in found.items()
    }
    evaluation = evaluate(qrels, {"s": runs}, EvaluationParameters(("P@1",), resamples=0))
    report = evaluation_trend_report(evaluation)
    assert report.scores.select("system", "measure", "score", "weight").rows() == [
        ("s", "P@1", 0.5, 2.0), ("s", "P@1", 1.0, 1.0), ("s", "P@1", 0.0, 1.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["", "2022", "20220601", "2022-6-01", "2022-06-1", "2022-13", "2022-06-31"]
)
def test_names_of_snapshots_that_are_no_dates(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        snapshot_unix_seconds(name)
    assert str(caught.value) == f"expected a snapshot name such as 2022-06, found {name!r}"


def test_slope_per_batch_is_the_slope_times_the_length_of_a_batch() -> None:
    times = pl.DataFrame({"system": "a", "measure": "m", "time": [0, 100, 200], "weight": 1.0})
    scores = times.with_columns(score=pl.Series([0.2, 0.5, 0.8]))
    row = trend_report(scores, ["system", "measure"], "raw", 100).trends.row(0, named=True)
    assert row["slope_per_day"] == pytest.approx(259.2)
    assert row["slope_per_batch"] == pytest.approx(0.3)


def test_the_order_of_rows_changes_nothing():
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1], b=[0.1, 0.2, 0.2, 0.25])
    one, other = snapshot_trend_report(frame), snapshot_trend_report(frame.reverse())
    assert one.trends.equals(other.trends)
    assert one.ranking.equals(other.ranking)
    assert one.comparisons.equals(other.comparisons)


def test_weights_of_snapshots_count():
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1])
    weighted = frame.with_columns(weight=pl.Series([1.0, 5.0, 1.0, 2.0]))
    plain, heavy = snapshot_trend_report(frame), snapshot_trend_report(weighted)
    assert plain.trends["slope_per_day"].item() != heavy.trends["slope_per_day"].item()


def test_snapshot_trend_path(tmp_path):
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1])
    path = tmp_path / "scores.tsv"
    frame.write_csv(path, separator="\t")
    assert snapshot_trend_report_from_file(path).trends.equals(snapshot_trend_report(frame).trends)
    path.write_text("system\tsnapshot\na\t2022-06\n")
    with pytest.raises(UsageError, match=r"scores\.tsv: expected the .*, found no measure, score$"):
        snapshot_trend_report_from_file(path)


NO_COLUMNS = (
    ": expected the columns system, measure, snapshot, score, found no system, measure, snapshot"
)
HEADER = "system,measure,snapshot,score,weight\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.csv", HEADER + "a,m,2022-06,0.5,1\n\na,m,2022-07,high,1\n",
         ", line 4: expected a finite number in column 'score', found 'high'"),
        ("s.csv", HEADER + '"a\nb",m,2022-06,0.5,nan\n',
         ", line 3: expected a finite number in column 'weight', found 'nan'"),
        ("s.csv", HEADER + "a,m,2022-06,0.5\n", ", line 2: expected 5 fields, found 4"),
        ("s.csv", HEADER + "a,m,2022-06,0.5,1\nb,m,2022-07,0.5,\na,m,2022-08,1,\n",
         ": expected a weight in every row or no weight column, found no weight for b, m, 2022-07"),
        ("s.csv", "system;measure;score\na;m;0.5\n",
         ", line 1: expected columns separated by ',', found the header 'system;measure;score'"),
        ("s.txt", "system,score\na,0.5\n",
         ", line 1: expected columns separated by '\\t', found the header 'system,score'"),
        ("s.csv", "system,measure,snapshot,score,Weight\na,m,2022-06,0.5,1\n",
         ", line 1: expected the column 'weight', found 'Weight'"),
        ("s.tsv", "score\n", NO_COLUMNS),
        ("s.csv", HEADER + 'a,m,2022-06,"0.5\n', ", line 2: unexpected end of data"),
        ("s.csv", "score,score\n", ", line 1: column 'score' occurs more than once"),
        ("s.csv", "x" * 80 + ";y\n",
         f", line 1: expected columns separated by ',', found the header '{'x' * 80}'"),
        ("s.csv", HEADER + f"a,m,2022-06,{'x' * 41},1\n",
         f", line 2: expected a finite number in column 'score', found '{'x' * 40}'"),
        ("s.csv", "", ": expected a header line, found an empty file"),
        ("s.csv", HEADER,
         ": expected at least one row, with a system, a measure and a snapshot in each row"),
        ("s.csv", HEADER + "a,m,2022-06,0.5,1\n,m,2022-07,0.5,1\n",
         ": expected at least one row, with a system, a measure and a snapshot in each row"),
        ("s.csv", HEADER + "a,m,train,0.5,1\n",
         ": expected a snapshot name such as 2022-06, found 'train'"),
        ("s.csv", HEADER + 2 * "a,m,2022-06,0.5,1\nb,m,2022-06,0.4,1\n",
         ": expected one score per system, measure and snapshot, found several for a, m, 2022-06"),
    ],
)  # fmt: skip
def test_a_damaged_table_of_scores(tmp_path, name: str, text: str, message: str):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises((FormatError, UsageError)) as caught:
        snapshot_trend_report_from_file(path)
    assert str(caught.value) == f"{path}{message}"


def test_the_name_of_a_csv_table_may_be_in_capitals_or_compressed(tmp_path):
    text = HEADER + 'a,m,2022-06,"0.5",1\n'
    for name, data in (("s.CSV", text.encode()), ("s.csv.gz", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(data)
        assert snapshot_trend_report_from_file(path).scores["score"].to_list() == [0.5]


def test_quotes_are_characters_of_a_tsv_and_undefined_scores_are_empty(tmp_path):
    path = tmp_path / "scores.tsv"
    rows = [f'"a\tm\t2022-{month:02}\t{score}\tx\n' for month, score in ((6, 0.5), (7, ""))]
    path.write_text("system\tmeasure\tsnapshot\tscore\tother\n" + "".join(rows))
    scores = snapshot_trend_report_from_file(path).scores
    assert scores.select("system", "score").rows() == [('"a', 0.5), ('"a', None)]


def test_wrong_snapshot_tables_are_refused():
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1])
    with pytest.raises(
        UsageError, match="expected the columns system, measure, snapshot, score, found no score"
    ):
        snapshot_trend_report(frame.drop("score"))
    with pytest.raises(UsageError, match="found several for a, nDCG, 2022-06"):
        snapshot_trend_report(pl.concat([frame, frame]))
    with pytest.raises(UsageError, match="2022-06"):
        snapshot_trend_report(frame.with_columns(snapshot=pl.lit("June")))
