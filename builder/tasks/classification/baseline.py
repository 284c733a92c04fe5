"""Baseline classifier: logistic regression on TF-IDF weights of unigrams and bigrams.

Requires scikit-learn (extra [classification]).
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.errors import DataError
from builder.evaluation.checks import require
from builder.extras import import_optional_module
from builder.io import parquet
from builder.tasks.classification.definition import TEST_SPLITS

MAX_FEATURES = 200_000
MAX_ITERATIONS = 1000


def run_classification_baseline(
    collection: Path, predictions: Path, regularization: float = 1.0
) -> int:
    """Train the baseline classifier, and write its predictions for the test sets.

    Args:
        collection: Version folder of a classification collection.
        predictions: Output file (TSV) for `evaluate_classification`.
        regularization: Inverse strength C of the L2 penalty, positive.

    Returns:
        Number of predictions.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        UsageError: the folder is not a classification collection, the training set lacks a label,
            or C is not positive.
        DataError: no word occurs in two training posts.
    """
    require(regularization > 0, "a positive regularization C", regularization)
    model = _create_model(regularization)
    train = _read_posts(collection, "train").join(
        _read_table(collection, "labels", "train"), on="id"
    )
    labels = train["label"].unique().sort().to_list()
    require(len(labels) > 1, "training posts with both labels", labels)
    try:
        model.fit(train["text"].to_list(), train["label"].to_list())
    except ValueError as error:
        raise DataError(
            f"{collection}: expected training posts that share words; scikit-learn cannot train on "
            f"the {train.height} posts of this collection ({error})"
        ) from None
    frames = [_predict_labels(model, _read_posts(collection, split)) for split in TEST_SPLITS]
    predicted = pl.concat(frames)
    predictions.parent.mkdir(parents=True, exist_ok=True)
    predicted.write_csv(predictions, separator="\t", quote_style="never")
    return predicted.height


def _create_model(regularization: float) -> Any:
    """Return an untrained scikit-learn pipeline of TF-IDF and logistic regression."""
    text, linear, pipeline = (
        import_optional_module(f"sklearn.{module}", "the classification baseline", "classification")
        for module in ("feature_extraction.text", "linear_model", "pipeline")
    )
    return pipeline.make_pipeline(
        text.TfidfVectorizer(
            ngram_range=(1, 2), min_df=2, max_features=MAX_FEATURES, sublinear_tf=True
        ),
        linear.LogisticRegression(C=regularization, max_iter=MAX_ITERATIONS),
    )


def _read_table(collection: Path, kind: str, split: str) -> pl.DataFrame:
    path = collection / kind / f"{split}.parquet"
    expected = f"a classification collection with {kind}/{split}.parquet"
    require(path.is_file(), expected, str(collection))
    return parquet.read(path)


def _read_posts(collection: Path, split: str) -> pl.DataFrame:
    return _read_table(collection, "posts", split).select("id", "text")


def _predict_labels(model: Any, posts: pl.DataFrame) -> pl.DataFrame:
    """Return the id and the predicted label of each post."""
    labels = model.predict(posts["text"].to_list()) if posts.height else []
    return pl.DataFrame(
        {"id": posts["id"], "label": [str(label) for label in labels]},
        schema={"id": pl.String, "label": pl.String},
    )
