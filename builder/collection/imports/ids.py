"""Ids of a release -> stable ids of ours.

A query is its folded text, a document its canonical URL, as everywhere. Where a release does not
say the text or the URL, its own id stands for it: alone in its snapshot, since releases give
another id each month (`longeval-web` documents keep theirs).
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import polars as pl

from builder.errors import FormatError
from builder.ingest.texts import canonical_url
from builder.text.keys import doc_id, fold_texts, key64, query_id
from schemas import DOC_ID_PATTERN, QUERY_ID_PATTERN


def query_ids(aliases: Iterable[str], texts: Iterable[str], place: str) -> list[str]:
    """The stable ids of queries with these texts; of their aliases where folding leaves nothing."""
    return [
        query_id(key64(folded)) if folded else unnamed_query(alias, place)
        for alias, folded in zip(aliases, fold_texts(texts), strict=True)
    ]


def unnamed_query(alias: str, place: str) -> str:
    """The id of a query whose text is not known."""
    if re.fullmatch(QUERY_ID_PATTERN, alias):
        return alias
    return query_id(key64(f"query {alias} of {place}"))


def document_id(alias: str, url: str | None, place: str) -> tuple[str, str]:
    """The stable id of a document, and its canonical URL, or what stands for it."""
    canonical = canonical_url(url) if url else None
    if canonical is not None:
        return doc_id(key64(canonical)), canonical
    named = f"{place}:{alias}"
    return (alias if re.fullmatch(DOC_ID_PATTERN, alias) else doc_id(key64(named))), named


def read_mapping(path: Path) -> Iterator[tuple[str, str]]:
    """Document numbers and addresses of a SQLite database; it is opened to be read only.

    Raises:
        FormatError: it is no such database.
    """
    yield from _pairs(path, "SELECT id, url FROM mapping ORDER BY id", "mapping(id, url, ...)")


def read_query_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Query ids and texts of a SQLite database; it is opened to be read only.

    Raises:
        FormatError: it is no such database.
    """
    yield from _pairs(path, "SELECT id, query FROM queries ORDER BY id", "queries(id, query, ...)")


def _pairs(path: Path, sql: str, expected: str) -> Iterator[tuple[str, str]]:
    try:
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            for number, text in connection.execute(sql):
                if isinstance(text, str):
                    yield str(number), text
    except sqlite3.Error as error:
        raise FormatError(f"expected a database with {expected}: {error}", path) from None


def id_frame(kind: str, pairs: dict[str, str]) -> pl.DataFrame:
    """Rows of `schemas.ReleaseIds`."""
    rows = [(kind, alias, stable) for alias, stable in pairs.items()]
    return pl.DataFrame(rows, schema=["kind", "alias", "id"], orient="row").cast(pl.String)
