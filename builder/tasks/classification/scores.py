"""Measures of the classification task of LongEval 2023: F1, macro-F1, RPD and weighted F1.

The relative performance drop (RPD) of that task is (M' - M) / M, where M is the within-time score
and M' a later score. It is negative for a drop, whereas the measures Result Delta and RnD are
positive for a drop.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from builder.evaluation.checks import require


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Numbers of true positives, false positives and false negatives of one class."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float:
        """F1 score; 0 if the class occurs neither in the true nor in the predicted labels."""
        denominator = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / denominator if denominator else 0.0


def count_outcomes_by_class(
    truth: Sequence[Hashable], predicted: Sequence[Hashable | None]
) -> dict[Hashable, ClassCounts]:
    """Count true positives, false positives and false negatives of each class.

    Args:
        truth: True labels.
        predicted: Predicted labels in the same order; None (no prediction) counts as wrong.

    Raises:
        UsageError: the lengths differ.
    """
    require(len(truth) == len(predicted), f"{len(truth)} predictions", len(predicted))
    pairs = list(zip(truth, predicted, strict=True))
    classes = sorted({*truth, *(label for label in predicted if label is not None)}, key=repr)
    return {
        name: ClassCounts(
            tp=sum(1 for t, p in pairs if t == name == p),
            fp=sum(1 for t, p in pairs if p == name != t),
            fn=sum(1 for t, p in pairs if t == name != p),
        )
        for name in classes
    }


def macro_f1(truth: Sequence[Hashable], predicted: Sequence[Hashable | None]) -> float | None:
    """Return the unweighted mean F1 of all classes; None if there are no labels."""
    if not truth:
        return None
    scores = [counts.f1 for counts in count_outcomes_by_class(truth, predicted).values()]
    return sum(scores) / len(scores)


def relative_performance_difference(
    within_score: float | None, later_score: float | None
) -> float | None:
    """Return the relative performance difference (M' - M) / M, positive for a gain.

    Args:
        within_score: Score M on the within-time test set.
        later_score: Score M' on a later test set.

    Returns:
        The difference; None if a score is None or M is 0.
    """
    if within_score is None or later_score is None or within_score == 0:
        return None
    return (later_score - within_score) / within_score


def weighted_f1(scores: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Return the weighted mean of macro-F1 over test sets.

    Args:
        scores: Macro-F1 of each test set.
        weights: Non-negative weight of each test set; the weights need not sum to 1.

    Returns:
        The mean; None if a test set with a positive weight has no score.

    Raises:
        UsageError: a weight is negative, or the sum of the weights is not a positive number.
    """
    total = sum(weights.values())
    require(0 < total < float("inf"), "weights with a finite sum above 0", dict(weights))
    require(all(w >= 0 for w in weights.values()), "non-negative weights", dict(weights))
    weighted = [(scores.get(name), weight) for name, weight in weights.items() if weight > 0]
    defined = [(score, weight) for score, weight in weighted if score is not None]
    if len(defined) < len(weighted):
        return None
    return sum(score * weight for score, weight in defined) / total
