"""Assigns keys that identify the same query or document in all snapshots of a release.

Queries and documents keep the ids of the release. In addition, each gets a key, which is computed
like the ids of a built collection: a hash of the folded text (ignoring case, accents and
punctuation) of a query, or of the canonical URL of a document. If the text or URL is unknown, or
another id of the snapshot already has that key, the key is derived from the id and, unless ids are
stable, the snapshot name.
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

UPDATE_TIME_COLUMN = "last_updated_at"
MIN_MILLISECONDS = 10**11
"""Smallest number that is read as milliseconds; read as seconds, it would be in the year 5138."""


class KeyAssigner:
    """Assigner that gives each query or document id of a snapshot a unique key.

    Attributes:
        keys: Assigned key of each id.
    """

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self._used: set[str] = set()

    def assign(self, release_id: str, *candidates: str) -> str:
        """Return the key of an id; assign the first unused candidate key if the id has none yet."""
        if release_id not in self.keys:
            self.keys[release_id] = next(key for key in candidates if key not in self._used)
            self._used.add(self.keys[release_id])
        return self.keys[release_id]


def query_text_keys(texts: Sequence[str]) -> list[str | None]:
    """Return the text key of each query text, or None for a text without letters and digits."""
    return [query_id(key64(folded)) if folded else None for folded in fold_texts(texts)]


def fallback_query_keys(release_id: str, id_scope: str) -> tuple[str, ...]:
    """Return the candidate keys of a query that are derived from its id, in order of preference."""
    generated = query_id(key64(f"query {release_id} of {id_scope}"))
    return (release_id, generated) if re.fullmatch(QUERY_ID_PATTERN, release_id) else (generated,)


def document_key_candidates(
    release_id: str, url: str | None, id_scope: str
) -> tuple[str, tuple[str, ...]]:
    """Return the URL key of a document, and its candidate keys in order of preference.

    The URL key is the canonical URL or, if there is no valid URL, the release id with its scope.
    """
    scoped_id = f"{id_scope}:{release_id}"
    release_key = (release_id,) if re.fullmatch(DOC_ID_PATTERN, release_id) else ()
    canonical = canonical_url(url) if url else None
    if canonical is None:
        return scoped_id, (*release_key, doc_id(key64(scoped_id)))
    return canonical, (doc_id(key64(canonical)), *release_key, doc_id(key64(scoped_id)))


def read_url_database(path: Path, snapshot: str) -> Iterator[tuple[str, str, int]]:
    """Yield document numbers, URLs and update times from the SQLite database of a release.

    Args:
        path: Path of the database; the columns with update times are optional.
        snapshot: Name of the snapshot whose update times are read.

    Yields:
        Document number, URL, and update time for the snapshot in Unix seconds (0 if unknown).

    Raises:
        FormatError: The file is not a SQLite database with the expected table.
    """
    columns = {
        row[1] for row in _query_sqlite(path, "PRAGMA table_info(mapping)", "mapping(id, url, ...)")
    }
    times = (
        f"{UPDATE_TIME_COLUMN}, date" if {UPDATE_TIME_COLUMN, "date"} <= columns else "NULL, NULL"
    )
    sql = f"SELECT id, url, {times} FROM mapping ORDER BY id"  # noqa: S608 - built from constants
    for number, url, times_json, snapshots_json in _query_sqlite(
        path, sql, "mapping(id, url, ...)"
    ):
        if isinstance(url, str):
            yield str(number), url, _parse_update_time(times_json, snapshots_json, snapshot)


def _parse_update_time(times_json: object, snapshots_json: object, snapshot: str) -> int:
    """Return the update time for a snapshot in Unix seconds; 0 if it is unknown.

    Args:
        times_json: JSON list of update times.
        snapshots_json: JSON list of the snapshots to which the times belong, in the same order.
        snapshot: Name of the snapshot.
    """
    try:
        pairs = zip(orjson.loads(str(snapshots_json)), orjson.loads(str(times_json)), strict=True)
        times = {str(name)[: len(snapshot)]: time for name, time in pairs}
        return _parse_time(str(times.get(snapshot, 0)))
    except (TypeError, ValueError, OverflowError):
        return 0


def _parse_time(text: str) -> int:
    """Convert an ISO 8601 time, or a number of seconds or milliseconds, to Unix seconds.

    Raises:
        ValueError: The text is not a time.
        OverflowError: The number is infinite.
    """
    try:
        number = float(text)
    except ValueError:
        parsed = datetime.fromisoformat(text)
        return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())
    return int(number / 1000 if abs(number) >= MIN_MILLISECONDS else number)


def read_query_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (query id, text) pairs from the SQLite database of a release; NULL becomes "".

    Raises:
        FormatError: The file is not a SQLite database with the expected table.
    """
    sql = "SELECT id, query FROM queries ORDER BY id"
    for number, text in _query_sqlite(path, sql, "queries(id, query, ...)"):
        yield str(number), text if isinstance(text, str) else ""


def _query_sqlite(path: Path, sql: str, expected_table: str) -> Iterator[tuple[object, ...]]:
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size:
        raise FormatError(
            f"rows of this database are still in its write-ahead log {log.name}; add these rows "
            f"with \"sqlite3 {path.name} 'PRAGMA wal_checkpoint(TRUNCATE)'\" and import again",
            path,
        )
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            yield from connection.execute(sql)
    except sqlite3.Error as error:
        raise FormatError(
            f"expected a SQLite database with the table {expected_table}: {error}", path
        ) from None


def build_release_ids_table(
    kind: str, keys: dict[str, str], text_keys: dict[str, str | None] | None = None
) -> pl.DataFrame:
    """Return a `schemas.ReleaseIds` table with the assigned key of each query or document id."""
    texts = text_keys or {}
    rows = [(kind, release_id, key, texts.get(release_id)) for release_id, key in keys.items()]
    return pl.DataFrame(rows, schema=ReleaseIds.dtypes(), orient="row")
