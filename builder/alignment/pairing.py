"""Matches the documents of two snapshots by URL, first exactly, then loosely.

Input: the views `documents_from`, `documents_to` and `documents_earlier` of a DuckDB connection,
and the table `absences` (see `builder.alignment.absence`). Output: three tables. `pairing` has one
row, with a status, per id that occurs in either snapshot; `returned` lists the added ids that an
earlier snapshot contained; `matches` lists pairs of a removed and an added page that are the same
page under different URLs.

1. Pages are matched by URL key and are `added`, `removed`, `updated` or `unchanged`. An added page
   is `returned` if an earlier snapshot contained it. A missing page is `not_sampled`, `not_shown`
   or `left_out` instead of `removed` if the later crawl still contains it.
2. Removed and added pages are matched by loose key if their URLs differ only in scheme, `www.` or
   trailing slash. If several pages have the same loose key, they are matched in order of URL.
3. Pages that moved are matched by text in `builder.alignment.moved_pages`.
"""

import duckdb

from builder.documents.loose_keys import LOOSE_KEY

PAIRING = """
CREATE TEMP TABLE pairing AS
SELECT
    coalesce(f.doc_id, t.doc_id) AS doc_id,
    CASE
        WHEN t.doc_id IS NULL THEN coalesce(a.status, 'removed')
        WHEN f.doc_id IS NULL THEN 'added'
        WHEN f.token_hash <> t.token_hash THEN 'updated'
        ELSE 'unchanged'
    END AS status,
    f.text_hash <> t.text_hash AS text_changed,
    f.tokens AS tokens_from,
    t.tokens AS tokens_to
FROM documents_from AS f FULL JOIN documents_to AS t ON f.doc_id = t.doc_id
LEFT JOIN absences AS a ON a.doc_id = f.doc_id
"""

RETURNED = """
CREATE TEMP TABLE returned AS
SELECT doc_id FROM pairing SEMI JOIN documents_earlier USING (doc_id) WHERE status = 'added'
"""

REMOVED = """
CREATE TEMP TABLE removed AS
SELECT doc_id, url_key, loose_key(url_key) AS loose_key, token_hash, text_hash, tokens
FROM documents_from SEMI JOIN (FROM pairing WHERE status = 'removed') USING (doc_id)
"""

ADDED = """
CREATE TEMP TABLE added AS
SELECT doc_id, url_key, loose_key(url_key) AS loose_key, token_hash, text_hash, tokens
FROM documents_to SEMI JOIN (FROM pairing WHERE status = 'added') USING (doc_id)
"""

LOOSE = """
CREATE TEMP TABLE matches AS
WITH
ranked_removed AS (
    SELECT *, row_number() OVER (PARTITION BY loose_key ORDER BY url_key) AS rank FROM removed
),
ranked_added AS (
    SELECT *, row_number() OVER (PARTITION BY loose_key ORDER BY url_key) AS rank FROM added
)
SELECT
    r.doc_id AS removed_id,
    a.doc_id AS added_id,
    'loose' AS matched_by,
    r.text_hash <> a.text_hash AS text_changed
FROM ranked_removed AS r JOIN ranked_added AS a USING (loose_key, rank)
"""


def pair_documents(connection: duckdb.DuckDBPyConnection) -> None:
    """Match the documents of two snapshots by URL; create `pairing`, `returned` and `matches`.

    Args:
        connection: DuckDB connection with the views `documents_from`, `documents_to` and
            `documents_earlier`, and the table `absences`.
    """
    for statement in (PAIRING, RETURNED, LOOSE_KEY, REMOVED, ADDED, LOOSE):
        connection.execute(statement)
