"""How the splits of a classification collection differ from its training set.

In: the posts and labels of a build. Out: per split its size, label shares and vocabulary, and
against the training set vocabulary Jaccard, Jensen-Shannon divergence of words in bits and the
share of words out of the other's vocabulary, both ways. Words are runs of letters, digits and
underscores, lower-cased.
"""

from typing import Any

import duckdb

from builder.documents.words import JOINERS, WORD_DUCKDB
from builder.drift.statistics import jaccard, jensen_shannon, share
from builder.tasks.classification.definition import SPLITS

WORDS = """
CREATE TEMP TABLE word AS
SELECT split, word, count(*) AS tokens
FROM (
    SELECT split, unnest(regexp_extract_all(joined, $word)) AS word
    FROM (
        SELECT split, regexp_replace(lower(text), $joiners, '', 'g') AS joined
        FROM candidate WHERE reason IS NULL
    )
)
GROUP BY split, word
"""

SIZES = """
SELECT count(*), count(DISTINCT author), min(time), max(time),
       count(*) FILTER (label = 'positive'), count(*) FILTER (label = 'negative'),
       count(*) FILTER (source = 'human')
FROM candidate WHERE reason IS NULL AND split = $split
"""

VOCABULARY = "SELECT count(*), coalesce(sum(tokens), 0)::BIGINT FROM word WHERE split = $split"

CLASSES = """
SELECT coalesce(a.tokens, 0), coalesce(b.tokens, 0), count(*)
FROM (SELECT word, tokens FROM word WHERE split = 'train') AS a
FULL JOIN (SELECT word, tokens FROM word WHERE split = $split) AS b USING (word)
GROUP BY ALL
"""

MARKED = """
SELECT period, marked, count(*) FROM work
WHERE period IS NOT NULL GROUP BY period, marked ORDER BY period, marked
"""


def measure_drift(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Statistics of every split and of the markers in every period.

    Args:
        connection: Has the view `work` and the table `candidate` of a finished build.
    """
    connection.execute(WORDS, {"word": WORD_DUCKDB, "joiners": JOINERS})
    splits = {split: _describe(connection, split) for split in SPLITS}
    markers: dict[str, dict[str, int]] = {}
    for period, marked, posts in connection.execute(MARKED).fetchall():
        markers.setdefault(period, {})[marked] = posts
    connection.execute("DROP TABLE word")
    return {"splits": splits, "markers": markers}


def _describe(connection: duckdb.DuckDBPyConnection, split: str) -> dict[str, Any]:
    row = connection.execute(SIZES, {"split": split}).fetchall()[0]
    posts, authors, first, last, positive, negative, human = row
    types, tokens = connection.execute(VOCABULARY, {"split": split}).fetchall()[0]
    return {
        "posts": posts,
        "authors": authors,
        "first_time": first,
        "last_time": last,
        "positive": positive,
        "negative": negative,
        "human": human,
        "positive_share": share(positive, positive + negative),
        "types": types,
        "tokens": tokens,
        "tokens_per_post": share(tokens, posts),
        "against_train": _against_train(connection, split),
    }


def _against_train(connection: duckdb.DuckDBPyConnection, split: str) -> dict[str, float | None]:
    rows = connection.execute(CLASSES, {"split": split}).fetchall()
    classes = {(train, other): types for train, other, types in rows}
    common = sum(n for (train, other), n in classes.items() if train and other)
    sizes = [sum(n for pair, n in classes.items() if pair[side]) for side in (0, 1)]
    tokens = [sum(pair[side] * n for pair, n in classes.items()) for side in (0, 1)]
    alone = [sum(pair[i] * n for pair, n in classes.items() if not pair[1 - i]) for i in (0, 1)]
    return {
        "vocabulary_jaccard": jaccard(common, sizes[0], sizes[1]),
        "js_bits": jensen_shannon(classes),
        "oov_share": share(alone[1], tokens[1]),
        "train_oov_share": share(alone[0], tokens[0]),
    }
