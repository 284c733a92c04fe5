"""Ids of a release, and the keys under which its snapshots are aligned.

Queries and documents keep the ids that the release gave them. Beside its id each has a key, which
is what a collection of ours would have as its id: a query that of its folded text, a document that
of its canonical URL. Where a release does not say the text or the URL, or another id of the
snapshot has the same, the id itself makes the key: alone in its snapshot, since releases give
another id each month (those of `longeval-web` and `longeval-sci` last).
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import orjson
import polars as pl

from builder.errors import FormatError
from builder.ingest.texts import canonical_url
from builder.text.keys import doc_id, fold_texts, key64, query_id
from schemas import DOC_ID_PATTERN, QUERY_ID_PATTERN, ReleaseIds

UPDATED = "last_updated_at"


class Keys:
    """Keys of the ids of one kind in one snapshot: each its own, given once.

    Args:
        known: Key of each id that has one.
    """

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self._taken: set[str] = set()

    def give(self, alias: str, *wanted: str) -> str:
        """The key of an id: the one that it has, or the first wanted one that is free."""
        if alias not in self.known:
            self.known[alias] = next(key for key in wanted if key not in self._taken)
            self._taken.add(self.known[alias])
        return self.known[alias]


def text_keys(texts: Sequence[str]) -> list[str | None]:
    """The key of each folded text; None where folding leaves nothing."""
    return [query_id(key64(folded)) if folded else None for folded in fold_texts(texts)]


def unnamed_query(alias: str, place: str) -> tuple[str, ...]:
    """The keys that a query without a text of its own may have."""
    made = query_id(key64(f"query {alias} of {place}"))
    return (alias, made) if re.fullmatch(QUERY_ID_PATTERN, alias) else (made,)


def document_keys(alias: str, url: str | None, place: str) -> tuple[str, tuple[str, ...]]:
    """The canonical URL of a document, or what stands for it, and the keys that it may have."""
    named = f"{place}:{alias}"
    own = (alias,) if re.fullmatch(DOC_ID_PATTERN, alias) else ()
    canonical = canonical_url(url) if url else None
    if canonical is None:
        return named, (*own, doc_id(key64(named)))
    return canonical, (doc_id(key64(canonical)), *own, doc_id(key64(named)))


def read_mapping(path: Path, snapshot: str) -> Iterator[tuple[str, str, int]]:
    """Document numbers, addresses and times of a SQLite database; it is opened to be read only.

    Args:
        path: The database; its table may lack the columns of times.
        snapshot: The snapshot whose times are wanted.

    Returns:
        Number, address, and the unix seconds of the last update before that snapshot; 0 where
        nothing says it.

    Raises:
        FormatError: it is no such database.
    """
    columns = {row[1] for row in _rows(path, "PRAGMA table_info(mapping)", "mapping(id, url, ...)")}
    times = f"{UPDATED}, date" if {UPDATED, "date"} <= columns else "NULL, NULL"
    sql = f"SELECT id, url, {times} FROM mapping ORDER BY id"  # noqa: S608 - constants of ours
    for number, url, updated, dates in _rows(path, sql, "mapping(id, url, ...)"):
        if isinstance(url, str):
            yield str(number), url, _updated(updated, dates, snapshot)


def _updated(updated: object, dates: object, snapshot: str) -> int:
    """The time in a JSON list that stands where another one has the snapshot."""
    try:
        found = zip(orjson.loads(str(dates)), orjson.loads(str(updated)), strict=True)
        times = {str(name)[: len(snapshot)]: time for name, time in found}
        time = times.get(snapshot, 0)
        if isinstance(time, str) and not time.lstrip("-").isdecimal():
            moment = datetime.fromisoformat(time)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        return int(time)
    except (TypeError, ValueError, OverflowError):
        return 0


def read_query_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Query ids and texts of a SQLite database; it is opened to be read only.

    Raises:
        FormatError: it is no such database.
    """
    sql = "SELECT id, query FROM queries ORDER BY id"
    for number, text in _rows(path, sql, "queries(id, query, ...)"):
        if isinstance(text, str):
            yield str(number), text


def _rows(path: Path, sql: str, expected: str) -> Iterator[tuple[object, ...]]:
    try:
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            yield from connection.execute(sql)
    except sqlite3.Error as error:
        raise FormatError(f"expected a database with {expected}: {error}", path) from None


def id_frame(
    kind: str, keys: dict[str, str], text_keys: dict[str, str | None] | None = None
) -> pl.DataFrame:
    """Rows of `schemas.ReleaseIds`."""
    texts = text_keys or {}
    rows = [(kind, alias, key, texts.get(alias)) for alias, key in keys.items()]
    return pl.DataFrame(rows, schema=ReleaseIds.dtypes(), orient="row")
