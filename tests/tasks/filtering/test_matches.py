"""Warnings about filtering runs that match nothing of the truth file."""

import pytest

from builder.tasks.filtering.matches import mismatch_warnings
from builder.tasks.filtering.parameters import FilteringParameters
from builder.tasks.filtering.score import evaluate_filtering
from tests.cli.test_cli import run
from tests.tasks.filtering.assertions import DAY, START, line, write

SILENT = "{}: the run returns no document, because {}"
UNJUDGED = (
    "other: none of the returned documents is judged for its target; check that the run and the "
    "truth file use the same stream ids and targets"
)


@pytest.fixture
def truth(tmp_path):
    return write(tmp_path / "truth.txt", [line(START, "a", "x"), line(START, "b", "x", rating=1)])


@pytest.mark.parametrize("unjudged", ["false_positive", "ignored"])
def test_runs_that_match_nothing(tmp_path, truth, unjudged):
    lines = {
        "low": [line(START, "a", "x", rating=1)] * 2,
        "none": [],
        "other": [line(START, "a", "X"), line(START, "A", "x")],
        "some": [line(START, "a", "x"), line(START, "A", "x")],
        "wrong": [line(START, "b", "x")],
    }
    runs = [write(tmp_path / f"{name}.txt", text) for name, text in lines.items()]
    result = evaluate_filtering(truth, runs, FilteringParameters(unjudged=unjudged))
    low = SILENT.format("low", "all of its 2 lines have a rating below 2")
    expected = [low, SILENT.format("none", "it has no lines"), UNJUDGED]
    assert list(mismatch_warnings(result)) == expected


def test_a_truth_without_relevant_documents(tmp_path, truth, capsys):
    found = write(tmp_path / "found.txt", [line(START, "b", "x")])
    useful = write(tmp_path / "useful.txt", [line(START, "b", "x", rating=1)])
    assert run("filtering", useful, found) == 0
    assert capsys.readouterr().err == (
        "warning: no document of the truth file is relevant, so precision and recall are "
        "undefined; a document is relevant if all of its assessors rate it 2 or higher (see "
        "--relevance and --assessors)\n"
    )
    assert run("filtering", useful, found, "--relevance", "1", "--min-positives", "1") == 0
    assert capsys.readouterr().err == ""


def test_undefined_official_averages_are_explained(tmp_path, truth, capsys):
    """By default, targets with fewer than 4 relevant documents are left out of them."""
    found = write(tmp_path / "found.txt", [line(START, "a", "x")])
    assert run("filtering", truth, found) == 0
    assert capsys.readouterr().err == (
        "warning: no target has 4 or more relevant documents, so the official averages are "
        "undefined: see --min-positives\n"
    )


def test_a_run_outside_the_period_is_not_said_to_be_unjudged(tmp_path, truth):
    found = write(tmp_path / "late.txt", [line(START, "a", "x")])
    result = evaluate_filtering(truth, [found], FilteringParameters(start=0, end=10))
    _, warning = mismatch_warnings(result)
    assert (
        warning == "late: all 1 returned documents are outside the period; check its start and end"
    )


@pytest.mark.parametrize("unjudged", ["false_positive", "ignored"])
def test_a_run_with_some_documents_outside_the_period(tmp_path, truth, unjudged):
    """What is inside decides: `b` is judged, `A` is not."""
    late = [line(START + DAY, "a", "x"), line(START + DAY, "c", "x")]
    runs = [
        write(tmp_path / "some.txt", [*late, line(START, "b", "x")]),
        write(tmp_path / "other.txt", [*late, line(START, "A", "x")]),
    ]
    parameters = FilteringParameters(start=START, end=START + DAY, unjudged=unjudged)
    assert list(mismatch_warnings(evaluate_filtering(truth, runs, parameters))) == [UNJUDGED]


def test_confidences_that_are_probabilities(tmp_path, truth):
    confidences = {"low": [0.2, 1], "high": [0.2, 1.5], "none": []}
    runs = [
        write(tmp_path / f"{name}.txt", [line(START, "a", "x", confidence=c) for c in values])
        for name, values in confidences.items()
    ]
    low = (
        "low: all confidences are at most 1, but KBA confidences range up to 1000; multiply "
        "probabilities by 1000"
    )
    expected = [low, SILENT.format("none", "it has no lines")]
    assert list(mismatch_warnings(evaluate_filtering(truth, runs))) == expected
