"""Measures of one batch of filtering results.

In: counts of true and false positives and of relevant documents. Out: precision, recall, F_pr,
aptness (equation 1) and F_pra (equation 2) of Kenter, Balog, de Rijke (2015), section 4.

Without a relevant document precision and recall are undefined (null), however much was returned.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from builder.evaluation.checks import require

MEASURES = ("precision", "recall", "f_pr", "aptness", "f_pra")

Average: TypeAlias = Literal["macro", "micro"]
TargetCounts: TypeAlias = tuple[int, int, int]
"""True positives, false positives and relevant documents of one target in one batch."""


def aptness(false_positives: int, zeta: float = 1.0) -> float:
    """Aptness of a system that returned so many false positives; equation 1.

    Args:
        false_positives: At least 0.
        zeta: Above 0; so many false positives halve aptness.

    Raises:
        UsageError: a number is outside its range.
    """
    require(zeta > 0 and false_positives >= 0, "zeta > 0, FP >= 0", (zeta, false_positives))
    return zeta / (zeta + false_positives)


def harmonic_mean(parts: Iterable[float | None]) -> float | None:
    """Harmonic mean of the defined parts; 0 when one of them is 0, null when none is defined."""
    defined = [part for part in parts if part is not None]
    if not defined:
        return None
    if min(defined) <= 0.0:
        return 0.0
    return len(defined) / sum(1.0 / part for part in defined)


def f_pra(precision: float | None, recall: float | None, apt: float | None) -> float | None:
    """F_pra of a batch from its parts, null where undefined; equation 2."""
    return harmonic_mean((precision, recall, apt))


def batch_measures(
    targets: Sequence[TargetCounts], average: Average = "macro", zeta: float = 1.0
) -> dict[str, float | int | None]:
    """Counts and measures of one batch.

    Args:
        targets: Counts of every target that is in the run or has relevant documents.
        average: Mean over targets (section 4.3), or counts of all targets together.
        zeta: Sensitivity of aptness.
    """
    tp, fp, true = (sum(target[i] for target in targets) for i in range(3))
    units = list(targets) if average == "macro" else [(tp, fp, true)]
    wanted = [unit for unit in units if unit[2]]
    precision = _mean([hits / (hits + false) if hits else 0.0 for hits, false, _ in wanted])
    recall = _mean([hits / relevant for hits, _, relevant in wanted])
    apt = _mean([aptness(false, zeta) for _, false, _ in units])
    apt = 1.0 if apt is None else apt
    return {
        "targets_true": sum(1 for target in targets if target[2]),
        "targets": len(targets),
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
    return sum(values) / len(values) if values else None
