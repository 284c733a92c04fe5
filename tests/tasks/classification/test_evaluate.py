"""Predictions over time, and the baseline."""

import polars as pl
import pytest

from builder.errors import DataError, FormatError, MissingExtraError, UsageError
from builder.tasks.classification import evaluate_classification, run_classification_baseline
from builder.tasks.classification.baseline import _create_model
from builder.tasks.classification.evaluate import read_predictions
from tests.tasks.classification.helpers import post, read, tiny


def write_predictions(path, labels):
    path.write_text("id\tlabel\n" + "".join(f"{name}\t{label}\n" for name, label in labels))
    return path


def test_evaluation_of_predictions(collection, tmp_path):
    tests = pl.concat([read(collection, "labels", split) for split in ("within", "short", "long")])
    truth = list(tests.select("id", "label").iter_rows())
    perfect = write_predictions(tmp_path / "perfect.tsv", [*truth, ("elsewhere", "positive")])
    constant = write_predictions(tmp_path / "constant.tsv", [(n, "positive") for n, _ in truth])
    wrong = {"positive": "negative", "negative": "positive"}[truth[0][1]]
    silent = write_predictions(tmp_path / "silent.tsv", [(truth[0][0], wrong)])
    report = evaluate_classification(collection.folder, [constant, silent, perfect])
    assert report.summary.rows() == [
        ("perfect", 1.0, 1),
        ("constant", pytest.approx(1 / 3), 0),
        ("silent", 0.0, 0),
    ]
    rows = report.scores.filter(pl.col("system") == "constant").rows(named=True)
    assert [row["split"] for row in rows] == ["within", "short", "long"]
    assert [row["rpd_gain_positive"] for row in rows] == [None, 0.0, 0.0]
    assert rows[0]["accuracy"] == 0.5
    missing = report.scores.filter(pl.col("system") == "silent")
    assert missing["missing"].sum() == len(truth) - 1
    assert missing["rpd_gain_positive"].to_list() == [None, None, None]


def write_labels(folder, **splits):
    """The labels of test sets, `p` or `n` by post."""
    (folder / "labels").mkdir(parents=True)
    names = {"p": "positive", "n": "negative"}
    for split in ("within", "short", "long"):
        labels = splits.get(split, {})
        table = {"id": list(labels), "label": [names[label] for label in labels.values()]}
        schema = {"id": pl.String, "label": pl.String}
        pl.DataFrame(table, schema=schema).write_parquet(folder / "labels" / f"{split}.parquet")
    return folder


def test_scores_by_hand(tmp_path):
    """Within: positive 1 TP, 1 FN; negative 1 TP, 1 FP, 1 FN (a missing prediction)."""
    folder = write_labels(
        tmp_path / "0.1.0",
        within={"a": "p", "b": "n", "c": "p", "d": "n"},
        short={"e": "p", "f": "n"},
        long={"g": "p"},
    )
    labels = {"a": "p", "b": "n", "c": "n", "e": "p", "f": "p", "g": "p", "z": "p"}
    names = {"p": "positive", "n": "negative"}
    path = write_predictions(tmp_path / "one.tsv", [(k, names[v]) for k, v in labels.items()])
    report = evaluate_classification(folder, [path])
    half, third = pytest.approx(1 / 2), pytest.approx(1 / 3)
    assert report.scores.rows() == [
        ("one", "within", 4, 1, 0.5, pytest.approx(2 / 3), half, pytest.approx(7 / 12), None),
        ("one", "short", 2, 0, 0.5, pytest.approx(2 / 3), 0.0, third, pytest.approx(-3 / 7)),
        ("one", "long", 1, 0, 1.0, 1.0, None, 1.0, pytest.approx(5 / 7)),
    ]
    assert report.summary.rows() == [("one", pytest.approx(2 / 3), 1)]
    assert report.weights == {"short": 0.5, "long": 0.5}


def test_an_empty_test_set_has_no_scores(tmp_path):
    folder = write_labels(tmp_path / "0.1.0", within={"a": "p"}, short={"b": "n"})
    names = ("b", "a")
    paths = [write_predictions(tmp_path / name, [("b", "negative")]) for name in names]
    report = evaluate_classification(folder, paths)
    assert report.scores.filter(system="a").rows() == [
        ("a", "within", 1, 1, 0.0, 0.0, None, 0.0, None),
        ("a", "short", 1, 0, 1.0, None, 1.0, 1.0, None),
        ("a", "long", 0, 0, None, None, None, None, None),
    ]
    assert report.summary.rows() == [("a", None, 0), ("b", None, 0)]
    for weights in ({"short": 1}, {"within": 1, "short": 3}):
        scored = evaluate_classification(folder, paths, weights).summary
        assert scored["weighted_f1"].to_list() == [1.0 if len(weights) == 1 else 0.75] * 2


def test_prediction_files_and_labels_are_required(tmp_path):
    folder = write_labels(tmp_path / "0.1.0", within={"a": "p"})
    path = write_predictions(tmp_path / "one.tsv", [("a", "positive")])
    with pytest.raises(UsageError, match=r"at least one prediction file, found \[\]"):
        evaluate_classification(folder, [])
    with pytest.raises(UsageError, match=r"distinct names, found \['one', 'one'\]"):
        evaluate_classification(folder, [path, path.with_suffix(".txt")])
    (folder / "labels" / "short.parquet").unlink()
    with pytest.raises(UsageError) as error:
        evaluate_classification(folder, [path])
    assert str(error.value) == (
        f"{folder}/labels/short.parquet: no such file; expected the labels of a test set in a "
        "version folder of a classification collection, such as posts/0.1.0"
    )


EXPECTED = "expected id and label (positive or negative), separated by a tab; found"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x" * 130,
            f"1: {EXPECTED} '{'x' * 120}'",
        ),
        (
            "a\tpositive\n\na\tnegative",
            "3: expected one prediction per post, found a second one for post 'a'",
        ),
        (
            "a\tpositive\nid\tlabel",
            f"2: {EXPECTED} 'id\\tlabel'",
        ),
    ],
)
def test_a_wrong_prediction_is_shown(tmp_path, text, message):
    path = tmp_path / "one.tsv"
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        read_predictions(path)
    assert str(error.value) == f"{path}, line {message}"


def test_words_and_pairs_of_words_of_two_posts_are_features(tmp_path):
    model = _create_model(1.0)
    vectorizer = model[0].fit(["so good day", "so good day", "so bright", "end"])
    names = {"so", "good", "day", "so good", "good day"}
    assert set(vectorizer.get_feature_names_out()) == names
    with pytest.raises(UsageError, match="a positive regularization C, found 0"):
        run_classification_baseline(tmp_path, tmp_path / "p.tsv", 0)
    with pytest.raises(UsageError, match=r"classification collection with posts/train\.parquet"):
        run_classification_baseline(tmp_path, tmp_path / "p.tsv", 0.5)


@pytest.mark.parametrize("ids", [[], ["x1", "x2"]])
def test_predictions_for_other_posts_are_an_error(collection, tmp_path, ids):
    path = write_predictions(tmp_path / "other.tsv", [(name, "positive") for name in ids])
    with pytest.raises(DataError) as error:
        evaluate_classification(collection.folder, [path])
    assert str(error.value) == (
        f"{path}: expected predictions for posts of the test sets, found none among {len(ids)} "
        "predictions; correct the post ids"
    )


def test_weights_decide_the_joint_score(collection, tmp_path):
    tests = pl.concat([read(collection, "labels", split) for split in ("within", "short", "long")])
    short = set(read(collection, "labels", "short")["id"])
    labels = [
        (name, label if name in short else {"positive": "negative"}.get(label, "positive"))
        for name, label in tests.select("id", "label").iter_rows()
    ]
    path = write_predictions(tmp_path / "short-sighted.tsv", labels)
    scores = [
        evaluate_classification(collection.folder, [path], weights).summary["weighted_f1"].item()
        for weights in (None, {"short": 3, "long": 1}, {"long": 1})
    ]
    assert scores == [0.5, 0.75, 0.0]
    with pytest.raises(UsageError, match="weights only for within, short, long"):
        evaluate_classification(collection.folder, [path], {"dev": 1})


@pytest.mark.parametrize("line", ["x\tgood", "x", "\tpositive", "x\tpositive\t1", "p\tpositive"])
def test_wrong_predictions_are_named(collection, tmp_path, line):
    path = tmp_path / "bad.tsv"
    path.write_text(f"p\tpositive\n{line}\n")
    with pytest.raises(DataError, match=r"bad\.tsv, line 2"):
        evaluate_classification(collection.folder, [path])


def test_the_baseline_learns_and_loses_with_time(collection, tmp_path):
    path = tmp_path / "baseline.tsv"
    predicted = run_classification_baseline(collection.folder, path)
    report = evaluate_classification(collection.folder, [path])
    assert predicted == report.scores["posts"].sum()
    scores = dict(report.scores.select("split", "macro_f1").iter_rows())
    assert scores["within"] > 0.6
    assert scores["long"] < scores["within"]
    again = tmp_path / "new" / "again.tsv"
    run_classification_baseline(collection.folder, again)
    assert again.read_bytes() == path.read_bytes()


def test_a_training_set_without_classes_or_words_is_an_error(tmp_path):
    pytest.importorskip("sklearn")
    natural = '\n[sampling]\nkind = "natural"\n'
    positive = tiny(tmp_path, [post(1, "sun :)"), post(2, "joy :)")], natural)
    with pytest.raises(UsageError, match=r"with both labels, found \['positive'\]"):
        run_classification_baseline(positive.folder, tmp_path / "p.tsv")
    distinct = tiny(tmp_path, [post(1, "sun :)"), post(2, "rain :(")], version="0.2.0")
    with pytest.raises(DataError, match="that share words"):
        run_classification_baseline(distinct.folder, tmp_path / "p.tsv")


def test_scikit_learn_is_named_when_it_is_absent(collection, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtraError, match=r"\[classification\]"):
        run_classification_baseline(collection.folder, tmp_path / "x.tsv")


def test_a_number_at_the_end_of_a_name_is_no_extension(collection, tmp_path):
    labels = list(read(collection, "labels", "short").select("id", "label").iter_rows())
    names = ("svm_0.5", "svm_0.7", "v1.tsv", "v1.2.txt")
    paths = [write_predictions(tmp_path / name, labels) for name in names]
    report = evaluate_classification(collection.folder, paths)
    assert sorted(report.summary["system"]) == ["svm_0.5", "svm_0.7", "v1", "v1.2"]
