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
    AgreementCoefficient,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    measure_agreement_in_files,
)
from builder.tasks.classification.annotations import majority_labels, read_annotations
from builder.tasks.classification.scores import (
    ClassCounts,
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


@pytest.mark.parametrize("sums", ["1", "1, 2"])
def test_the_numbers_of_labels_that_differ_are_named(sums):
    with pytest.raises(UsageError) as error:
        fleiss_kappa([[int(number), 0] for number in sums.split(", ")])
    assert str(error.value) == (
        "expected the same number of labels, 2 or more, for every unit; found units with "
        f"{sums} labels"
    )


def test_nothing_to_compare():
    nothing = AgreementCoefficient(None, 0, None, "no post has two labels to compare")
    assert fleiss_kappa([]) == cohen_kappa([], []) == krippendorff_alpha([["p"], []]) == nothing


def test_equal_labels_agree_by_chance():
    reason = (
        "all labels are equal, so the expected disagreement is 0 and the coefficient is undefined"
    )
    equal = AgreementCoefficient(None, 2, 1.0, reason)
    assert fleiss_kappa([[3, 0], [3, 0]]) == equal
    assert cohen_kappa("pp", "pp") == equal
    assert krippendorff_alpha(["pp", "ppp", "n"]) == equal


def test_observed_agreement_by_hand():
    """Cohen: 3 of 4, expected 1/2. Fleiss: 14 of 18 pairs, expected 41/81."""
    assert cohen_kappa("ppnn", "pnnn") == AgreementCoefficient(exactly(0.5), 4, 0.75)
    assert fleiss_kappa([[2, 1], [3, 0], [0, 3]]) == AgreementCoefficient(
        exactly(0.55), 3, exactly(7 / 9)
    )
    alpha = krippendorff_alpha(["ppn", "pp", "nn", "x"])
    assert alpha == AgreementCoefficient(exactly(1 - 6 * 2 / 24), 3, exactly(5 / 7))


def test_a_class_that_never_occurs_has_no_f1():
    assert ClassCounts(0, 0, 0).f1 == 0.0
    assert ClassCounts(1, 0, 2).f1 == 0.5


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
    assert ann_bob["observed"] == exactly(2 / 3)
    equal = (
        "all labels are equal, so the expected disagreement is 0 and the coefficient is undefined"
    )
    assert report.pairs.rows()[1:] == [
        ("ann", "cleo", 1, 0.0, 0.0, None),
        ("bob", "cleo", 1, 0.0, 0.0, None),
    ]
    both = path.with_name("both.tsv")
    both.write_text("c\tann\tneutral\nc\tbob\tneutral\nd\tcleo\tpositive\n")
    assert measure_agreement_in_files([both]).pairs.rows() == [
        ("ann", "bob", 1, 1.0, None, equal),
        ("ann", "cleo", 0, None, None, "no post has two labels to compare"),
        ("bob", "cleo", 0, None, None, "no post has two labels to compare"),
    ]
    expected = metrics.cohen_kappa_score(["p", "n", "0"], ["p", "p", "0"])
    assert ann_bob["cohen_kappa"] == exactly(expected)
    assert report.fleiss.units == 2
    assert report.krippendorff.units == 3
    rows = majority_labels(read_annotations([path])).rows()
    assert rows == [("a", "positive", 3), ("b", None, 2), ("c", "neutral", 2)]


def test_posts_with_as_many_labels_as_most_are_compared(tmp_path):
    """One label is none to compare; of two numbers as common, the greater is chosen."""
    path = tmp_path / "labels.tsv"
    posts = {"a": 3, "b": 3, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}
    path.write_text(
        "".join(
            f"{post}\tp{n}\tpositive\n" for post, number in posts.items() for n in range(number)
        )
        + "c\tp1\tnegative\nd\tp1\tnegative\n"
    )
    report = measure_agreement_in_files([path])
    assert (report.posts, report.krippendorff.units) == (7, 4)
    assert (report.fleiss.units, report.fleiss.observed) == (2, 1.0)


@pytest.mark.parametrize(
    "line",
    [
        "a\tann\tpositive",
        "d\tann\tgood",
        "d\tann",
        "\tann\tpositive",
        "d ann positive",
        "d\tann\tpositive\t1",
        "d\t\tpositive",
        "id\tannotator\tlabel",
    ],
)
def test_wrong_annotations_are_named(tmp_path, line):
    path = tmp_path / "labels.tsv"
    path.write_text("\n".join([*ANNOTATIONS, line]) + "\n")
    with pytest.raises(FormatError, match=r"labels\.tsv, line 9"):
        read_annotations([path])


def test_a_wrong_annotation_is_shown(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("x" * 130)
    with pytest.raises(FormatError) as error:
        read_annotations([path])
    assert str(error.value) == (
        f"{path}, line 1: expected id, annotator and label (positive, negative, neutral), "
        f"separated by tabs; found '{'x' * 120}'"
    )
    path.write_text("a\tann\tpositive\na\tbob\tneutral\n\na\tbob\tpositive\n")
    with pytest.raises(FormatError) as error:
        read_annotations([path])
    assert str(error.value) == (
        f"{path}, line 4: expected one label per annotator and post, found a second label of "
        "annotator 'bob' for post 'a'"
    )
