"""Scores and agreement: worked cases, scikit-learn and statsmodels as oracles, no inputs."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from statsmodels.stats import inter_rater

from builder.errors import FormatError, UsageError
from builder.tasks.classification.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    measure_agreement_in_files,
)
from builder.tasks.classification.annotations import majority_labels, read_annotations
from builder.tasks.classification.scores import (
    macro_f1,
    relative_performance_difference,
    weighted_f1,
)
from tests.thorough import examples

labels = st.sampled_from(["p", "n", "x"])
pairs = st.lists(st.tuples(labels, labels), min_size=1, max_size=30)


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9)


def test_macro_f1_case():
    assert macro_f1(["p", "p", "p", "n", "n"], ["p", "p", "n", "n", "p"]) == exactly(
        0.5833333333333333
    )


def test_rpd_case_drops_are_negative():
    assert relative_performance_difference(0.8, 0.72) == exactly(-0.1)


def test_weighted_f1_case():
    scores, weights = {"short": 0.7, "long": 0.6}, {"short": 0.5, "long": 0.5}
    assert weighted_f1(scores, weights) == exactly(0.65)


@settings(max_examples=examples(1000), deadline=None)
@given(pairs)
def test_macro_f1_agrees_with_scikit_learn(pairs):
    truth, predicted = zip(*pairs, strict=True)
    expected = metrics.f1_score(truth, predicted, average="macro", zero_division=0)
    assert macro_f1(truth, predicted) == exactly(expected)


def test_a_missing_prediction_is_wrong_and_no_class():
    assert macro_f1(["p", "n"], ["p", None]) == exactly((1 + 0) / 2)
    assert macro_f1(["p", "p"], [None, None]) == 0.0


def test_undefined_scores_are_null():
    assert macro_f1([], []) is None
    assert relative_performance_difference(0.0, 0.5) is None
    assert relative_performance_difference(None, 0.5) is None
    assert relative_performance_difference(0.5, None) is None
    assert weighted_f1({"short": None, "long": 0.5}, {"short": 0.5, "long": 0.5}) is None
    assert weighted_f1({"short": None, "long": 0.5}, {"short": 0, "long": 1}) == 0.5


@pytest.mark.parametrize(
    "weights", [{}, {"short": 0}, {"short": 2, "long": -1}, {"short": math.inf}]
)
def test_impossible_weights(weights):
    with pytest.raises(UsageError, match="weights"):
        weighted_f1({"short": 0.5, "long": 0.5}, weights)


def test_lengths_must_agree():
    with pytest.raises(UsageError, match="expected 1 predictions"):
        macro_f1(["p"], [])
    with pytest.raises(UsageError, match="equal length"):
        cohen_kappa(["p"], [])


@settings(max_examples=examples(1000), deadline=None)
@given(pairs)
def test_cohen_agrees_with_scikit_learn(pairs):
    first, second = zip(*pairs, strict=True)
    found = cohen_kappa(first, second)
    if len({*first, *second}) == 1:
        assert (found.value, found.observed) == (None, 1.0)
        assert "disagreement" in found.reason
    else:
        assert found.value == exactly(metrics.cohen_kappa_score(first, second))


tables = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(0, 2), min_size=raters, max_size=raters), min_size=1, max_size=12
    )
)


@settings(max_examples=examples(1000), deadline=None)
@given(tables)
def test_fleiss_agrees_with_statsmodels(table):
    counts = [[row.count(category) for category in range(3)] for row in table]
    found = fleiss_kappa(counts)
    if found.value is None:
        assert "disagreement" in found.reason
        assert len({label for row in table for label in row}) == 1
    else:
        assert found.value == exactly(inter_rater.fleiss_kappa(np.array(counts)))


def naive_alpha(units):
    """Krippendorff (2004), 11.3: observed over expected disagreement of all pairable values."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    observed = sum(
        sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(values)
    expected = sum(a != b for a, b in permutations(values, 2)) / (len(values) * (len(values) - 1))
    return 1 - observed / expected if expected else None


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.lists(labels, max_size=4), max_size=10))
def test_krippendorff_agrees_with_its_definition(units):
    found = krippendorff_alpha(units)
    if not any(len(unit) > 1 for unit in units):
        assert (found.value, found.units) == (None, 0)
    else:
        expected = naive_alpha(units)
        assert found.value == (None if expected is None else exactly(expected))


def test_krippendorff_published_example():
    """Krippendorff (2011), computing alpha: nominal data, four observers, twelve units: .743."""
    rows = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    columns = zip(*(row.split() for row in rows), strict=True)
    units = [[value for value in column if value != "."] for column in columns]
    assert krippendorff_alpha(units).value == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize("counts", [[[1, 0]], [[2, 0], [1, 0]], [[2, 0], [3, 0]]])
def test_fleiss_needs_as_many_labels_everywhere(counts):
    with pytest.raises(UsageError, match="the same number of labels, 2 or more, for every unit"):
        fleiss_kappa(counts)


def test_nothing_to_compare():
    assert fleiss_kappa([]).value is None
    assert cohen_kappa([], []).value is None
    assert krippendorff_alpha([]).reason


ANNOTATIONS = [
    "id\tannotator\tlabel",
    "a\tann\tpositive",
    "a\tbob\tpositive",
    "a\tcleo\tnegative",
    "b\tann\tnegative",
    "b\tbob\tpositive",
    "c\tann\tneutral",
    "c\tbob\tneutral",
]


def test_agreement_of_files(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("\n".join(ANNOTATIONS) + "\n")
    report = measure_agreement_in_files([path])
    assert (report.posts, report.annotators) == (3, ("ann", "bob", "cleo"))
    ann_bob = report.pairs.row(0, named=True)
    assert (ann_bob["first"], ann_bob["second"], ann_bob["posts"]) == ("ann", "bob", 3)
    expected = metrics.cohen_kappa_score(["p", "n", "0"], ["p", "p", "0"])
    assert ann_bob["cohen_kappa"] == exactly(expected)
    assert report.fleiss.units == 2
    assert report.krippendorff.units == 3
    rows = majority_labels(read_annotations([path])).rows()
    assert rows == [("a", "positive", 3), ("b", None, 2), ("c", "neutral", 2)]


@pytest.mark.parametrize(
    "line", ["a\tann\tpositive", "d\tann\tgood", "d\tann", "\tann\tpositive", "d ann positive"]
)
def test_wrong_annotations_are_named(tmp_path, line):
    path = tmp_path / "labels.tsv"
    path.write_text("\n".join([*ANNOTATIONS, line]) + "\n")
    with pytest.raises(FormatError, match=r"labels\.tsv, line 9"):
        read_annotations([path])
