"""Size and vocabulary of splits, by hand."""

from math import log2

import duckdb
import pytest

from builder.tasks.classification.definition import SPLITS
from builder.tasks.classification.drift import measure_drift

POSTS = [
    ("train", "Go go home", None, 1, 10, "positive", "distant"),
    ("train", "home, sweet", None, 2, 30, "negative", "human"),
    ("long", "go away AWAY", None, 1, 90, "positive", "distant"),
    ("short", "one", None, 4, 80, "negative", "human"),
    ("short", "two", None, 4, 70, "negative", "human"),
    ("short", "three", None, 4, 75, "positive", "distant"),
    ("long", "zebra", "duplicate", 3, 95, "positive", "distant"),
]
"""Words of train: go 2, home 2, sweet 1; of long: go 1, away 2. The last post was rejected."""


@pytest.fixture
def drift():
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE candidate (split VARCHAR, text VARCHAR, reason VARCHAR, author UBIGINT, "
        "time BIGINT, label VARCHAR, source VARCHAR)"
    )
    connection.executemany("INSERT INTO candidate VALUES (?, ?, ?, ?, ?, ?, ?)", POSTS)
    connection.execute(
        "CREATE TABLE work AS SELECT * FROM (VALUES ('train', 'positive'), ('train', 'positive'), "
        "('train', 'none'), ('long', 'negative'), (NULL, 'negative')) AS t(period, marked)"
    )
    return measure_drift(connection)


def test_sizes(drift):
    assert list(drift["splits"]) == list(SPLITS)
    train = dict(drift["splits"]["train"])
    train.pop("against_train")
    assert train == {
        "posts": 2,
        "authors": 2,
        "first_time": 10,
        "last_time": 30,
        "positive": 1,
        "negative": 1,
        "human": 1,
        "positive_share": 0.5,
        "types": 3,
        "tokens": 5,
        "tokens_per_post": 2.5,
    }
    short = drift["splits"]["short"]
    names = ("posts", "authors", "first_time", "last_time", "positive", "negative", "human")
    assert [short[name] for name in names] == [3, 1, 70, 80, 1, 2, 2]
    assert short["positive_share"] == pytest.approx(1 / 3)
    empty = drift["splits"]["dev"]
    assert (empty["posts"], empty["tokens"], empty["tokens_per_post"]) == (0, 0, None)


def test_vocabulary_against_train(drift):
    found = drift["splits"]["long"]["against_train"]
    halves = (
        0.4 * log2(0.4 / (11 / 30)) + 0.4 + 0.2,
        1 / 3 * log2(1 / 3 / (11 / 30)) + 2 / 3,
    )
    assert found == pytest.approx(
        {
            "vocabulary_jaccard": 1 / 4,
            "js_bits": sum(halves) / 2,
            "oov_share": 2 / 3,
            "train_oov_share": 3 / 5,
        }
    )


def test_labels_of_a_period(drift):
    assert drift["markers"] == {"train": {"positive": 2, "none": 1}, "long": {"negative": 1}}
