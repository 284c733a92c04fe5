"""Translation memory: each distinct sentence is translated only once per model and options.

A key is a 128-bit hash of the model hash, the decoding options and the normalized sentence, so that
several models can share a file. Each block of sentences is stored in one transaction; if the
process is killed, complete blocks remain. The memory saves time; it never changes a translation.
"""

import zlib
from collections.abc import Mapping, Sequence

from builder.translation.parts import ModelOutput
from builder.translation.sqlite_cache import SqliteCache, cache_key

_INSERT = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT key, text, pieces, marks, checksum FROM outputs WHERE key IN ({})"
_MARKS = ("split", "truncated", "unknown", "empty")


class TranslationMemory(SqliteCache):
    """Persistent cache of sentence translations in a SQLite file.

    Args:
        path: Path of the file; created if missing.
    """

    TABLE = """
    CREATE TABLE IF NOT EXISTS outputs (
        key BLOB PRIMARY KEY, text TEXT NOT NULL, pieces INTEGER NOT NULL, marks INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) WITHOUT ROWID
    """

    def lookup(self, namespace: str, sentences: Sequence[str]) -> dict[str, ModelOutput]:
        """Return the stored translations by sentence; sentences that are not stored are omitted.

        Args:
            namespace: Model hash and decoding options as a string, used in the keys.
            sentences: Normalized sentences.
        """
        keys = {cache_key(namespace, sentence): sentence for sentence in sentences}
        return {
            keys[row[0]]: _decode_output(*row[1:4])
            for row in self._select_rows(_SELECT, keys)
            if row[4] == _checksum(*row[:4])
        }

    def add(self, namespace: str, outputs: Mapping[str, ModelOutput]) -> None:
        """Store the translation of each sentence, all in one transaction."""
        rows = [
            (cache_key(namespace, sentence), output.text, output.pieces, _encode_flags(output))
            for sentence, output in outputs.items()
        ]
        self._insert_rows(_INSERT, [(*row, _checksum(*row)) for row in rows])

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM outputs").fetchone()
        return int(count)


def _checksum(row_key: bytes, text: str, pieces: int, flag_bits: int) -> int:
    return zlib.crc32(row_key + f"{pieces} {flag_bits} {text}".encode())


def _encode_flags(output: ModelOutput) -> int:
    return sum(getattr(output, name) << bit for bit, name in enumerate(_MARKS))


def _decode_output(text: str, pieces: int, flag_bits: int) -> ModelOutput:
    return ModelOutput(
        text, pieces, **{name: bool(flag_bits >> bit & 1) for bit, name in enumerate(_MARKS)}
    )
