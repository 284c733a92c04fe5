"""Filtering: worked cases and requirements of Kenter et al. (2015), formats, a naive oracle."""

import gzip
import math
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.errors import FormatError, UsageError
from builder.tasks.filtering.kba import read_filtering_run, read_truth, system_name
from builder.tasks.filtering.measures import aptness, compute_batch_measures, f_pra, harmonic_mean
from builder.tasks.filtering.parameters import FilteringParameters
from builder.tasks.filtering.score import evaluate_filtering
from tests.tasks.filtering.assertions import DAY, START, line, write
from tests.thorough import examples


@pytest.mark.parametrize(
    ("fp", "zeta", "expected"), [(0, 1, 1), (1, 1, 0.5), (9, 1, 0.1), (5, 10, 0.6666666666666666)]
)
def test_aptness(fp, zeta, expected):
    assert aptness(fp, zeta) == pytest.approx(expected, abs=1e-9)


def test_the_default_of_zeta_is_1():
    assert aptness(3) == 1 / 4


@pytest.mark.parametrize(("fp", "zeta"), [(-1, 1), (0, 0), (1, -1)])
def test_aptness_out_of_range(fp, zeta):
    with pytest.raises(UsageError, match="zeta"):
        aptness(fp, zeta)


@pytest.mark.parametrize(
    ("p", "r", "a", "expected"),
    [
        (0.5, 0.25, 0.5, 0.375),
        (None, None, 0.25, 0.25),
        (0.5, None, 0.3333333333333333, 0.4),
        (None, None, 1.0, 1.0),
        (0.0, 0.0, 0.5, 0.0),
    ],
)
def test_f_pra(p, r, a, expected):
    assert f_pra(p, r, a) == pytest.approx(expected, abs=1e-9)


def test_harmonic_mean_of_nothing_is_undefined():
    assert harmonic_mean((None, None)) is None


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_relevance_requirements_of_figure_2(average):
    def score(*targets):
        return compute_batch_measures(targets, average)["f_pra"]

    assert score((2, 0, 2)) > score((1, 0, 2)), "case 1: more relevant documents"
    assert score((1, 0, 2)) > score((1, 1, 2)), "case 2: fewer false positives"
    assert score((1, 1, 2)) > score((0, 1, 2)), "case 3: some relevant documents"
    assert score((0, 1, 0)) > score((0, 2, 0)), "case 4: false positives without truth"
    assert score() > score((0, 1, 0)), "case 5: silence where there is nothing to find"


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_empty_run_and_empty_truth(average):
    row = compute_batch_measures([], average)
    assert (row["precision"], row["recall"], row["f_pr"]) == (None, None, None)
    assert (row["aptness"], row["f_pra"]) == (1.0, 1.0)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_without_truth_precision_is_undefined_and_not_zero(average):
    row = compute_batch_measures([(0, 3, 0)], average)
    assert (row["precision"], row["recall"], row["f_pra"]) == (None, None, 0.25)


def test_macro_averages_by_hand():
    row = compute_batch_measures([(1, 1, 2), (0, 0, 1), (0, 3, 0)])
    assert row["precision"] == pytest.approx((1 / 2 + 0) / 2)
    assert row["recall"] == pytest.approx((1 / 2 + 0) / 2)
    assert row["aptness"] == pytest.approx((1 / 2 + 1 + 1 / 4) / 3)
    assert (row["targets_true"], row["targets"]) == (2, 3)
    assert (row["tp"], row["fp"], row["fn"]) == (1, 4, 2)


def test_micro_averages_by_hand():
    row = compute_batch_measures([(1, 1, 2), (0, 0, 1), (0, 3, 0)], "micro", zeta=2)
    assert row["precision"] == pytest.approx(1 / 5)
    assert row["recall"] == pytest.approx(1 / 3)
    assert row["aptness"] == pytest.approx(2 / 6)


def test_three_days_by_hand(tmp_path):
    truth = write(
        tmp_path / "truth.gz",
        [
            line(START + 10, "a", "x"),
            line(START + 20, "b", "x"),
            line(START + 30, "c", "y", rating=1),
            line(START + 2 * DAY, "d", "y"),
        ],
    )
    run = write(
        tmp_path / "team-one.txt",
        [
            line(START + 10, "a", "x"),
            line(START + 30, "c", "y"),
            line(START + DAY, "e", "y"),
            line(START + 2 * DAY, "d", "y"),
        ],
    )
    result = evaluate_filtering(truth, [run])
    rows = result.batches.rows(named=True)
    assert [row["batch"] for row in rows] == [START, START + DAY, START + 2 * DAY]
    assert [row["system"] for row in rows] == ["team-one"] * 3
    first, second, third = rows
    assert (first["tp"], first["fp"], first["fn"], first["documents"]) == (1, 1, 1, 3)
    assert (first["precision"], first["recall"], first["aptness"]) == (1.0, 0.5, 0.75)
    assert first["f_pra"] == pytest.approx(3 / (1 + 2 + 4 / 3))
    assert (second["precision"], second["aptness"], second["f_pra"]) == (None, 0.5, 0.5)
    assert (third["f_pr"], third["f_pra"], third["documents"]) == (1.0, 1.0, 1)
    whole = result.whole.row(0, named=True)
    assert (whole["tp"], whole["fp"], whole["fn"], whole["documents"]) == (2, 2, 1, 5)
    assert result.runs.row(0, named=True)["unjudged"] == 1


def test_relevance_cutoff_and_disagreeing_assessors(tmp_path):
    lines = [
        line(1, "a", "x", rating=2),
        line(1, "a", "x", rating=1),
        line(1, "b", "x", rating=0),
        line(1, "b", "x", rating=1),
    ]
    truth = write(tmp_path / "truth.txt", lines)

    def relevant(**rules):
        return read_truth(truth, **rules).pairs["relevant"].to_list()

    assert relevant() == [False, False]
    assert relevant(assessors="any") == [True, False]
    assert relevant(min_rating=1) == [True, False]
    assert relevant(min_rating=1, assessors="any") == [True, True]
    assert relevant(min_rating=0) == [True, True]


def test_the_most_confident_assertion_of_a_pair_counts(tmp_path):
    run = write(
        tmp_path / "run.txt",
        [line(1, "a", "x", 10), line(1, "a", "x", 700), line(1, "a", "y", 5, rating=1)],
    )
    read = read_filtering_run(run)
    assert read.pairs["confidence"].to_list() == [700.0]
    assert (read.lines, read.below_rating, read.repeated) == (3, 1, 1)


@pytest.mark.parametrize(("rule", "returned"), [("at_or_above", [2, 1]), ("above", [1, 0])])
def test_cutoffs(tmp_path, rule, returned):
    truth = write(tmp_path / "truth.txt", [line(1, "a", "x")])
    run = write(tmp_path / "run.txt", [line(1, "a", "x", 50), line(1, "b", "x", 100)])
    parameters = FilteringParameters(cutoffs=(100, 50), cutoff_rule=rule)
    result = evaluate_filtering(truth, [run], parameters)
    assert result.batches["cutoff"].to_list() == [50.0, 100.0]
    assert (result.batches["tp"] + result.batches["fp"]).to_list() == returned


def test_unjudged_documents_can_be_ignored(tmp_path):
    truth = write(tmp_path / "truth.txt", [line(1, "a", "x"), line(1, "b", "x", rating=-1)])
    run = write(tmp_path / "run.txt", [line(1, name, "x") for name in "abc"])
    strict = evaluate_filtering(truth, [run]).batches.row(0, named=True)
    lenient = evaluate_filtering(truth, [run], FilteringParameters(unjudged="ignored"))
    assert (strict["fp"], lenient.batches["fp"].item()) == (2, 1)
    assert lenient.runs["unjudged"].item() == 1


def test_a_given_period_leaves_documents_out_and_counts_them(tmp_path):
    times = (START - 1, START, START + DAY, START + 2 * DAY)
    truth = write(tmp_path / "truth.txt", [line(START, "a", "x")])
    run = write(tmp_path / "run.txt", [line(time, time, "x") for time in times])
    parameters = FilteringParameters(start=START, end=START + 2 * DAY)
    result = evaluate_filtering(truth, [run], parameters)
    assert result.batches.height == 2
    assert result.runs.row(0, named=True)["outside_period"] == 2


def test_a_period_with_one_given_end_is_completed_by_the_documents(tmp_path):
    truth = write(tmp_path / "truth.txt", [line(START, "a", "x")])
    times = (START + DAY, START + 3 * DAY)
    run = write(tmp_path / "run.txt", [line(time, time, "x") for time in times])
    for parameters, days in (
        (FilteringParameters(), [0, 1, 2, 3]),
        (FilteringParameters(start=START + DAY), [1, 2, 3]),
        (FilteringParameters(end=START + 2 * DAY), [0, 1]),
    ):
        result = evaluate_filtering(truth, [run], parameters)
        assert result.batches["batch"].to_list() == [START + day * DAY for day in days]


def test_a_period_ends_one_second_after_its_last_document(tmp_path):
    truth = write(tmp_path / "truth.txt", [line(START, "a", "x"), line(START + DAY - 1, "b", "x")])
    run = write(tmp_path / "run.txt", [line(START + DAY - 1, "b", "x")])
    result = evaluate_filtering(truth, [run])
    assert result.batches["batch"].to_list() == [START]
    assert result.whole.row(0) == (
        *("run", 0.0, START, 2, 1, 1, 1, 0, 1, 1.0, 0.5),
        *(pytest.approx(2 / 3), 1.0, 0.75),
    )


def test_every_line_of_a_run_is_accounted_for(tmp_path):
    truth = write(tmp_path / "truth.txt", [line(START, "a", "x"), line(START, "b", "x", rating=0)])
    lines = [
        *(line(START, "a", "x", 10), line(START, "a", "x", 20), line(START, "a", "x", 5)),
        *(line(START, "b", "x"), line(START, "c", "x"), line(START, "d", "x")),
        *(line(START, "e", "x", rating=1), line(START - 1, "f", "x"), line(START + DAY, "g", "x")),
    ]
    runs = [write(tmp_path / "run.txt", lines), write(tmp_path / "none.txt", [])]
    expected = {
        "false_positive": ("run", 9, 1, 2, 2, 2, 4),
        "ignored": ("run", 9, 1, 2, 2, 2, 2),
    }
    for unjudged, row in expected.items():
        parameters = FilteringParameters(unjudged=unjudged, start=START, end=START + DAY)
        result = evaluate_filtering(truth, runs, parameters)
        assert result.runs.columns == [
            *("system", "lines", "below_rating", "repeated", "outside_period", "unjudged", "pairs")
        ]
        assert result.runs.rows() == [("none", 0, 0, 0, 0, 0, 0), row]
        assert result.max_confidences == {"run": 1000.0, "none": None}


def test_empty_run_scores_the_silence(tmp_path):
    truth = write(tmp_path / "truth.txt", [line(START, "a", "x"), line(START + 2 * DAY, "b", "x")])
    run = write(tmp_path / "silent.txt", [])
    result = evaluate_filtering(truth, [run])
    assert result.batches["f_pra"].to_list() == [0.0, 1.0, 0.0]
    assert result.batches["documents"].to_list() == [1, 0, 1]


def test_empty_truth_and_run_need_a_period(tmp_path):
    empty = write(tmp_path / "empty.txt", [])
    with pytest.raises(UsageError, match="start and end"):
        evaluate_filtering(empty, [empty])
    parameters = FilteringParameters(start=0, end=DAY)
    assert evaluate_filtering(empty, [empty], parameters).batches["f_pra"].to_list() == [1.0]


def test_two_runs_with_one_name(tmp_path):
    run = write(tmp_path / "run.txt", [line(1, "a", "x")])
    with pytest.raises(UsageError, match="distinct names"):
        evaluate_filtering(run, [run, run])
    with pytest.raises(UsageError, match=r"one or more run files with distinct names, found \[\]"):
        evaluate_filtering(run, [])


@pytest.mark.parametrize(
    ("name", "system"),
    [("a-b.gz", "a-b"), ("a-b.txt.gz", "a-b"), ("a.b.run", "a.b"), ("a.1", "a.1")],
)
def test_system_names(tmp_path, name, system):
    assert system_name(tmp_path / name) == system


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("team sys 1-a x 1000", "6 to 12 whitespace-separated fields"),
        (line(1, "a", "x") + " 1 2", "6 to 12 whitespace-separated fields"),
        ("team sys a-1 x 1000 2", "<seconds>-<hash>"),
        ("team sys 1- x 1000 2", "<seconds>-<hash>"),
        ("team sys 1-a x 0 2", "confidence"),
        ("team sys 1-a x 1000.5 2", "confidence"),
        ("team sys 1-a x nan 2", "confidence"),
        ("team sys 1-a x high 2", "confidence"),
        ("team sys 1-a x 5 3", "rating"),
        ("team sys 1-a x 5 vital", "rating"),
        ("team sys 1-a x 5 1.5", "rating"),
    ],
)
def test_malformed_lines_are_named(tmp_path, text, message):
    path = write(tmp_path / "bad.gz", [line(1, "a", "x"), "", text, text])
    with pytest.raises(FormatError, match=rf"bad\.gz, line 4: .*{message}"):
        read_filtering_run(path)


def test_broken_files_are_named(tmp_path):
    whole = gzip.compress(("\n".join([line(1, "a", "x")] * 5000)).encode())
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "latin.txt").write_bytes(line(1, "a", "x").encode() + b"\n\xe9")
    with pytest.raises(FormatError, match="gzip"):
        read_truth(tmp_path / "cut.gz")
    with pytest.raises(FormatError, match="line 2: expected UTF-8"):
        read_truth(tmp_path / "latin.txt")
    with pytest.raises(UsageError, match="cannot open file"):
        read_truth(tmp_path / "absent.txt")


def test_windows_line_ends(tmp_path):
    path = tmp_path / "run.txt"
    path.write_bytes(f"{line(1, 'a', 'x')}\r\n{line(1, 'b', 'x')}\r\n".encode())
    assert read_filtering_run(path).pairs.height == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"relevance": 3},
        {"assessors": "most"},
        {"average": "mean"},
        {"zeta": 0},
        {"zeta": math.inf},
        {"relevance": -2},
        {"cutoffs": ()},
        {"cutoffs": (math.nan,)},
        {"granularity": "year"},
        {"unjudged": "maybe"},
        {"cutoff_rule": "below"},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(UsageError):
        FilteringParameters(**wrong)


def test_the_documented_defaults_of_parameters():
    parameters = FilteringParameters()
    assert {name: getattr(parameters, name) for name in parameters.__slots__} == {
        "relevance": 2,
        "assessors": "all",
        "unjudged": "false_positive",
        "average": "macro",
        "zeta": 1.0,
        "granularity": "day",
        "start": None,
        "end": None,
        "cutoffs": (0.0,),
        "cutoff_rule": "at_or_above",
        "min_positives": 4,
        "min_text_bytes": 100,
        "cutoff_step": 50,
    }
    for allowed in ({"zeta": 0.5}, {"min_positives": 0}, {"relevance": -1}, {"cutoffs": (-1,)}):
        assert FilteringParameters(**allowed) != parameters


documents = st.tuples(st.integers(0, 3), st.integers(0, 5), st.sampled_from("xyz"))
truths = st.dictionaries(documents, st.integers(-1, 2), min_size=1, max_size=12)
returns = st.dictionaries(documents, st.integers(1, 1000), max_size=12)


def naive(truth, run, cutoff, zeta):
    """Section 4 of the paper, one batch after another."""
    for day in range(4):
        true, found = defaultdict(set), defaultdict(set)
        for (when, document, target), rating in truth.items():
            if when == day and rating == 2:
                true[target].add(document)
        for (when, document, target), confidence in run.items():
            if when == day and confidence >= cutoff:
                found[target].add(document)
        p = [len(true[t] & found[t]) / len(found[t]) if found[t] else 0 for t in set(true)]
        r = [len(true[t] & found[t]) / len(true[t]) for t in set(true) if true[t]]
        p = p if r else []
        both = {t for t in (*true, *found) if true[t] or found[t]}
        a = [zeta / (zeta + len(found[t] - true[t])) for t in both] or [1]
        parts = [sum(x) / len(x) for x in (p, r, a) if x]
        f = len(parts) / sum(1 / x for x in parts) if min(parts) else 0
        weight = {d for t in both for d in true[t] | found[t]}
        yield f, len(weight)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(truths, returns, st.sampled_from([1, 300]), st.sampled_from([1.0, 5.0]))
def test_agrees_with_a_naive_transcription(tmp_path, truth, run, cutoff, zeta):
    truth_lines = [
        line(START + day * DAY + doc, f"d{doc}", target, rating=rating)
        for (day, doc, target), rating in truth.items()
    ]
    run_lines = [
        line(START + day * DAY + doc, f"d{doc}", target, confidence)
        for (day, doc, target), confidence in run.items()
    ]
    parameters = FilteringParameters(cutoffs=(cutoff,), zeta=zeta, start=START, end=START + 4 * DAY)
    result = evaluate_filtering(
        write(tmp_path / "t.txt", truth_lines), [write(tmp_path / "r.txt", run_lines)], parameters
    )
    for row, (f, weight) in zip(
        result.batches.rows(named=True), naive(truth, run, cutoff, zeta), strict=True
    ):
        assert row["f_pra"] == pytest.approx(f, abs=1e-12)
        assert row["documents"] == weight
