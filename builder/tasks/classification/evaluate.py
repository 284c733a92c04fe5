"""Evaluates classifiers over time, as in task 2 of LongEval 2023.

Prediction files are tab-separated with columns id and label (positive or negative); the header is
optional. A post without a prediction counts as wrong; predictions for unknown posts are ignored.
Missing and ignored predictions are counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import DataError, FormatError, UsageError
from builder.evaluation.checks import require
from builder.evaluation.textlines import numbered_lines
from builder.io import parquet
from builder.tasks.classification.definition import TEST_SPLITS
from builder.tasks.classification.scores import (
    count_outcomes_by_class,
    macro_f1,
    relative_performance_difference,
    weighted_f1,
)
from builder.tasks.classification.table_schemas import POLARITIES
from builder.text.names import to_valid_unicode

HEADER = ["id", "label"]
DEFAULT_WEIGHTS = {"short": 0.5, "long": 0.5}
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
    """Scores of classification systems on the test sets.

    Args:
        scores: One row per system and test set (`SCORE_SCHEMA`); rpd_gain_positive is (M' - M) / M,
            where M' is macro-F1 on the test set and M is macro-F1 on the within-time test set, for
            which rpd_gain_positive is null.
        summary: One row per system (`SUMMARY_SCHEMA`), best weighted_f1 first; ignored is the
            number of predictions for posts that are in no test set.
        weights: Weight of each test set in weighted_f1.
    """

    scores: pl.DataFrame
    summary: pl.DataFrame
    weights: Mapping[str, float]


def evaluate_classification(
    collection: Path,
    predictions: Sequence[Path],
    weights: Mapping[str, float] | None = None,
) -> ClassificationScores:
    """Score predictions on the test sets of a classification collection.

    Args:
        collection: Version folder of a classification collection, including labels.
        predictions: One file per system; the file name without extension is the system name.
        weights: Weights of the test sets within, short and long in weighted_f1; default: 0.5 each
            for short and long, because the paper states no weights.

    Raises:
        UsageError: there are no prediction files, two systems have the same name, the labels are
            missing, or a weight is given for an unknown test set.
        FormatError: a line is invalid, or a post has two predictions.
        DataError: a file has no prediction for a post of the test sets.
    """
    weights = dict(weights or DEFAULT_WEIGHTS)
    require(
        weights.keys() <= set(TEST_SPLITS),
        f"weights only for {', '.join(TEST_SPLITS)}",
        sorted(weights),
    )
    systems = [_system_name(path) for path in predictions]
    require(bool(systems), "at least one prediction file", systems)
    require(len(set(systems)) == len(systems), "prediction files with distinct names", systems)
    truth = {split: _read_labels(collection, split) for split in TEST_SPLITS}
    posts = {post for labels in truth.values() for post in labels}
    scores: list[dict[str, object]] = []
    summary: list[tuple[str, float | None, int]] = []
    for system, path in zip(systems, predictions, strict=True):
        predicted = read_predictions(path)
        macro = {split: _macro_f1(labels, predicted) for split, labels in truth.items()}
        scores += (
            _create_score_row(system, split, truth[split], predicted, macro)
            for split in TEST_SPLITS
        )
        ignored = len(predicted.keys() - posts)
        if ignored == len(predicted):
            raise DataError(
                f"{path}: expected predictions for posts of the test sets, found none among "
                f"{ignored} predictions; correct the post ids"
            )
        summary.append((system, weighted_f1(macro, weights), ignored))
    ranked = pl.DataFrame(summary, schema=SUMMARY_SCHEMA, orient="row").sort(
        "weighted_f1", "system", descending=[True, False]
    )
    return ClassificationScores(pl.DataFrame(scores, schema=SCORE_SCHEMA), ranked, weights)


def read_predictions(path: Path) -> dict[str, str]:
    """Read a prediction file, and return the predicted labels by post id.

    Raises:
        FormatError: a line is invalid, or a post has two predictions.
    """
    predicted: dict[str, str] = {}
    for line, text in numbered_lines(path):
        fields = text.split("\t")
        if not text.strip() or (line == 1 and fields == HEADER):
            continue
        if len(fields) != len(HEADER) or not fields[0] or fields[1] not in POLARITIES:
            raise FormatError(
                f"expected id and label ({' or '.join(POLARITIES)}), separated by a tab; "
                f"found {text[:120]!r}",
                path,
                line,
            )
        if fields[0] in predicted:
            raise FormatError(
                f"expected one prediction per post, found a second one for post {fields[0]!r}",
                path,
                line,
            )
        predicted[fields[0]] = fields[1]
    return predicted


def _system_name(path: Path) -> str:
    """Return a file name without `.gz` and its extension.

    Digits after a dot, such as `.5` in `svm_0.5`, are not treated as an extension.
    """
    return re.sub(r"\.[A-Za-z]\w*$", "", to_valid_unicode(path.name).removesuffix(".gz"))


def _read_labels(collection: Path, split: str) -> dict[str, str]:
    path = collection / "labels" / f"{split}.parquet"
    if not path.is_file():
        raise UsageError(
            f"{path}: no such file; expected the labels of a test set in a version folder of a "
            "classification collection, such as posts/0.1.0"
        )
    return dict(parquet.read(path, columns=["id", "label"]).iter_rows())


def _macro_f1(labels: Mapping[str, str], predicted_labels: Mapping[str, str]) -> float | None:
    return macro_f1(list(labels.values()), [predicted_labels.get(post) for post in labels])


def _create_score_row(
    system: str,
    split: str,
    labels: Mapping[str, str],
    predicted_labels: Mapping[str, str],
    macro_f1_by_split: Mapping[str, float | None],
) -> dict[str, object]:
    aligned = [predicted_labels.get(post) for post in labels]
    classes = count_outcomes_by_class(list(labels.values()), aligned)
    correct = sum(counts.tp for counts in classes.values())
    return {
        "system": system,
        "split": split,
        "posts": len(labels),
        "missing": aligned.count(None),
        "accuracy": correct / len(labels) if labels else None,
        "f1_positive": classes["positive"].f1 if "positive" in classes else None,
        "f1_negative": classes["negative"].f1 if "negative" in classes else None,
        "macro_f1": macro_f1_by_split[split],
        "rpd_gain_positive": None
        if split == "within"
        else relative_performance_difference(macro_f1_by_split["within"], macro_f1_by_split[split]),
    }
