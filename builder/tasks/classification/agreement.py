"""Chance-corrected agreement between annotators of posts.

Computes Cohen's kappa for each pair of annotators (Cohen 1960), Fleiss' kappa (Fleiss 1971) and
Krippendorff's alpha for nominal data (Krippendorff 2004, ch. 11). If all labels are equal, the
expected disagreement is 0 and the coefficients are undefined.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import polars as pl

from builder.errors import UsageError
from builder.statistics import agreement as statistics
from builder.tasks.classification.annotations import read_annotations

LabelsByPost: TypeAlias = Mapping[str, Mapping[str, str]]
"""Label that each annotator assigned to each post, keyed by post id and then by annotator."""
ALL_LABELS_EQUAL = (
    "all labels are equal, so the expected disagreement is 0 and the coefficient is undefined"
)
NOTHING_TO_COMPARE = "no post has two labels to compare"
PAIR_SCHEMA = {
    "first": pl.String,
    "second": pl.String,
    "posts": pl.Int64,
    "observed": pl.Float64,
    "cohen_kappa": pl.Float64,
    "reason": pl.String,
}


@dataclass(frozen=True, slots=True)
class AgreementCoefficient:
    """Agreement coefficient such as Cohen's kappa, with the observed agreement.

    Args:
        value: Value of the coefficient, at most 1; None if undefined.
        units: Number of units, such as posts, with labels to compare.
        observed: Observed agreement, from 0 to 1; None if no unit has labels to compare.
        reason: Why the coefficient is undefined; None if it is defined.
    """

    value: float | None
    units: int
    observed: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Agreement between the annotators of a set of posts.

    Args:
        pairs: One row per pair of annotators (`PAIR_SCHEMA`).
        fleiss: Fleiss' kappa, which needs the same number of labels for every post; computed over
            the posts with the most common number of labels (two or more).
        krippendorff: Krippendorff's alpha over the posts with two or more labels.
        posts: Number of posts with at least one label.
        annotators: Names of the annotators.
    """

    pairs: pl.DataFrame
    fleiss: AgreementCoefficient
    krippendorff: AgreementCoefficient
    posts: int
    annotators: tuple[str, ...]


def cohen_kappa(
    first_labels: Sequence[Hashable], second_labels: Sequence[Hashable]
) -> AgreementCoefficient:
    """Compute Cohen's kappa for two annotators.

    Args:
        first_labels: Labels of the first annotator.
        second_labels: Labels of the second annotator, for the same units in the same order.

    Raises:
        UsageError: the lengths differ.
    """
    if len(first_labels) != len(second_labels):
        raise UsageError(
            f"expected two label lists of equal length, found {len(first_labels)} and "
            f"{len(second_labels)} labels"
        )
    if not first_labels:
        return AgreementCoefficient(None, 0, None, NOTHING_TO_COMPARE)
    pairs = Counter(zip(first_labels, second_labels, strict=True))
    labels = sorted({*first_labels, *second_labels}, key=repr)
    value = statistics.cohen_kappa([[pairs[row, column] for column in labels] for row in labels])
    observed = sum(pairs[label, label] for label in labels) / len(first_labels)
    return AgreementCoefficient(
        value, len(first_labels), observed, ALL_LABELS_EQUAL if value is None else None
    )


def fleiss_kappa(label_counts: Sequence[Sequence[int]]) -> AgreementCoefficient:
    """Compute Fleiss' kappa from the number of times each label was assigned to each unit.

    Args:
        label_counts: Number of annotators who assigned each label (column) to each unit (row). All
            rows must have the same sum, at least 2.

    Raises:
        UsageError: the sums of the rows differ or are below 2.
    """
    if not label_counts:
        return AgreementCoefficient(None, 0, None, NOTHING_TO_COMPARE)
    sums = {sum(row) for row in label_counts}
    if len(sums) > 1 or min(sums) < 2:
        raise UsageError(
            "expected the same number of labels, 2 or more, for every unit; found units with "
            f"{', '.join(map(str, sorted(sums)))} labels"
        )
    raters, units = sums.pop(), len(label_counts)
    agreeing = sum(count * (count - 1) for row in label_counts for count in row)
    observed = agreeing / (units * raters * (raters - 1))
    value = statistics.fleiss_kappa(label_counts)
    return AgreementCoefficient(value, units, observed, ALL_LABELS_EQUAL if value is None else None)


def krippendorff_alpha(labels_by_unit: Sequence[Sequence[Hashable]]) -> AgreementCoefficient:
    """Compute Krippendorff's alpha for nominal labels.

    Args:
        labels_by_unit: Labels that annotators assigned to each unit; units with fewer than two
            labels are ignored.
    """
    paired = [labels for labels in labels_by_unit if len(labels) > 1]
    total = sum(map(len, paired))
    if not total:
        return AgreementCoefficient(None, 0, None, NOTHING_TO_COMPARE)
    disagreement = sum(_unit_disagreement(labels) for labels in paired)
    totals = Counter(label for labels in paired for label in labels)
    expected = total * total - sum(count * count for count in totals.values())
    observed = 1 - disagreement / total
    if not expected:
        return AgreementCoefficient(None, len(paired), observed, ALL_LABELS_EQUAL)
    return AgreementCoefficient(1 - (total - 1) * disagreement / expected, len(paired), observed)


def _unit_disagreement(labels: Sequence[Hashable]) -> float:
    """Return the disagreement within a unit that has n labels.

    The disagreement is the number of ordered pairs of unequal labels, divided by n - 1.
    """
    n = len(labels)
    same = sum(count * (count - 1) for count in Counter(labels).values())
    return (n * (n - 1) - same) / (n - 1)


def measure_agreement_in_files(paths: Sequence[Path]) -> AgreementReport:
    """Read files of human labels, and measure the agreement between their annotators.

    Raises:
        FormatError: a line is invalid, or an annotator labels a post twice.
    """
    return measure_agreement(read_annotations(paths))


def measure_agreement(annotations: pl.DataFrame) -> AgreementReport:
    """Measure the agreement between the annotators in a table of human labels.

    Args:
        annotations: Table with the columns id (of the post), annotator and label.
    """
    labels_by_post: dict[str, dict[str, str]] = {}
    for post, annotator, label in annotations.select("id", "annotator", "label").iter_rows():
        labels_by_post.setdefault(post, {})[annotator] = label
    annotators = tuple(sorted({name for labels in labels_by_post.values() for name in labels}))
    pairs = [
        _compare_annotators(labels_by_post, first, second)
        for first, second in combinations(annotators, 2)
    ]
    return AgreementReport(
        pairs=pl.DataFrame(pairs, schema=PAIR_SCHEMA, orient="row"),
        fleiss=fleiss_kappa(_count_labels_per_post(labels_by_post)),
        krippendorff=krippendorff_alpha(
            [list(labels.values()) for labels in labels_by_post.values()]
        ),
        posts=len(labels_by_post),
        annotators=annotators,
    )


def _compare_annotators(
    labels_by_post: LabelsByPost, first: str, second: str
) -> tuple[object, ...]:
    """Return the agreement between two annotators as a row of `PAIR_SCHEMA`."""
    common = [labels for labels in labels_by_post.values() if first in labels and second in labels]
    kappa = cohen_kappa([labels[first] for labels in common], [labels[second] for labels in common])
    return first, second, kappa.units, kappa.observed, kappa.value, kappa.reason


def _count_labels_per_post(labels_by_post: LabelsByPost) -> list[list[int]]:
    """Return the number of times each label (column) was assigned to each post (row).

    Fleiss' kappa requires the same number of labels for every post, so only posts with the most
    common number of labels (at least 2) are included.
    """
    posts_by_size = Counter(len(labels) for labels in labels_by_post.values() if len(labels) > 1)
    if not posts_by_size:
        return []
    size = max(posts_by_size, key=lambda n: (posts_by_size[n], n))
    names = sorted({label for labels in labels_by_post.values() for label in labels.values()})
    counts = [Counter(labels.values()) for labels in labels_by_post.values() if len(labels) == size]
    return [[count[name] for name in names] for count in counts]
