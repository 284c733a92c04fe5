"""How far annotators agree, beyond chance.

In: labels that annotators gave to posts. Out: Cohen's kappa of every two annotators (Cohen 1960),
Fleiss' kappa (Fleiss 1971) and Krippendorff's alpha for nominal data (Krippendorff 2004, ch. 11).
Where everybody gave everything one label, agreement by chance is certain and the coefficients are
null.
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

Ratings: TypeAlias = Mapping[str, Mapping[str, str]]
"""Unit -> annotator -> label."""
NO_CHANCE = "one label only: agreement by chance is certain"
NO_UNITS = "no post has the labels that the coefficient compares"
PAIR_SCHEMA = {
    "first": pl.String,
    "second": pl.String,
    "posts": pl.Int64,
    "observed": pl.Float64,
    "cohen_kappa": pl.Float64,
    "reason": pl.String,
}


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement.

    Args:
        value: At most 1; null where it is not defined.
        units: Posts that it compares.
        observed: Share of observed agreement; null without posts.
        reason: Why the value is null.
    """

    value: float | None
    units: int
    observed: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Agreement of annotators.

    Args:
        pairs: One row per two annotators: posts both labelled, observed agreement, Cohen's kappa.
        fleiss: Over posts that have the most frequent number of labels.
        krippendorff: Over posts with two or more labels.
        posts: Posts with a label.
        annotators: Who gave labels.
    """

    pairs: pl.DataFrame
    fleiss: Coefficient
    krippendorff: Coefficient
    posts: int
    annotators: tuple[str, ...]


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Coefficient:
    """Cohen's kappa of two annotators.

    Args:
        first: Labels of n units.
        second: Labels of the same units, in the same order.

    Raises:
        UsageError: the lengths differ.
    """
    if len(first) != len(second):
        raise UsageError(f"expected labels of the same units, found {len(first)} and {len(second)}")
    if not first:
        return Coefficient(None, 0, None, NO_UNITS)
    pairs = Counter(zip(first, second, strict=True))
    labels = sorted({*first, *second}, key=repr)
    value = statistics.cohen_kappa([[pairs[row, column] for column in labels] for row in labels])
    observed = sum(pairs[label, label] for label in labels) / len(first)
    return Coefficient(value, len(first), observed, NO_CHANCE if value is None else None)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> Coefficient:
    """Fleiss' kappa.

    Args:
        counts: A row for each unit: how many annotators gave it each label. All rows have one sum
            of 2 or more.

    Raises:
        UsageError: the rows have different sums, or fewer than two labels.
    """
    if not counts:
        return Coefficient(None, 0, None, NO_UNITS)
    sums = {sum(row) for row in counts}
    if len(sums) > 1 or min(sums) < 2:
        raise UsageError(f"expected 2 or more labels for each unit, everywhere as many; {sums}")
    raters, units = sums.pop(), len(counts)
    agreeing = sum(count * (count - 1) for row in counts for count in row)
    observed = agreeing / (units * raters * (raters - 1))
    value = statistics.fleiss_kappa(counts)
    return Coefficient(value, units, observed, NO_CHANCE if value is None else None)


def krippendorff_alpha(ratings: Sequence[Sequence[Hashable]]) -> Coefficient:
    """Krippendorff's alpha for nominal labels, any number of them for each unit.

    Args:
        ratings: The labels of each unit; units with fewer than two do not count.
    """
    paired = [labels for labels in ratings if len(labels) > 1]
    total = sum(map(len, paired))
    if not total:
        return Coefficient(None, 0, None, NO_UNITS)
    disagreeing = sum(_disagreement(labels) for labels in paired)
    totals = Counter(label for labels in paired for label in labels)
    chance = total * total - sum(count * count for count in totals.values())
    observed = 1 - disagreeing / total
    if not chance:
        return Coefficient(None, len(paired), observed, NO_CHANCE)
    return Coefficient(1 - (total - 1) * disagreeing / chance, len(paired), observed)


def _disagreement(labels: Sequence[Hashable]) -> float:
    n = len(labels)
    same = sum(count * (count - 1) for count in Counter(labels).values())
    return (n * (n - 1) - same) / (n - 1)


def agreement_paths(paths: Sequence[Path]) -> AgreementReport:
    """Agreement of the annotators in files of human labels.

    Raises:
        FormatError: a line is no label, or an annotator labels a post twice.
    """
    return agreement(read_annotations(paths))


def agreement(annotations: pl.DataFrame) -> AgreementReport:
    """Agreement of annotators; columns id, annotator, label."""
    ratings: dict[str, dict[str, str]] = {}
    for post, annotator, label in annotations.select("id", "annotator", "label").iter_rows():
        ratings.setdefault(post, {})[annotator] = label
    annotators = tuple(sorted({name for given in ratings.values() for name in given}))
    pairs = [_pair(ratings, first, second) for first, second in combinations(annotators, 2)]
    return AgreementReport(
        pairs=pl.DataFrame(pairs, schema=PAIR_SCHEMA, orient="row"),
        fleiss=fleiss_kappa(_counts(ratings)),
        krippendorff=krippendorff_alpha([list(given.values()) for given in ratings.values()]),
        posts=len(ratings),
        annotators=annotators,
    )


def _pair(ratings: Ratings, first: str, second: str) -> tuple[object, ...]:
    both = [given for given in ratings.values() if first in given and second in given]
    found = cohen_kappa([given[first] for given in both], [given[second] for given in both])
    return first, second, found.units, found.observed, found.value, found.reason


def _counts(ratings: Ratings) -> list[list[int]]:
    """Label counts of the posts with the most frequent number (2 or more) of labels."""
    sizes = Counter(len(given) for given in ratings.values() if len(given) > 1)
    if not sizes:
        return []
    usual = max(sizes, key=lambda size: (sizes[size], size))
    labels = sorted({label for given in ratings.values() for label in given.values()})
    kept = [Counter(given.values()) for given in ratings.values() if len(given) == usual]
    return [[count[label] for label in labels] for count in kept]
