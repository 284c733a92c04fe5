"""Averages of the official scorer of TREC KBA, computed by hand."""

import pytest

from builder.errors import UsageError
from builder.tasks.filtering import FilteringParameters, evaluate_filtering
from builder.tasks.filtering.official import AVERAGES
from tests.tasks.filtering.assertions import START, line, write


def exactly(values):
    return pytest.approx(values, rel=1e-12, abs=0)


def judged(document, target, rating=2, text_bytes=None):
    field = "" if text_bytes is None else f"\t{text_bytes}"
    return line(START, document, target, rating=rating) + field


def returned(document, target, confidence=1000):
    return line(START, document, target, confidence)


TRUTH = [
    *(judged(f"a{n}", "x") for n in range(4)),
    judged("a8", "x", rating=1),
    judged("a9", "x", rating=0),
    *(judged(f"b{n}", "y") for n in range(2)),
    judged("b9", "y", rating=-1),
]
RUN = [
    *(returned(f"a{n}", "x", 700 + n) for n in range(3)),
    returned("a8", "x", 300),
    returned("a9", "x", 200),
    returned("b0", "y", 700.9),
    returned("b9", "y", 900),
    returned("unjudged", "x", 1000),
    returned("b0", "unknown", 1000),
]


def score(folder, truth=TRUTH, run=RUN, **parameters):
    paths = write(folder / "truth.txt", truth), [write(folder / "run.txt", run)]
    return evaluate_filtering(*paths, FilteringParameters(**parameters))


def test_averages_at_each_cutoff_by_hand(tmp_path):
    """At 0, x has 3 TP, 2 FP, 1 FN and y 1 TP, 1 FP, 1 FN; at 700, x has 2 TP and y 1 FP."""
    result = score(tmp_path, min_positives=2, cutoff_step=350)
    first, second, third = result.official_cutoffs.rows(named=True)
    assert [row["cutoff"] for row in (first, second, third)] == [0, 350, 700]
    assert first["targets"] == 2
    macro_p, macro_r = (3 / 5 + 1 / 2) / 2, (3 / 4 + 1 / 2) / 2
    utilities = ((4 / 8 + 0.5) / 1.5, (1 / 4 + 0.5) / 1.5)
    assert [first[name] for name in AVERAGES] == exactly(
        [
            macro_p,
            macro_r,
            2 * macro_p * macro_r / (macro_p + macro_r),
            sum(utilities) / 2,
            4 / 7,
            4 / 6,
            8 / 13,
            (5 / 12 + 0.5) / 1.5,
        ]
    )
    assert second["macro_precision"] == exactly((1 + 1 / 2) / 2)
    assert second["micro_precision"] == exactly(4 / 5)
    assert [third[name] for name in AVERAGES] == exactly(
        [1 / 2, 1 / 4, 1 / 3, 5 / 12, 2 / 3, 1 / 3, 4 / 9, 1 / 2]
    )


def test_the_best_cutoff_of_each_average(tmp_path):
    result = score(tmp_path, min_positives=2, cutoff_step=350)
    best = result.official.row(0, named=True)
    assert (best["system"], best["targets"]) == ("run", 2)
    assert (best["macro_precision"], best["macro_recall"]) == exactly((3 / 4, 5 / 8))
    assert best["macro_f"] == exactly(2 * (3 / 4) * (5 / 8) / (11 / 8))
    assert best["micro_f"] == exactly(8 / 11)
    assert best["macro_utility"] == result.official_cutoffs["macro_utility"].max()


@pytest.mark.parametrize(("step", "cutoffs"), [(998, [0, 998]), (333, [0, 333, 666]), (1, None)])
def test_cutoffs_lie_below_999(tmp_path, step, cutoffs):
    found = score(tmp_path, min_positives=2, cutoff_step=step).official_cutoffs["cutoff"]
    assert found.to_list() == (cutoffs or [*range(999)])


def test_a_target_for_which_nothing_is_returned_has_no_precision(tmp_path):
    result = score(tmp_path, run=[returned("a0", "x")], min_positives=2)
    first = result.official_cutoffs.row(0, named=True)
    assert [first[name] for name in AVERAGES] == exactly(
        [1 / 2, 1 / 8, 1 / 5, (3 / 4 / 1.5 + 0.5 / 1.5) / 2, 1.0, 1 / 6, 2 / 7, (1 / 6 + 0.5) / 1.5]
    )


def test_a_target_without_relevant_documents_can_be_included(tmp_path):
    """It has neither recall nor utility, but lowers the averages."""
    truth = [judged("a0", "x"), judged("b0", "y", rating=0)]
    run = [returned("a0", "x"), returned("b0", "y")]
    first = score(tmp_path, truth, run, min_positives=0).official_cutoffs.row(0, named=True)
    assert [first[name] for name in AVERAGES] == exactly(
        [0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 2 / 3, (0.5 + 0.5) / 1.5]
    )


def test_of_tied_cutoffs_and_systems_the_first_is_reported(tmp_path):
    """At 0 and 350, F is 2/3: by recall 1 and precision 1/2 first, then the other way round."""
    truth = [*(judged(f"a{n}", "x") for n in range(2)), judged("a8", "x", rating=0)]
    run = [
        *(returned("a0", "x", 900), returned("a1", "x", 100), returned("a8", "x", 100)),
    ]
    truth.append(judged("a9", "x", rating=0))
    run.append(returned("a9", "x", 100))
    paths = [write(tmp_path / f"{name}.txt", run) for name in ("b", "a")]
    parameters = FilteringParameters(min_positives=2, cutoff_step=350)
    result = evaluate_filtering(write(tmp_path / "truth.txt", truth), paths, parameters)
    columns = ("system", "cutoff", "macro_precision", "macro_recall")
    third = pytest.approx(2 / 3)
    assert result.official_cutoffs.select(*columns, "macro_f").head(3).rows() == [
        *(("a", 0, 0.5, 1.0, third), ("a", 350, 1.0, 0.5, third), ("a", 700, 1.0, 0.5, third))
    ]
    assert result.official.select("system", "macro_precision", "micro_recall").rows() == [
        *(("a", 0.5, 1.0), ("b", 0.5, 1.0))
    ]


def test_systems_are_ordered_by_macro_f(tmp_path):
    truth = write(tmp_path / "truth.txt", TRUTH)
    runs = [write(tmp_path / "a.txt", RUN[4:]), write(tmp_path / "b.txt", RUN)]
    official = evaluate_filtering(truth, runs).official
    assert official["system"].to_list() == ["b", "a"]


def test_targets_with_few_relevant_documents_do_not_count(tmp_path):
    result = score(tmp_path)
    assert result.official["targets"].to_list() == [1]
    assert result.official_cutoffs.height == 20
    assert score(tmp_path, min_positives=5).official.is_empty()


def test_documents_with_little_text_do_not_count(tmp_path):
    truth = [judged(f"a{n}", "x", text_bytes=99 + n) for n in range(3)]
    assert score(tmp_path, truth, min_positives=2).official["macro_recall"].to_list() == [1.0]
    assert score(tmp_path, truth, min_positives=3).official.is_empty()
    short = score(tmp_path, truth, min_positives=3, min_text_bytes=0).official
    assert short["targets"].to_list() == [1]


def test_utility_has_a_lower_bound(tmp_path):
    truth = [judged("a0", "x"), *(judged(f"c{n}", "x", rating=0) for n in range(9))]
    run = [returned(f"c{n}", "x") for n in range(9)]
    assert score(tmp_path, truth, run, min_positives=1).official["macro_utility"].to_list() == [0.0]


@pytest.mark.parametrize("wrong", [{"min_positives": -1}, {"cutoff_step": 0}, {"cutoff_step": 999}])
def test_parameters_are_checked(wrong):
    with pytest.raises(UsageError):
        FilteringParameters(**wrong)
