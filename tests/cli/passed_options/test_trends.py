"""Options of the commands on filtering, on summaries and on trends of scores."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.cli.filtering import create_filtering_parameters
from builder.cli.trends import JSON_ONLY, TrendGroup, _check_chart_path, _create_trend_parameters
from builder.errors import UsageError
from builder.tasks.filtering import KENTER_SWEEP, FilteringParameters, FilteringTrendParameters
from builder.tasks.summarization import SummarizationParameters
from tests.cli.passed_options.recorder import Recorder
from tests.cli.test_cli import Captured, run

SWEEP = tuple(range(50, 1001, 50))


def test_filtering_parameters_are_those_of_the_options() -> None:
    assert create_filtering_parameters() == FilteringParameters()
    assert create_filtering_parameters(sweep_cutoffs=True).cutoffs == KENTER_SWEEP == SWEEP
    assert create_filtering_parameters(cutoffs=[7], sweep_cutoffs=True).cutoffs == (7,)
    values = ("week", [5, 6], 1, "any", "ignored", "micro", 2.5, "above")
    assert create_filtering_parameters(*values) == FilteringParameters(
        granularity="week",
        cutoffs=(5, 6),
        relevance=1,
        assessors="any",
        unjudged="ignored",
        average="micro",
        zeta=2.5,
        cutoff_rule="above",
    )
    trend = FilteringParameters(granularity="week", cutoffs=SWEEP, relevance=1, zeta=2.5)
    assert _create_trend_parameters("week", None, 1, 2.5) == FilteringTrendParameters(
        filtering=trend
    )


@pytest.mark.parametrize(
    ("true", "official", "is_warned"), [([2, 0], 0, True), ([0, 0], 0, False), ([2, 0], 1, False)]
)
def test_options_of_filtering(
    true: list[int], official: int, is_warned: bool, recorded: Recorder, capsys: Captured
) -> None:
    frame = pl.DataFrame({"system": ["a"]})
    report = SimpleNamespace(
        whole=pl.DataFrame({"targets_true": true}),
        official=frame.head(official),
        official_cutoffs=frame,
        batches=frame,
        runs=frame,
    )
    calls = recorded("builder.tasks.filtering.evaluate_filtering", report)
    recorded("builder.tasks.filtering.matches.mismatch_warnings", ["odd\x1b"])
    assert run("filtering", "truth", "a", "b", "--cutoff", "5,6", "--min-positives", "7") == 0
    parameters = FilteringParameters(cutoffs=(5, 6), min_positives=7)
    assert calls == [((Path("truth"), [Path("a"), Path("b")], parameters), {})]
    said = capsys.readouterr()
    assert [line for line in said.out.splitlines() if line in vars(report)] == list(vars(report))
    told = (
        "warning: no target has 7 or more relevant documents, so the official averages are "
        "undefined: see --min-positives\n"
    )
    assert said.err == "warning: odd\\x1b\n" + (told if is_warned else "")


def test_options_of_summaries(recorded: Recorder, capsys: Captured) -> None:
    names = ("official_means", "official", "means", "events", "tau_means", "taus", "ignored")
    report = SimpleNamespace(**dict.fromkeys(names, pl.DataFrame()))
    calls = recorded("builder.tasks.summarization.evaluate_summaries", report)
    files = [Path(name) for name in "numr"]
    assert run("summarization", *files) == 0
    assert capsys.readouterr().out.split() == [word for name in names for word in (name, "(none)")]
    options = (
        *("--events", "e", "--relevance", "binary", "--max-importance", "3"),
        *("--zero-importance", "dropped", "--latency-step", "60", "--unpooled", "ignored"),
        *("--tau", "5", "--tau", "6"),
    )
    assert run("summarization", *files, *options) == 0
    given = SummarizationParameters("binary", 3, "dropped", 60, "ignored", (5, 6))
    assert [arguments for arguments, _ in calls] == [
        (*files[:3], files[3:], None, SummarizationParameters()),
        (*files[:3], files[3:], Path("e"), given),
    ]


@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        ("rankings", (), ()),
        ("granularities", (), (("day", "604800", "2592000"),)),
        ("granularities", ("--granularity", "hour,week"), (["hour", "week"],)),
        ("assumptions", ("--granularity", "hour", "--level", "0.01"), (["hour"], 0.01)),
    ],
)
def test_options_of_trends_of_filtering(
    command: str, options: tuple[str, ...], expected: tuple[Any, ...], recorded: Recorder
) -> None:
    function = {"rankings": "compare_rankings", "granularities": "compare_granularities"}
    name = function.get(command, "check_trend_assumptions")
    calls = recorded(f"builder.tasks.filtering.{name}", pl.DataFrame())
    assert run("trend", command, "truth", "a", "b", "--zeta", "2", *options) == 0
    filtering = FilteringParameters(cutoffs=SWEEP, zeta=2)
    parameters = FilteringTrendParameters(filtering=filtering)
    (((truth, runs, found, *more), _),) = calls
    assert (truth, runs, found) == (Path("truth"), [Path("a"), Path("b")], parameters)
    if options:
        assert tuple(more) == expected
    else:
        assert len(more) == len(expected)


def test_options_of_filtering_trends(recorded: Recorder, tmp_path: Path) -> None:
    calls = recorded("builder.tasks.filtering.evaluate_filtering_trends", "report")
    printed = recorded("builder.cli.trends._print_report")
    (tmp_path / "truth").touch()
    options = (
        *("--measure", "recall", "--granularity", "week", "--cutoff", "5", "--relevance", "1"),
        *("--assessors", "any", "--unjudged", "ignored", "--average", "micro", "--zeta", "2"),
        *("--cutoff-rule", "above", "--residuals", "weighted", "--chart", "c.svg"),
    )
    assert run("trend", tmp_path / "truth", "a", *options) == 0
    assert run("trend", "filtering", tmp_path / "truth", "a", "b") == 0
    given = FilteringParameters(
        granularity="week",
        cutoffs=(5,),
        relevance=1,
        assessors="any",
        unjudged="ignored",
        average="micro",
        zeta=2,
        cutoff_rule="above",
    )
    plain = FilteringTrendParameters(filtering=FilteringParameters(cutoffs=SWEEP))
    assert [arguments for arguments, _ in calls] == [
        (tmp_path / "truth", [Path("a")], FilteringTrendParameters("recall", "weighted", given)),
        (tmp_path / "truth", [Path("a"), Path("b")], plain),
    ]
    assert [arguments[1:] for arguments, _ in printed] == [
        ("report", Path("c.svg")),
        ("report", None),
    ]


def test_trends_of_a_table_may_be_plotted(
    recorded: Recorder, tmp_path: Path, capsys: Captured
) -> None:
    frame = pl.DataFrame({"system": ["a"]})
    trends = frame.with_columns(**dict.fromkeys(JSON_ONLY, pl.lit(1.0)))
    report = SimpleNamespace(trends=trends, ranking=frame, comparisons=frame)
    calls = recorded("builder.evaluation.snapshot_trend_report_from_file", report)
    recorded("builder.evaluation.trend_chart", "<svg>é")
    chart = tmp_path / "c.svg"
    options = ("--residuals", "weighted", "--chart", chart)
    assert run("trend", "scores", "s.tsv", *options) == 0
    assert chart.read_text("utf-8") == "<svg>é"
    assert calls == [((Path("s.tsv"), "weighted"), {})]
    printed = "".join(f"{name}\nsystem\na\n\n" for name in ("trends", "ranking", "comparisons"))
    assert capsys.readouterr().out == printed


def test_trends_of_snapshots_are_fitted_without_resamples(
    recorded: Recorder, collection: Any, tmp_path: Path
) -> None:
    calls = recorded("builder.evaluation.evaluate_paths", "evaluation")
    fitted = recorded("builder.evaluation.evaluation_trend_report")
    recorded("builder.cli.trends._print_report")
    assert run("trend", tmp_path, tmp_path / "run.txt") == 0
    options = ("--measures", "P@5", "--residuals", "weighted")
    assert run("trend", "snapshots", tmp_path, tmp_path / "run.txt", *options) == 0
    assert [list(qrels) for (qrels, _, _), _ in calls] == [["2022-06", "2022-07", "2022-08"]] * 2
    found = [(parameters.measures, parameters.resamples) for (*_, parameters), _ in calls]
    assert found == [(("nDCG@10",), 0), (("P@5",), 0)]
    assert fitted == [(("evaluation", "raw"), {}), (("evaluation", "weighted"), {})]


def test_trends_are_of_snapshots_if_an_argument_is_a_folder(tmp_path: Path) -> None:
    group = TrendGroup()
    (tmp_path / "file").touch()
    assert group.default_command([str(tmp_path / "file"), str(tmp_path)]) == "snapshots"
    assert group.default_command([str(tmp_path / "file")]) == "filtering"


def test_a_chart_is_an_svg_file_and_no_input(tmp_path: Path) -> None:
    _check_chart_path(None, tmp_path / "a.svg")
    _check_chart_path(tmp_path / "a.SVG", tmp_path / "b.svg")
    message = "^--chart: expected a file name that ends in .svg, found 'a.png'$"
    with pytest.raises(UsageError, match=message):
        _check_chart_path(tmp_path / "a.png")
    (tmp_path / "a.svg").touch()
    with pytest.raises(UsageError, match="the output would overwrite an input"):
        _check_chart_path(tmp_path / "a.svg", tmp_path / "b", tmp_path / "a.svg")
