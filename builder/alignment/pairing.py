"""Which documents of two snapshots are the same page: three tiers, strictest first.

In: views `documents_from`, `documents_to` and `documents_earlier` of a DuckDB connection, and the
table `absences` (see `builder.alignment.absence`). Out: the
tables `pairing` (one row for each id in either snapshot, with its status by URL key) and `matches`
(removed and added pages that are one page under another address).

1. By URL key: added, removed, updated, unchanged; returned where an earlier snapshot had it;
   not_sampled, not_shown or left_out where the later crawl still has the page.
2. Loose: a removed and an added address that differ by scheme, www or trailing slash only. Where
   several share one loose key, they are paired in order of address.
3. Moved: see `builder.alignment.moved`.
"""

import duckdb

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

LOOSE_KEY = r"""
CREATE OR REPLACE TEMP MACRO loose_key(url_key) AS
    regexp_replace(regexp_replace(url_key, '^https?://(www\.)?', ''), '/+(\?|$)', '\1')
"""

GONE = """
CREATE TEMP TABLE gone AS
SELECT doc_id, url_key, loose_key(url_key) AS loose_key, token_hash, text_hash, tokens
FROM documents_from SEMI JOIN (FROM pairing WHERE status = 'removed') USING (doc_id)
"""

CAME = """
CREATE TEMP TABLE came AS
SELECT doc_id, url_key, loose_key(url_key) AS loose_key, token_hash, text_hash, tokens
FROM documents_to SEMI JOIN (FROM pairing WHERE status = 'added') USING (doc_id)
"""

LOOSE = """
CREATE TEMP TABLE matches AS
WITH
gone_in_order AS (
    SELECT *, row_number() OVER (PARTITION BY loose_key ORDER BY url_key) AS place FROM gone
),
came_in_order AS (
    SELECT *, row_number() OVER (PARTITION BY loose_key ORDER BY url_key) AS place FROM came
)
SELECT
    g.doc_id AS gone_id,
    c.doc_id AS came_id,
    'loose' AS matched_by,
    g.text_hash <> c.text_hash AS text_changed
FROM gone_in_order AS g JOIN came_in_order AS c USING (loose_key, place)
"""


def pair_documents(connection: duckdb.DuckDBPyConnection) -> None:
    """Create `pairing`, `returned`, `gone`, `came` and `matches` (tiers 1 and 2)."""
    for statement in (PAIRING, RETURNED, LOOSE_KEY, GONE, CAME, LOOSE):
        connection.execute(statement)
