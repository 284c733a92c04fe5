"""Persistent cache: rows with 128-bit keys in a SQLite file.

A row with a wrong checksum is treated as missing; a damaged file is recreated. Each call that adds
rows is one transaction, so that either all or none of its rows survive a crash. Several threads
may use a cache, but not at the same time.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

MAX_KEYS_PER_QUERY = 500
"""Maximum number of keys per SQL query; all versions of SQLite accept this many parameters."""


class SqliteCache:
    """Base class of persistent caches: a SQLite file whose rows have 128-bit keys.

    Args:
        path: Path of the file; created if missing.
    """

    TABLE: ClassVar[str]
    """SQL that creates the table if it does not exist."""
    PAGE: ClassVar[int] = 4096
    """Page size of the file in bytes; a row longer than a page occupies several whole pages."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._open_connection()
        with self._rebuild_if_corrupt():
            self._initialize_database()

    def _open_connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.text_factory = _decode_text
        return connection

    def _initialize_database(self) -> None:
        self._connection.execute(f"PRAGMA page_size = {self.PAGE}")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(self.TABLE)

    def _select_rows(self, statement: str, keys: Iterable[bytes]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows with the given keys.

        Args:
            statement: SELECT statement that ends in `IN ({})`.
            keys: 128-bit keys.
        """
        for part in _split_into_chunks(keys, MAX_KEYS_PER_QUERY):
            with self._rebuild_if_corrupt():
                asked = statement.format(",".join("?" * len(part)))
                yield from self._connection.execute(asked, part)

    def _insert_rows(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows in one transaction."""
        with self._rebuild_if_corrupt(), self._transaction():
            self._connection.executemany(statement, rows)

    @contextmanager
    def _rebuild_if_corrupt(self) -> Iterator[None]:
        """Recreate the file if SQLite reports that it is corrupt; re-raise other errors."""
        try:
            yield
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._connection.close()
            for end in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + end).unlink(missing_ok=True)
            self._connection = self._open_connection()
            self._initialize_database()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()


def cache_key(namespace: str, text: str) -> bytes:
    """Return a 128-bit hash of a namespace (such as a model and its options) and a text."""
    return hashlib.sha256(f"{namespace}\n{text}".encode()).digest()[:16]


def _decode_text(value: bytes) -> str:
    """Decode a text column; invalid bytes are replaced, so that the row's checksum fails."""
    return value.decode("utf-8", errors="replace")


def _split_into_chunks(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
