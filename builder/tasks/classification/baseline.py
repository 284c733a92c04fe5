"""A baseline classifier: TF-IDF of words and word pairs, and logistic regression.

In: a classification collection. Out: predictions for its test sets, in the file format that
`evaluate_classification` reads. Only the training set is used to fit the model. Needs scikit-learn
(extra [classification]).
"""

from pathlib import Path
from typing import Any

import polars as pl

from builder.evaluation.checks import require
from builder.extras import import_optional
from builder.io import parquet
from builder.tasks.classification.definition import TESTS

MOST_FEATURES = 200_000
MOST_ITERATIONS = 1000


def classification_baseline(
    collection: Path, predictions: Path, regularisation: float = 1.0
) -> int:
    """Train on `train`, predict `within`, `short` and `long`.

    Args:
        collection: Folder of a version.
        predictions: The tab-separated file to write.
        regularisation: C of the logistic regression, above 0: inverse strength of the L2 penalty.

    Returns:
        Posts predicted.

    Raises:
        MissingExtraError: scikit-learn is absent.
        UsageError: the folder is no classification collection, or C is not above 0.
    """
    require(regularisation > 0, "C above 0", regularisation)
    model = _model(regularisation)
    train = _posts(collection, "train").join(_table(collection, "labels", "train"), on="id")
    model.fit(train["text"].to_list(), train["label"].to_list())
    frames = [_predicted(model, _posts(collection, split)) for split in TESTS]
    rows = pl.concat(frames)
    rows.write_csv(predictions, separator="\t", quote_style="never")
    return rows.height


def _model(regularisation: float) -> Any:
    text, linear, pipeline = (
        import_optional(f"sklearn.{module}", "the classification baseline", "classification")
        for module in ("feature_extraction.text", "linear_model", "pipeline")
    )
    return pipeline.make_pipeline(
        text.TfidfVectorizer(
            ngram_range=(1, 2), min_df=2, max_features=MOST_FEATURES, sublinear_tf=True
        ),
        linear.LogisticRegression(C=regularisation, max_iter=MOST_ITERATIONS),
    )


def _table(collection: Path, kind: str, split: str) -> pl.DataFrame:
    path = collection / kind / f"{split}.parquet"
    require(path.is_file(), "a classification collection with its tables", str(path))
    return parquet.read(path)


def _posts(collection: Path, split: str) -> pl.DataFrame:
    return _table(collection, "posts", split).select("id", "text")


def _predicted(model: Any, posts: pl.DataFrame) -> pl.DataFrame:
    labels = model.predict(posts["text"].to_list()) if posts.height else []
    return pl.DataFrame(
        {"id": posts["id"], "label": [str(label) for label in labels]},
        schema={"id": pl.String, "label": pl.String},
    )
