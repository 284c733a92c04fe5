"""Scores of classifiers.

In: true and predicted labels. Out: F1 of each class, macro-F1, relative performance over time and
the weighted mean of sub-tasks, as in the classification task of LongEval 2023.

RPD is (M' - M) / M there, negative for a drop: the opposite sign of R_eDelta and RnD.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from builder.evaluation.checks import require


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of one class: true positives, false positives, false negatives."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float:
        """F1 of the class; 0 where it was neither there nor predicted."""
        whole = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / whole if whole else 0.0


def confusions(
    truth: Sequence[Hashable], predicted: Sequence[Hashable | None]
) -> dict[Hashable, Confusion]:
    """Counts of every class that is true or predicted somewhere.

    Args:
        truth: n labels.
        predicted: n labels; None, a missing prediction, is wrong and no class.

    Raises:
        UsageError: the lengths differ.
    """
    require(len(truth) == len(predicted), "as many predictions as labels", len(predicted))
    pairs = list(zip(truth, predicted, strict=True))
    classes = sorted({*truth, *(label for label in predicted if label is not None)}, key=repr)
    return {
        name: Confusion(
            tp=sum(1 for t, p in pairs if t == name == p),
            fp=sum(1 for t, p in pairs if p == name != t),
            fn=sum(1 for t, p in pairs if t == name != p),
        )
        for name in classes
    }


def macro_f1(truth: Sequence[Hashable], predicted: Sequence[Hashable | None]) -> float | None:
    """Unweighted mean of the F1 of all classes; null without labels."""
    if not truth:
        return None
    scores = [counts.f1 for counts in confusions(truth, predicted).values()]
    return sum(scores) / len(scores)


def rpd_gain_positive(within: float | None, later: float | None) -> float | None:
    """Relative performance difference (M' - M) / M: gain > 0, drop < 0.

    Args:
        within: M, the score at t.
        later: M', the score at t' or t''.

    Returns:
        A number; null where a score is undefined or M is 0.
    """
    if within is None or later is None or within == 0:
        return None
    return (later - within) / within


def weighted_f1(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Weighted mean of the macro-F1 of sub-tasks.

    Args:
        scores: Macro-F1 by sub-task.
        weights: Weights of sub-tasks, at least 0, their sum above 0; only ratios matter.

    Returns:
        A number; null where a weighted sub-task has no score.

    Raises:
        UsageError: wrong weights.
    """
    total = sum(weights.values())
    require(0 < total < float("inf"), "weights with a sum above 0", dict(weights))
    require(all(w >= 0 for w in weights.values()), "weights of 0 or more", dict(weights))
    found = [(scores.get(name), weight) for name, weight in weights.items() if weight > 0]
    defined = [(score, weight) for score, weight in found if score is not None]
    if len(defined) < len(found):
        return None
    return sum(score * weight for score, weight in defined) / total
