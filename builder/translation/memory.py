"""The translation memory: every sentence is decoded once, whatever document or snapshot has it.

In: sentences, and the outputs that a model gave for them. Out: the outputs of those seen before.
One SQLite file, keyed by 128 bits of (model hash, decoding options, normalised sentence), so that
several models and options share it and none of them ever sees the output of another. Each block
is one transaction: after a kill or a power cut the memory holds whole blocks, and nothing is
decoded twice. A memory only saves time: an output does not depend on whether it was there. A row
whose check sum is wrong counts as absent, and a file that is no memory is begun again.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from builder.translation.engine import Output

KEYS_A_QUERY = 500
"""SQLite takes 999 parameters at least."""

_TABLE = """
CREATE TABLE IF NOT EXISTS outputs (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, pieces INTEGER NOT NULL, marks INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID
"""
_INSERT = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT key, text, pieces, marks, checksum FROM outputs WHERE key IN ({})"
_MARKS = ("split", "truncated", "unknown", "empty")


class Memory:
    """A translation memory on disk.

    Args:
        path: The file; made where there is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError:
            path.unlink()
            self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_TABLE)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def known(self, scope: str, sentences: Sequence[str]) -> dict[str, Output]:
        """The outputs of those sentences that are in the memory.

        Args:
            scope: Model hash and decoding options.
            sentences: Normalised sentences.
        """
        found = {}
        keys = {key(scope, sentence): sentence for sentence in sentences}
        for part in _parts(keys, KEYS_A_QUERY):
            marks = ",".join("?" * len(part))
            for row in self._connection.execute(_SELECT.format(marks), part):
                if row[4] == _checksum(*row[:4]):
                    found[keys[row[0]]] = _output(*row[1:4])
        return found

    def add(self, scope: str, outputs: Mapping[str, Output]) -> None:
        """Keep the outputs of some sentences, all of them or none."""
        rows = [
            (key(scope, sentence), output.text, output.pieces, _marks(output))
            for sentence, output in outputs.items()
        ]
        with self._transaction():
            self._connection.executemany(_INSERT, [(*row, _checksum(*row)) for row in rows])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM outputs").fetchone()
        return int(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()


def key(scope: str, sentence: str) -> bytes:
    """128 bits of a sentence under a model and its options."""
    return hashlib.sha256(f"{scope}\n{sentence}".encode()).digest()[:16]


def _checksum(row_key: bytes, text: str, pieces: int, marks: int) -> int:
    return zlib.crc32(row_key + f"{pieces} {marks} {text}".encode())


def _marks(output: Output) -> int:
    return sum(getattr(output, name) << bit for bit, name in enumerate(_MARKS))


def _output(text: str, pieces: int, marks: int) -> Output:
    return Output(text, pieces, **{name: bool(marks >> bit & 1) for bit, name in enumerate(_MARKS)})


def _parts(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
