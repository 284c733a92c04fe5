"""Evaluate classifiers over time.

In: a classification collection and predictions, tab-separated `id  label` with or without that
header, one file for each system and all its test sets. Out: F1 at t, t' and t'', how it changes,
and the weighted mean of the sub-tasks; LongEval 2023, task 2.

A post without prediction counts as wrong; a prediction for no test post is left out. Both are
counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import FormatError, UsageError
from builder.evaluation.checks import require
from builder.evaluation.textlines import numbered_lines
from builder.io import parquet
from builder.tasks.classification.contracts import POLARITIES
from builder.tasks.classification.definition import TESTS
from builder.tasks.classification.scores import (
    confusions,
    macro_f1,
    rpd_gain_positive,
    weighted_f1,
)
from builder.text.names import to_valid_text

HEADER = ["id", "label"]
EQUAL_WEIGHTS = {"short": 0.5, "long": 0.5}
SCORE_SCHEMA = {
    "system": pl.String,
    "split": pl.String,
    "posts": pl.Int64,
    "missing": pl.Int64,
    "accuracy": pl.Float64,
    "f1_positive": pl.Float64,
    "f1_negative": pl.Float64,
    "macro_f1": pl.Float64,
    "rpd_gain_positive": pl.Float64,
}
SUMMARY_SCHEMA = {"system": pl.String, "weighted_f1": pl.Float64, "ignored": pl.Int64}


@dataclass(frozen=True, slots=True)
class ClassificationScores:
    """Scores of classifiers.

    Args:
        scores: One row per system and test set (`SCORE_SCHEMA`); rpd_gain_positive is
            (M' - M) / M of macro-F1 against the within-time set, null there.
        summary: One row per system, best weighted_f1 first; ignored counts predictions for posts
            of no test set.
        weights: Weight of each sub-task in weighted_f1.
    """

    scores: pl.DataFrame
    summary: pl.DataFrame
    weights: Mapping[str, float]


def evaluate_classification(
    collection: Path,
    predictions: Sequence[Path],
    weights: Mapping[str, float] | None = None,
) -> ClassificationScores:
    """Score predictions on the test sets of a collection.

    Args:
        collection: Folder of a version, with its labels.
        predictions: One file for each system; its name without extension is the system.
        weights: Weight of each of within, short and long in weighted_f1; default: short and long
            equally. The paper gives none.

    Raises:
        UsageError: no predictions, two systems with one name, no labels, or unknown weights.
        FormatError: a line is no prediction, or a post is predicted twice.
    """
    chosen = dict(weights or EQUAL_WEIGHTS)
    require(chosen.keys() <= set(TESTS), f"weights of {', '.join(TESTS)}", sorted(chosen))
    systems = [_system(path) for path in predictions]
    require(bool(systems), "one or more files of predictions", systems)
    require(len(set(systems)) == len(systems), "files with different names", systems)
    truth = {split: _truth(collection, split) for split in TESTS}
    scores: list[dict[str, object]] = []
    summary: list[tuple[str, float | None, int]] = []
    for system, path in zip(systems, predictions, strict=True):
        predicted = read_predictions(path)
        macro = {split: _macro_f1(labels, predicted) for split, labels in truth.items()}
        scores += (_row(system, split, truth[split], predicted, macro) for split in TESTS)
        ignored = len(predicted.keys() - {post for labels in truth.values() for post in labels})
        summary.append((system, weighted_f1(macro, chosen), ignored))
    ranked = pl.DataFrame(summary, schema=SUMMARY_SCHEMA, orient="row").sort(
        "weighted_f1", "system", descending=[True, False], nulls_last=True
    )
    return ClassificationScores(pl.DataFrame(scores, schema=SCORE_SCHEMA), ranked, chosen)


def read_predictions(path: Path) -> dict[str, str]:
    """Predicted labels by post id.

    Raises:
        FormatError: a line is no prediction, or a post is predicted twice.
    """
    predicted: dict[str, str] = {}
    for line, text in numbered_lines(path):
        fields = text.split("\t")
        if not text.strip() or (line == 1 and fields == HEADER):
            continue
        if len(fields) != len(HEADER) or not fields[0] or fields[1] not in POLARITIES:
            expected = f"id and {' or '.join(POLARITIES)}, separated by a tab"
            raise FormatError(f"expected {expected}; found {text[:120]!r}", path, line)
        if fields[0] in predicted:
            raise FormatError(f"expected one prediction for {fields[0]}", path, line)
        predicted[fields[0]] = fields[1]
    return predicted


def _system(path: Path) -> str:
    return Path(to_valid_text(path.name).removesuffix(".gz")).stem


def _truth(collection: Path, split: str) -> dict[str, str]:
    path = collection / "labels" / f"{split}.parquet"
    if not path.is_file():
        raise UsageError(f"{path}: expected the labels of a test set, found no such file")
    return dict(parquet.read(path, columns=["id", "label"]).iter_rows())


def _macro_f1(labels: Mapping[str, str], predicted: Mapping[str, str]) -> float | None:
    return macro_f1(list(labels.values()), [predicted.get(post) for post in labels])


def _row(
    system: str,
    split: str,
    labels: Mapping[str, str],
    predicted: Mapping[str, str],
    macro: Mapping[str, float | None],
) -> dict[str, object]:
    answers = [predicted.get(post) for post in labels]
    classes = confusions(list(labels.values()), answers)
    right = sum(counts.tp for counts in classes.values())
    return {
        "system": system,
        "split": split,
        "posts": len(labels),
        "missing": answers.count(None),
        "accuracy": right / len(labels) if labels else None,
        "f1_positive": classes["positive"].f1 if "positive" in classes else None,
        "f1_negative": classes["negative"].f1 if "negative" in classes else None,
        "macro_f1": macro[split],
        "rpd_gain_positive": None
        if split == "within"
        else rpd_gain_positive(macro["within"], macro[split]),
    }
