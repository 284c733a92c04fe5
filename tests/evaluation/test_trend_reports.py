"""Trends over snapshots: ranking, weights, comparisons."""

import gzip

import polars as pl
import pytest

from builder.errors import FormatError, UsageError
from builder.evaluation.trend_reports import (
    snapshot_trend_report,
    snapshot_trend_report_from_file,
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
        ("s.csv", HEADER + "a,m,2022-06,0.5,1\nb,m,2022-07,0.5,\n",
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
        ("s.csv", "", ": expected a header line, found an empty file"),
        ("s.csv", HEADER,
         ": expected at least one row, with a system, a measure and a snapshot in each row"),
        ("s.csv", HEADER + "a,m,2022-06,0.5,1\n,m,2022-07,0.5,1\n",
         ": expected at least one row, with a system, a measure and a snapshot in each row"),
        ("s.csv", HEADER + "a,m,train,0.5,1\n",
         ": expected a snapshot name such as 2022-06, found 'train'"),
        ("s.csv", HEADER + "a,m,2022-06,0.5,1\na,m,2022-06,0.4,1\n",
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
