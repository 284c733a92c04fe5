"""Finds near-duplicate query signatures, which differ only in the spelling of one word.

A signature consists of the sorted stems of the content words of a query.

The edit similarity of two words is 1 - d / (length of the longer word), where d is the
Damerau-Levenshtein distance (insertion, deletion, substitution, transposition). Two words are
spelling variants if their similarity reaches the threshold, d <= 2, neither word contains a digit,
and they start with the same letter: first letters are rarely mistyped (Yannakoudakis & Fawthrop
1983) but distinguish `maternite` from `paternite` and `licite` from `illicite`.

Candidate pairs come from deletion neighborhoods (Mor & Fraenkel 1982): two words within distance d
have a string in common that results from each word by at most d deletions. No pair is missed.
"""

import duckdb
import polars as pl

MAX_EDITS = 2

WORDS = """
CREATE OR REPLACE TEMP TABLE words AS
SELECT word, length(word) AS letters,
       least($most, floor((1 - $threshold) * length(word) + 1e-9))::INTEGER AS edits
FROM (SELECT DISTINCT unnest(string_split(signature, ' ')) AS word FROM signatures)
WHERE NOT regexp_matches(word, '[0-9]') AND length(word) > 1
"""

SPELLINGS = """
CREATE OR REPLACE TEMP TABLE spellings AS
WITH longest AS (
    SELECT word, letters, least($most, edits + 1) AS deletions FROM words
), one_less AS (
    SELECT word, substr(word, 1, i - 1) || substr(word, i + 1) AS piece
    FROM longest, generate_series(2, letters) AS _(i) WHERE deletions >= 1
), two_less AS (
    SELECT word, substr(piece, 1, i - 1) || substr(piece, i + 1) AS piece
    FROM one_less JOIN longest USING (word), generate_series(2, length(piece)) AS _(i)
    WHERE deletions >= 2
), neighbourhoods AS (
    SELECT word, word AS piece FROM words
    UNION SELECT * FROM one_less UNION SELECT * FROM two_less
), near AS (
    SELECT DISTINCT a.word AS word, b.word AS other
    FROM neighbourhoods a JOIN neighbourhoods b USING (piece) WHERE a.word <> b.word
)
SELECT word, other,
       1 - damerau_levenshtein(word, other) / greatest(length(word), length(other)) AS similarity
FROM near
WHERE word[1] = other[1] AND damerau_levenshtein(word, other) <= $most
  AND damerau_levenshtein(word, other)
      <= (1 - $threshold) * greatest(length(word), length(other)) + 1e-9
"""

LINKS = """
WITH split AS (
    SELECT signature, string_split(signature, ' ') AS parts FROM signatures
), holes AS (
    SELECT signature, parts[i] AS word,
           array_to_string(list_concat(parts[:i - 1], parts[i + 1:]), ' ') AS rest
    FROM split, generate_series(1, len(parts)) AS _(i)
    SEMI JOIN spellings ON spellings.word = parts[i]
)
SELECT a.signature AS signature, b.signature AS other, max(similarity) AS similarity
FROM holes a JOIN spellings ON spellings.word = a.word
JOIN holes b ON b.word = spellings.other AND b.rest = a.rest
GROUP BY a.signature, b.signature
ORDER BY a.signature, b.signature
"""


def find_near_duplicate_signatures(
    connection: duckdb.DuckDBPyConnection, signatures: pl.Series, threshold: float
) -> pl.DataFrame:
    """Return all pairs of near-duplicate signatures; each pair is listed in both directions.

    Args:
        connection: A DuckDB connection not shared with other callers; its temporary
            tables are overwritten.
        signatures: Distinct signatures.
        threshold: Minimum edit similarity, in (0, 1], of the two words in which a pair differs.

    Returns:
        Columns `signature`, `other`, `similarity`, sorted.
    """
    connection.register("signatures", signatures.alias("signature").to_frame().to_arrow())
    connection.execute(WORDS, {"most": MAX_EDITS, "threshold": threshold})
    connection.execute(SPELLINGS, {"most": MAX_EDITS, "threshold": threshold})
    links: pl.DataFrame = connection.sql(LINKS).pl()
    return links
