"""Selects the posts of each split: rejects duplicates, assigns final labels, and draws the sample.

Of two candidates with equal or similar texts, the one with the lower author hash is preferred; ties
are broken by id.

Reject reasons, in this order:

1. `duplicate_id`: an earlier post has the same id.
2. `label_conflict`: posts of labeled splits have the same text but different distant labels.
3. `duplicate_text`: a preferred post has the same text.
4. `near_duplicate_of_another_split`: a preferred post of another split has a similar text.
5. `annotators_disagree`, `human_neutral`: human labels of a development or test post are tied, or
   mostly neutral.
6. `not_sampled`: the split has reached its maximum size; posts are sampled by a keyed hash of
   their id.

Texts are similar if the Jaccard similarity of their word bigrams is at least theta > 1/2. All such
pairs are found: similar sets of m and n bigrams share at least c = ceil(theta max(m, n)) bigrams,
so if bigrams are sorted from rare to frequent, the first two shared bigrams are among the first
m - c + 2 bigrams of one set and the first n - c + 2 of the other (prefix filter with two
features; Bayardo, Ma, Srikant 2007; Wang, Li, Feng 2012).
"""

from collections.abc import Sequence

import duckdb

from builder.tasks.classification.definition import (
    LABELED_SPLITS,
    SPLITS,
    ClassificationDefinition,
    SamplingSection,
)

CREATE_CANDIDATES = """
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

REJECT_LABEL_CONFLICTS = """
UPDATE candidate SET reason = 'label_conflict'
WHERE reason IS NULL AND split <> 'unlabelled' AND identity IN (
    SELECT identity FROM candidate
    WHERE reason IS NULL AND split <> 'unlabelled'
    GROUP BY identity HAVING count(DISTINCT marked) > 1
)
"""

REJECT_DUPLICATE_TEXTS = """
UPDATE candidate SET reason = 'duplicate_text'
WHERE reason IS NULL AND rank NOT IN (
    SELECT min(rank) FROM candidate WHERE reason IS NULL GROUP BY identity
)
"""

CREATE_FEATURES = """
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

CREATE_NEAR_DUPLICATES = """
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

REJECT_NEAR_DUPLICATES = """
UPDATE candidate SET reason = 'near_duplicate_of_another_split'
WHERE rank IN (SELECT rank FROM near_duplicate)
"""

ADD_FINAL_LABELS = """
ALTER TABLE candidate ADD COLUMN label VARCHAR;
ALTER TABLE candidate ADD COLUMN source VARCHAR;
UPDATE candidate SET label = marked, source = 'distant' WHERE split <> 'unlabelled';
UPDATE candidate SET label = v.verdict, source = 'human',
    reason = CASE WHEN v.verdict IS NULL THEN 'annotators_disagree'
                  WHEN v.verdict = 'neutral' THEN 'human_neutral' END
FROM verdict AS v
WHERE v.id = candidate.id AND reason IS NULL AND split IN ('dev', 'within', 'short', 'long');
"""

REJECT_UNSAMPLED = """
UPDATE candidate SET reason = 'not_sampled'
WHERE reason IS NULL AND split = $split AND rank NOT IN (
    SELECT rank FROM (
        SELECT rank, row_number() OVER (PARTITION BY {group} ORDER BY sample, id) AS position
        FROM candidate WHERE reason IS NULL AND split = $split
    ) WHERE position <= $limit
)
"""

COUNT_LABELS = """
SELECT label, count(*) FROM candidate WHERE reason IS NULL AND split = $split GROUP BY label
"""


def select_posts(
    connection: duckdb.DuckDBPyConnection, definition: ClassificationDefinition
) -> None:
    """Create the table `candidate`, with a reject reason for each post that is not selected.

    The table has the columns of the work table, `rank` (order of precedence), `label` (final label)
    and `source` (of the label); `reason` is null for selected posts.

    Args:
        connection: DuckDB connection with the views `work` and `verdict` (majority labels).
        definition: Definition of the collection, with the similarity threshold and split sizes.
    """
    connection.execute(CREATE_CANDIDATES)
    connection.execute(REJECT_LABEL_CONFLICTS)
    connection.execute(REJECT_DUPLICATE_TEXTS)
    reject_near_duplicates(connection, definition.text.near_duplicate)
    connection.execute(ADD_FINAL_LABELS)
    for split in SPLITS:
        limit_split_size(connection, split, definition.sampling)


def reject_near_duplicates(connection: duckdb.DuckDBPyConnection, min_jaccard: float) -> None:
    """Reject posts that are near-duplicates of a preferred post (lower rank) in another split.

    Args:
        connection: DuckDB connection with the table `candidate`.
        min_jaccard: Minimum Jaccard similarity of near-duplicates, above 0.5.
    """
    connection.execute(CREATE_FEATURES)
    connection.execute(CREATE_NEAR_DUPLICATES, {"theta": min_jaccard})
    connection.execute(REJECT_NEAR_DUPLICATES)
    connection.execute("DROP TABLE feature")
    connection.execute("DROP TABLE near_duplicate")


def limit_split_size(
    connection: duckdb.DuckDBPyConnection, split: str, sampling: SamplingSection
) -> None:
    """Limit a split to its maximum size: reject the posts with the largest hashes.

    With balanced sampling, labeled splits keep equal numbers of posts with the final labels
    positive and negative.
    """
    counts = dict(connection.execute(COUNT_LABELS, {"split": split}).fetchall())
    size = getattr(sampling, split) or sum(counts.values())
    balanced = sampling.kind == "balanced" and split in LABELED_SPLITS
    limit = min([size // 2, *_polarity_counts(counts)]) if balanced else size
    group = "label" if balanced else "split"
    connection.execute(REJECT_UNSAMPLED.format(group=group), {"split": split, "limit": limit})


def _polarity_counts(label_counts: dict[str, int]) -> Sequence[int]:
    return [label_counts.get(polarity, 0) for polarity in ("positive", "negative")]
