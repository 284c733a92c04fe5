"""Measures of filtering results in one time batch (Kenter, Balog and de Rijke 2015, section 4).

Computes precision, recall, F_pr, aptness (equation 1) and F_pra (equation 2) from the numbers of
true positives, false positives and relevant documents. Precision and recall are undefined (None)
in batches without relevant documents.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from builder.evaluation.checks import require

MEASURES = ("precision", "recall", "f_pr", "aptness", "f_pra")

Average: TypeAlias = Literal["macro", "micro"]
TargetCounts: TypeAlias = tuple[int, int, int]
"""Counts for a target in a batch: true positives, false positives and relevant documents."""


def aptness(false_positives: int, zeta: float = 1.0) -> float:
    """Return the aptness `zeta / (zeta + false_positives)` of the documents returned for a target.

    Defined by Kenter, Balog & de Rijke, "Evaluating document filtering systems over time",
    Information Processing & Management 51, 2015, equation 1.

    Args:
        false_positives: Number of false positives, at least 0.
        zeta: Number of false positives at which aptness is 0.5; above 0.

    Raises:
        UsageError: an argument is outside its range.
    """
    require(
        zeta > 0 and false_positives >= 0,
        "a positive zeta and a non-negative number of false positives",
        (zeta, false_positives),
    )
    return zeta / (zeta + false_positives)


def harmonic_mean(values: Iterable[float | None]) -> float | None:
    """Return the harmonic mean of the values that are not None; 0 if a value is 0.

    Returns None if all values are None.
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    if min(defined) <= 0.0:
        return 0.0
    return len(defined) / sum(1.0 / value for value in defined)


def f_pra(
    precision: float | None, recall: float | None, aptness_score: float | None
) -> float | None:
    """Return F_pra, the harmonic mean of precision, recall and aptness (Kenter et al., eq. 2)."""
    return harmonic_mean((precision, recall, aptness_score))


def compute_batch_measures(
    target_counts: Sequence[TargetCounts], average: Average = "macro", zeta: float = 1.0
) -> dict[str, float | int | None]:
    """Return the counts and measures of a batch, by column name.

    Args:
        target_counts: Counts of every target that is in the run or has relevant documents.
        average: `macro`: mean over targets (section 4.3); `micro`: pooled over all targets.
        zeta: Number of false positives at which aptness is 0.5.
    """
    tp, fp, true = (sum(target[i] for target in target_counts) for i in range(3))
    units = list(target_counts) if average == "macro" else [(tp, fp, true)]
    with_relevant = [unit for unit in units if unit[2]]
    precision = _mean([hits / (hits + false) if hits else 0.0 for hits, false, _ in with_relevant])
    recall = _mean([hits / relevant for hits, _, relevant in with_relevant])
    apt = _mean([aptness(false, zeta) for _, false, _ in units])
    apt = 1.0 if apt is None else apt
    return {
        "targets_true": sum(1 for target in target_counts if target[2]),
        "targets": len(target_counts),
        "tp": tp,
        "fp": fp,
        "fn": true - tp,
        "precision": precision,
        "recall": recall,
        "f_pr": harmonic_mean((precision, recall)),
        "aptness": apt,
        "f_pra": f_pra(precision, recall, apt),
    }


def _mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean of values; None if there are no values."""
    return sum(values) / len(values) if values else None
