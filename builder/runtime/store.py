"""Storage of stage outputs between runs, with atomic publication.

```
<collection>/.work/<stage>/<key>/<fingerprint>/   outputs of a step
<collection>/.work/<stage>/<key>/record.json      the valid fingerprint; written last, by rename
<collection>/.work/inputs.jsonl                    hashes of raw files, one appended line per file
```
After a crash, either the old or the new record exists; leftovers are removed at the next start.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from builder.errors import DataError, FormatError, SchemaError
from builder.io.disk import NOT_WRITABLE
from builder.io.git import FETCH_FROM_LFS, is_lfs_pointer
from builder.io.sources import Source
from builder.io.tables import Table, arrow_schema, table_at
from builder.runtime.publisher import (
    PARTIAL,
    WORK,
    canonical_json,
    lock_collection,
    open_unless_symlink,
    publish_folder,
    sha256,
    temporary_folder,
    write_atomically,
)
from builder.text.names import to_valid_unicode
from schemas import TableSchema

RECORD = "record.json"


class InputHashes:
    """Persistent cache of the SHA-256 hashes of raw files; a file is hashed again if it changed.

    Args:
        path: JSON Lines file of arrays `[path, size, mtime, ctime, inode, sha256]`. Lines are only
            appended; the last line of a path takes precedence, and incomplete lines are skipped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[list[int], str]] | None = None

    def hash_files(self, files: Sequence[Source]) -> list[str]:
        """Return the SHA-256 of each raw file, from the cache if the file has not changed.

        Raises:
            DataError: The cache file is a symbolic link.
            FormatError: A file is a Git LFS pointer.
        """
        if self._known is None:
            self._known = self._read_cache_file()
        new: dict[str, tuple[list[int], str]] = {}
        found = []
        for file in files:
            stat = file.path.stat()
            state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            name = to_valid_unicode(str(file.path.resolve()))
            if self._known.get(name, (None, ""))[0] != state:
                if is_lfs_pointer(file.path):
                    raise FormatError(f"the file is a Git LFS pointer; {FETCH_FROM_LFS}", file.path)
                self._known[name] = new[name] = (state, sha256(file.path))
            found.append(self._known[name][1])
        if new and self._path.parent.is_dir():
            self._append_to_cache_file(new)
        return found

    def _read_cache_file(self) -> dict[str, tuple[list[int], str]]:
        known = {}
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            return {}
        for line in lines:
            try:
                name, *state, digest = json.loads(line)
            except (ValueError, TypeError):
                continue
            known[str(name)] = (state, str(digest))
        return known

    def _append_to_cache_file(self, new_hashes: dict[str, tuple[list[int], str]]) -> None:
        """Append file hashes to the cache file, one line per file, unless it is read-only."""
        lines = [json.dumps([name, *state, digest]) for name, (state, digest) in new_hashes.items()]
        try:
            with open_unless_symlink(self._path) as file:
                file.seek(0, os.SEEK_END)
                file.write("".join(f"\n{line}" for line in lines) + "\n")
        except OSError as error:
            if error.errno not in NOT_WRITABLE:
                raise


class Store:
    """Store of stage outputs in the work folder of a collection."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / WORK
        self._inputs = InputHashes(self.work / "inputs.jsonl")
        self._verified: set[Path] = set()
        self._records: dict[Path, tuple[tuple[int, int, int], dict[str, Any]]] = {}

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the collection while the context is open; see `publisher.lock_collection`."""
        with lock_collection(self.root):
            yield

    def read_record(self, stage: str, key: str) -> dict[str, Any] | None:
        """Return the record of a step's outputs; None if a file is missing or was resized."""
        try:
            record = self._load_record(self.work / stage / key / RECORD)
            folder = self.folder_of_record(stage, key, record)
            for name, entry in record["files"].items():
                if (folder / name).stat().st_size != entry["bytes"]:
                    return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return dict(record)

    def _load_record(self, path: Path) -> dict[str, Any]:
        """Read a record from a file, or from the cache if the file has not changed."""
        found = path.stat()
        signature = (found.st_ino, found.st_size, found.st_mtime_ns)
        if path not in self._records or self._records[path][0] != signature:
            self._records[path] = (signature, json.loads(path.read_text("utf-8")))
        return self._records[path][1]

    def folder_of_record(self, stage: str, key: str, record: dict[str, Any]) -> Path:
        """Return the folder of the outputs that a record describes."""
        return self.work / stage / key / str(record["id"])

    def open_table(self, stage: str, key: str, name: str, schema: type[TableSchema]) -> Table:
        """Return a table that a step has published.

        Raises:
            DataError: The outputs of the step do not exist.
        """
        record = self.read_record(stage, key)
        if record is None:
            raise DataError(
                f"{self.work / stage / key}: the outputs of this stage are missing; build again"
            )
        return table_at(self.folder_of_record(stage, key, record), name, schema)

    def has_intact_files(self, stage: str, key: str) -> bool:
        """Whether the published files of a step match their hashes; checked once per run."""
        record = self.read_record(stage, key)
        if record is None:
            return False
        folder = self.folder_of_record(stage, key, record)
        if folder in self._verified:
            return True
        if any(sha256(folder / name) != e["sha256"] for name, e in record["files"].items()):
            return False
        self._verified.add(folder)
        return True

    def cache_folder(self, stage: str) -> Path:
        """Return the persistent cache folder of a stage, for example for its translation memory."""
        folder = self.work / "kept" / stage
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def delete_record(self, stage: str, key: str) -> None:
        """Delete the record of a step's outputs, so that the step runs again."""
        (self.work / stage / key / RECORD).unlink(missing_ok=True)

    @contextmanager
    def output_folder(self, stage: str, key: str, fingerprint: str) -> Iterator[Path]:
        """Yield a temporary folder for a step's outputs, and publish it afterwards."""
        home = self.work / stage / key
        final = home / fingerprint
        with temporary_folder(home / (fingerprint + PARTIAL), 0o700) as partial:
            yield partial
            for folder in filter(Path.is_dir, partial.rglob("*")):
                folder.chmod(0o700)
            publish_folder(partial, final)
        self._verified.add(final)

    def save_record(self, stage: str, key: str, record: dict[str, Any]) -> None:
        """Write the record of a step's outputs, and remove older outputs of the step."""
        home = self.work / stage / key
        write_atomically(home / RECORD, canonical_json(record))
        for old in home.iterdir():
            if old.is_dir() and old.name != record["id"]:
                shutil.rmtree(old)

    def input_hashes(self, files: Sequence[Source]) -> dict[str, str]:
        """Return the SHA-256 of each raw file, by source name; see `InputHashes`."""
        return {
            file.name: digest
            for file, digest in zip(files, self._inputs.hash_files(files), strict=True)
        }


def check_columns(table: Table, name: str) -> None:
    """Check that the Parquet files of a table have the columns of its schema.

    Raises:
        SchemaError: The table is missing, or a column differs.
    """
    if not table.paths:
        raise SchemaError(f"table {name}: expected a Parquet file, found none")
    expected = arrow_schema(table.schema)
    for path in table.paths:
        schema = pq.read_schema(path)
        if not schema.equals(expected):
            raise SchemaError(
                f"{path}: table {name} has the columns {_describe_columns(schema)}; "
                f"expected {_describe_columns(expected)}"
            )


def _describe_columns(schema: Any) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
