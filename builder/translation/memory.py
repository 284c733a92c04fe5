"""The translation memory: every sentence is decoded once, whatever document or snapshot has it.

In: sentences, and the outputs that a model gave for them. Out: the outputs of those seen before.
Keyed by 128 bits of (model hash, decoding options, normalised sentence), so that several models and
options share it and none of them ever sees the output of another. Each block is one transaction:
after a kill the memory holds whole blocks, and nothing is decoded twice. A memory only saves time:
an output does not depend on whether it was there.
"""

import zlib
from collections.abc import Mapping, Sequence

from builder.translation.kept import KeptFile, key
from builder.translation.parts import Output

_INSERT = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT key, text, pieces, marks, checksum FROM outputs WHERE key IN ({})"
_MARKS = ("split", "truncated", "unknown", "empty")


class Memory(KeptFile):
    """A translation memory on disk.

    Args:
        path: The file; created if missing.
    """

    TABLE = """
    CREATE TABLE IF NOT EXISTS outputs (
        key BLOB PRIMARY KEY, text TEXT NOT NULL, pieces INTEGER NOT NULL, marks INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    ) WITHOUT ROWID
    """

    def known(self, scope: str, sentences: Sequence[str]) -> dict[str, Output]:
        """The outputs of those sentences that are in the memory.

        Args:
            scope: Model hash and decoding options.
            sentences: Normalised sentences.
        """
        keys = {key(scope, sentence): sentence for sentence in sentences}
        return {
            keys[row[0]]: _output(*row[1:4])
            for row in self._rows(_SELECT, keys)
            if row[4] == _checksum(*row[:4])
        }

    def add(self, scope: str, outputs: Mapping[str, Output]) -> None:
        """Store the given sentences' outputs atomically."""
        rows = [
            (key(scope, sentence), output.text, output.pieces, _marks(output))
            for sentence, output in outputs.items()
        ]
        self._insert(_INSERT, [(*row, _checksum(*row)) for row in rows])

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM outputs").fetchone()
        return int(count)


def _checksum(row_key: bytes, text: str, pieces: int, marks: int) -> int:
    return zlib.crc32(row_key + f"{pieces} {marks} {text}".encode())


def _marks(output: Output) -> int:
    return sum(getattr(output, name) << bit for bit, name in enumerate(_MARKS))


def _output(text: str, pieces: int, marks: int) -> Output:
    return Output(text, pieces, **{name: bool(marks >> bit & 1) for bit, name in enumerate(_MARKS)})
