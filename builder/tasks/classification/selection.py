"""From candidates to splits: one post a text, no text in two splits, sampled.

In: the work table of `labelling`. Out: a table `chosen` of posts with their final split, and a
reason for every other record.

1. Of posts with one id the earliest stays (`duplicate_id`).
2. Texts with both labels are dropped whole (`label_conflict`).
3. Of posts with one text, that of the author with the least keyed hash stays (`duplicate_text`).
4. A post whose text is nearly that of such a post in another split is dropped
   (`near_duplicate_of_another_split`).
5. Posts are sampled by keyed hash of their id, balanced or natural (`not_sampled`).

Texts are near-duplicates where the Jaccard similarity of their sets of word bigrams reaches a
threshold theta > 1/2. All such pairs are found, none is missed: with features in one total order,
rarest first, two sets of sizes m and n share at least c = ceil(theta max(m, n)) features, and
their first two common ones lie among the first m - c + 2 features of each (prefix filter with two
features; Bayardo, Ma, Srikant 2007; Wang, Li, Feng 2012).
"""

from collections.abc import Sequence

import duckdb

from builder.tasks.classification.definition import (
    LABELLED,
    SPLITS,
    ClassificationDefinition,
    SamplingSection,
)

CANDIDATES = """
CREATE TEMP TABLE candidate AS
WITH ranked AS (
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY time, author, text, file, line) AS copy
    FROM work WHERE reason IS NULL
)
SELECT row_number() OVER (ORDER BY author, id, copy) AS rank,
       * EXCLUDE (reason, copy),
       CASE WHEN copy > 1 THEN 'duplicate_id' END AS reason
FROM ranked
"""

CONFLICTS = """
UPDATE candidate SET reason = 'label_conflict'
WHERE reason IS NULL AND split <> 'unlabelled' AND identity IN (
    SELECT identity FROM candidate
    WHERE reason IS NULL AND split <> 'unlabelled'
    GROUP BY identity HAVING count(DISTINCT marked) > 1
)
"""

DUPLICATE_TEXTS = """
UPDATE candidate SET reason = 'duplicate_text'
WHERE reason IS NULL AND rank NOT IN (
    SELECT min(rank) FROM candidate WHERE reason IS NULL GROUP BY identity
)
"""

FEATURES = """
CREATE TEMP TABLE feature AS
WITH words AS (
    SELECT rank, split, string_split(identity, ' ') AS word FROM candidate WHERE reason IS NULL
), bigrams AS (
    SELECT rank, split, unnest(list_distinct(list_transform(
        generate_series(0, len(word)),
        lambda i: md5_number_lower(coalesce(word[i], '^') || ' ' || coalesce(word[i + 1], '$'))
    ))) AS bigram
    FROM words
), frequencies AS (SELECT bigram, count(*) AS posts FROM bigrams GROUP BY bigram)
SELECT rank, split, bigram, posts,
       row_number() OVER (PARTITION BY rank ORDER BY posts, bigram) AS position,
       count(*) OVER (PARTITION BY rank) AS size
FROM bigrams JOIN frequencies USING (bigram)
"""

NEAR_DUPLICATES = """
CREATE TEMP TABLE near_duplicate AS
WITH prefix AS (
    SELECT rank, split, bigram, position, size FROM feature
    WHERE posts > 1 AND position <= size - ceil($theta * size - 1e-9) + 2
), keyed AS (
    SELECT a.rank, a.split, a.size, a.bigram AS first, b.bigram AS second
    FROM prefix AS a JOIN prefix AS b ON a.rank = b.rank AND a.position < b.position
), pairs AS (
    SELECT DISTINCT a.rank AS kept, b.rank AS dropped, a.size AS kept_size, b.size AS dropped_size
    FROM keyed AS a JOIN keyed AS b USING (first, second)
    WHERE a.rank < b.rank AND a.split <> b.split
      AND least(a.size, b.size) >= $theta * greatest(a.size, b.size) - 1e-9
), shared AS (
    SELECT kept, dropped, any_value(kept_size) + any_value(dropped_size) AS sizes,
           count(*) AS common
    FROM pairs
    JOIN feature AS a ON a.rank = kept
    JOIN feature AS b ON b.rank = dropped AND b.bigram = a.bigram
    GROUP BY kept, dropped
)
SELECT DISTINCT dropped AS rank FROM shared WHERE common >= $theta * (sizes - common) - 1e-9
"""

NEAR_DUPLICATES_OUT = """
UPDATE candidate SET reason = 'near_duplicate_of_another_split'
WHERE rank IN (SELECT rank FROM near_duplicate)
"""

SAMPLED_OUT = """
UPDATE candidate SET reason = 'not_sampled'
WHERE reason IS NULL AND split = $split AND rank NOT IN (
    SELECT rank FROM (
        SELECT rank, row_number() OVER (PARTITION BY {group} ORDER BY sample, id) AS place
        FROM candidate WHERE reason IS NULL AND split = $split
    ) WHERE place <= $most
)
"""

COUNTS = """
SELECT marked, count(*) FROM candidate WHERE reason IS NULL AND split = $split GROUP BY marked
"""


def choose(connection: duckdb.DuckDBPyConnection, definition: ClassificationDefinition) -> None:
    """Decide over every candidate.

    Args:
        connection: Has the view `work`; gets the table `candidate` with rank (order of precedence),
            the columns of the work table and the final reason, null for posts that stay.
        definition: Thresholds and sizes.
    """
    connection.execute(CANDIDATES)
    connection.execute(CONFLICTS)
    connection.execute(DUPLICATE_TEXTS)
    drop_near_duplicates(connection, definition.text.near_duplicate)
    for split in SPLITS:
        sample(connection, split, definition.sampling)


def drop_near_duplicates(connection: duckdb.DuckDBPyConnection, theta: float) -> None:
    """Drop posts that are nearly a post of another split with a lower rank."""
    connection.execute(FEATURES)
    connection.execute(NEAR_DUPLICATES, {"theta": theta})
    connection.execute(NEAR_DUPLICATES_OUT)
    connection.execute("DROP TABLE feature")
    connection.execute("DROP TABLE near_duplicate")


def sample(connection: duckdb.DuckDBPyConnection, split: str, sampling: SamplingSection) -> None:
    """Keep the posts of a split with the least hashes, up to its size."""
    counts = dict(connection.execute(COUNTS, {"split": split}).fetchall())
    size = getattr(sampling, split) or sum(counts.values())
    balanced = sampling.kind == "balanced" and split in LABELLED
    most = min([size // 2, *_of_both(counts)]) if balanced else size
    group = "marked" if balanced else "split"
    connection.execute(SAMPLED_OUT.format(group=group), {"split": split, "most": most})


def _of_both(counts: dict[str, int]) -> Sequence[int]:
    return [counts.get(polarity, 0) for polarity in ("positive", "negative")]
