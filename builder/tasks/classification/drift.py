"""Size, labels and vocabulary of each split, and vocabulary drift from the training set.

Vocabulary drift is measured by the Jaccard similarity of the vocabularies, the Jensen-Shannon
divergence between the word distributions (in bits), the share of tokens of the split that do not
occur in the training set, and the share of tokens of the training set that do not occur in the
split. Words are lowercased runs of letters, digits and underscores.
"""

from typing import Any

import duckdb

from builder.documents.words import JOINERS, WORD_DUCKDB
from builder.drift.statistics import jaccard, jensen_shannon_divergence, share
from builder.tasks.classification.definition import SPLITS

CREATE_WORD_COUNTS = """
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

SPLIT_STATISTICS = """
SELECT count(*), count(DISTINCT author), min(time), max(time),
       count(*) FILTER (label = 'positive'), count(*) FILTER (label = 'negative'),
       count(*) FILTER (source = 'human')
FROM candidate WHERE reason IS NULL AND split = $split
"""

VOCABULARY_SIZE = "SELECT count(*), coalesce(sum(tokens), 0)::BIGINT FROM word WHERE split = $split"

WORD_COUNT_PAIRS = """
SELECT coalesce(a.tokens, 0), coalesce(b.tokens, 0), count(*)
FROM (SELECT word, tokens FROM word WHERE split = 'train') AS a
FULL JOIN (SELECT word, tokens FROM word WHERE split = $split) AS b USING (word)
GROUP BY ALL
"""

LABELS_BY_PERIOD = """
SELECT period, marked, count(*) FROM work
WHERE period IS NOT NULL GROUP BY period, marked ORDER BY period, marked
"""


def measure_drift(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the size, label counts, vocabulary size and vocabulary drift of every split.

    Args:
        connection: DuckDB connection with the view `work` and the table `candidate`, after posts
            were selected and labels assigned.

    Returns:
        Content of `drift.json`.
    """
    connection.execute(CREATE_WORD_COUNTS, {"word": WORD_DUCKDB, "joiners": JOINERS})
    splits = {split: _describe_split(connection, split) for split in SPLITS}
    markers: dict[str, dict[str, int]] = {}
    for period, marked, posts in connection.execute(LABELS_BY_PERIOD).fetchall():
        markers.setdefault(period, {})[marked] = posts
    connection.execute("DROP TABLE word")
    return {"splits": splits, "markers": markers}


def _describe_split(connection: duckdb.DuckDBPyConnection, split: str) -> dict[str, Any]:
    """Return the size, label counts, vocabulary size and vocabulary drift of one split."""
    row = connection.execute(SPLIT_STATISTICS, {"split": split}).fetchall()[0]
    posts, authors, first, last, positive, negative, human = row
    types, tokens = connection.execute(VOCABULARY_SIZE, {"split": split}).fetchall()[0]
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
        "against_train": _compare_with_train(connection, split),
    }


def _compare_with_train(
    connection: duckdb.DuckDBPyConnection, split: str
) -> dict[str, float | None]:
    """Return the vocabulary drift of a split relative to the training set, by measure name."""
    rows = connection.execute(WORD_COUNT_PAIRS, {"split": split}).fetchall()
    types_by_counts = {(train, other): types for train, other, types in rows}
    common = sum(n for (train, other), n in types_by_counts.items() if train and other)
    sizes = [sum(n for pair, n in types_by_counts.items() if pair[side]) for side in (0, 1)]
    tokens = [sum(pair[side] * n for pair, n in types_by_counts.items()) for side in (0, 1)]
    oov_tokens = [
        sum(pair[i] * n for pair, n in types_by_counts.items() if not pair[1 - i]) for i in (0, 1)
    ]
    return {
        "vocabulary_jaccard": jaccard(common, sizes[0], sizes[1]),
        "js_bits": jensen_shannon_divergence(types_by_counts),
        "oov_share": share(oov_tokens[1], tokens[1]),
        "train_oov_share": share(oov_tokens[0], tokens[0]),
    }
