"""Tables 1 to 3 of Kenter et al. (2015), computed again from the trends of each run."""

import json
from statistics import mean, stdev

import pytest
from scipy.stats import kendalltau
from typer.testing import CliRunner

from builder.cli import app
from builder.errors import UsageError
from builder.tasks.filtering import (
    FilteringParameters,
    FilteringTrendParameters,
    check_trend_assumptions,
    compare_granularities,
    compare_rankings,
    evaluate_filtering,
    evaluate_filtering_trends,
)
from builder.tasks.filtering.measures import MEASURES
from tests.tasks.filtering.assertions import DAY, START, line, write

CUTOFFS = (100.0, 600.0)
PARAMETERS = FilteringTrendParameters(filtering=FilteringParameters(cutoffs=CUTOFFS))
DAYS = 28


@pytest.fixture
def files(tmp_path):
    """Truth of six documents a day for four weeks, and runs that miss other parts of it."""
    truth, runs = [], {"late": [], "early": [], "steady": [], "silent": []}
    for day in range(DAYS):
        for number in range(6):
            text = line(START + day * DAY + number, f"{day}-{number}", "xy"[number % 2])
            truth.append(text)
            confidence = 1000 - 150 * number
            scored = line(
                START + day * DAY + number, f"{day}-{number}", "xy"[number % 2], confidence
            )
            if number <= 5 * day / DAYS:
                runs["late"].append(scored)
            if number <= 5 * (1 - day / DAYS) + day % 3:
                runs["early"].append(scored)
            if (number + day) % 4:
                runs["steady"].append(scored)
        runs["steady"].append(line(START + day * DAY + 9, f"{day}-9", "x", 700))
    paths = [write(tmp_path / f"{name}.txt", lines) for name, lines in runs.items()]
    return write(tmp_path / "truth.txt", truth), paths


def trends(files, measure, granularity="day"):
    filtering = FilteringParameters(cutoffs=CUTOFFS, granularity=granularity)
    return evaluate_filtering_trends(
        *files, FilteringTrendParameters(measure, filtering=filtering)
    ).trends


def test_rankings(files):
    table = compare_rankings(*files, PARAMETERS)
    names = ["F1", "end point of f_pr", "end point of f_pra"]
    assert table.select("first", "second").rows() == [
        (names[0], names[1]),
        (names[0], names[2]),
        (names[1], names[2]),
    ]
    whole = evaluate_filtering(*files, PARAMETERS.filtering).whole
    best = {names[0]: best_by_system(whole, "f_pr")}
    for name, measure in zip(names[1:], ("f_pr", "f_pra"), strict=True):
        best[name] = best_by_system(trends(files, measure), "end_point")
    for first, second, systems, tau in table.rows():
        shared = sorted(best[first].keys() & best[second].keys())
        assert systems == len(shared)
        one, two = ([best[name][system] for system in shared] for name in (first, second))
        assert tau == pytest.approx(kendalltau(one, two).statistic, abs=1e-12)


def best_by_system(frame, column):
    best = {}
    for system, value in frame.select("system", column).drop_nulls().rows():
        best[system] = max(value, best.get(system, value))
    return best


def slopes_of(frame):
    columns = ("system", "cutoff", "slope_per_day")
    return {(system, cutoff): slope for system, cutoff, slope in frame.select(columns).rows()}


def test_granularities(files):
    table = compare_granularities(*files, PARAMETERS, ["day", "week", str(14 * DAY)])
    assert table.select("granularity", "measure").rows() == [
        (unit, measure) for unit in ("week", str(14 * DAY)) for measure in MEASURES
    ]
    for unit, measure, count, average, deviation, least, most in table.rows():
        slopes = [
            dict(zip(zip(t["system"], t["cutoff"], strict=True), t["slope_per_day"], strict=True))
            for t in (trends(files, measure), trends(files, measure, unit))
        ]
        differences = [
            slopes[0][key] - slopes[1][key]
            for key in slopes[0]
            if None not in (slopes[0][key], slopes[1][key])
        ]
        assert count == len(differences)
        if not differences:
            assert (average, deviation, least, most) == (None,) * 4
            continue
        assert average == pytest.approx(mean(differences), abs=1e-13)
        assert deviation == pytest.approx(stdev(differences), abs=1e-13)
        assert (least, most) == (min(differences), max(differences))


@pytest.mark.parametrize("level", [0.05, 0.5])
def test_assumptions(files, level):
    table = check_trend_assumptions(*files, PARAMETERS, ["day", "week"], level)
    assert table["granularity"].to_list() == ["day", "week"]
    for unit, count, normal, independent, both, share in table.rows():
        found = []
        for measure in MEASURES:
            filtering = FilteringParameters(cutoffs=CUTOFFS, granularity=unit)
            report = evaluate_filtering_trends(
                *files, FilteringTrendParameters(measure, filtering=filtering)
            )
            scored = {
                (system, cutoff)
                for system, cutoff, score in report.scores.select(
                    "system", "cutoff", "score"
                ).rows()
                if score
            }
            columns = ("system", "cutoff", "anderson_darling_p", "durbin_watson_p")
            for system, cutoff, p_normal, p_independent in report.trends.select(columns).rows():
                if (system, cutoff) in scored:
                    found.append(((p_normal or 0) >= level, (p_independent or 0) >= level))
        assert count == len(found)
        assert normal == sum(one for one, _ in found)
        assert independent == sum(two for _, two in found)
        assert both == sum(one and two for one, two in found)
        assert share == both / count
    assert 0 < table["both"].sum() < table["trends"].sum()


def test_the_share_is_zero_if_no_trend_satisfies_an_assumption(files):
    table = check_trend_assumptions(*files, PARAMETERS, ["day"], 0.999999)
    assert table.row(0) == ("day", 32, 0, 0, 0, 0.0)


def test_the_lengths_of_batches_and_the_level_are_those_of_the_paper(files):
    """1, 7 and 30 days; 5 %."""
    table = compare_granularities(*files, PARAMETERS)
    assert table["granularity"].unique(maintain_order=True).to_list() == ["604800", "2592000"]
    assumptions = check_trend_assumptions(*files, PARAMETERS)
    assert assumptions["granularity"].to_list() == ["day", "604800", "2592000"]
    explicit = check_trend_assumptions(*files, PARAMETERS, assumptions["granularity"], 0.05)
    assert assumptions.equals(explicit)


def test_systems_that_are_tied_have_no_rank_correlation(files):
    truth, runs = files
    twin = runs[0].with_name("twin.txt")
    twin.write_bytes(runs[0].read_bytes())
    table = compare_rankings(truth, [runs[0], twin], PARAMETERS)
    assert table.select("systems", "kendall_tau_b").rows() == [(2, None)] * 3


def test_trends_of_nothing_but_zeros_are_not_counted(tmp_path):
    """On every other day, nothing is relevant: precision and recall are undefined, and F_pra is
    the aptness, which is above 0. In a week, it is 0, as the precision is.
    """
    relevant = [line(START + day * DAY, f"{day}", "x") for day in range(0, DAYS, 2)]
    truth = write(tmp_path / "half.txt", relevant)
    wrong = write(
        tmp_path / "wrong.txt", [line(START + day * DAY, "no", "z") for day in range(DAYS)]
    )
    parameters = FilteringTrendParameters(filtering=FilteringParameters(cutoffs=(0,)))
    table = check_trend_assumptions(truth, [wrong], parameters, ["day", "week"])
    assert table.select("granularity", "trends").rows() == [("day", 2), ("week", 1)]


def test_wrong_requests(files):
    truth, runs = files
    with pytest.raises(UsageError, match="two or more runs"):
        compare_rankings(truth, runs[:1])
    with pytest.raises(UsageError, match="two or more granularities, found 1"):
        compare_granularities(truth, runs, PARAMETERS, ["day"])
    for level in (0, 1):
        with pytest.raises(UsageError, match="significance level"):
            check_trend_assumptions(truth, runs, PARAMETERS, significance_level=level)


def told(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--format", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_command_line_gives_what_the_library_gives(files):
    truth, runs = files
    cutoffs = ("--cutoff", "100", "--cutoff", "600")
    tables = {
        ("rankings", "rankings"): compare_rankings(truth, runs, PARAMETERS),
        ("granularities", "slope_differences"): compare_granularities(truth, runs, PARAMETERS),
        ("assumptions", "assumptions"): check_trend_assumptions(truth, runs, PARAMETERS),
    }
    for (verb, name), expected in tables.items():
        assert told("trend", verb, truth, *runs, *cutoffs)[name] == expected.to_dicts()
    default = evaluate_filtering_trends(truth, runs)
    for verb in (["trend"], ["trend", "filtering"]):
        assert told(*verb, truth, *runs)["ranking"] == default.ranking.to_dicts()
    zeta = FilteringParameters(zeta=7.0, relevance=1, average="micro", cutoff_rule="above")
    options = ("--zeta", "7", "--relevance", "1", "--average", "micro", "--cutoff-rule", "above")
    found = told("filtering", truth, *runs, *options)["whole"]
    assert found == evaluate_filtering(truth, runs, zeta).whole.to_dicts()
    assert found != evaluate_filtering(truth, runs).whole.to_dicts()
