"""Where stage outputs live between runs, and how they get there without ever being half there.

```
<collection>/.work/<stage>/<unit>/<fingerprint>/   outputs of one run of a stage on one unit
<collection>/.work/<stage>/<unit>/record.json      which of them is valid: written last, by rename
<collection>/.work/inputs.jsonl                    hashes of raw files, one appended line for each
```
A kill at any moment leaves the old record or the new one; leftovers are swept at the next start.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from builder.errors import ContractError, DataError
from builder.io.sources import Source
from builder.io.tables import Table, arrow_schema, table_at
from builder.runtime.publisher import (
    PARTIAL,
    WORK,
    canonical_json,
    locked,
    open_own,
    private_folder,
    publish,
    sha256,
    write_atomically,
)
from builder.text.names import written
from schemas import Contract

RECORD = "record.json"


class InputHashes:
    """Hashes of raw files that outlive runs: a file is read again only where it has changed.

    Args:
        path: JSON lines `[path, size, mtime, ctime, inode, sha256]`, of which the last about a path
            counts. New ones are appended, so that the cost of a file does not depend on how many
            are known; a line that a killed run left unfinished is skipped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[list[int], str]] | None = None

    def of(self, files: Sequence[Source]) -> list[str]:
        """sha256 of each file. Those that were hashed anew are appended in one write.

        Raises:
            DataError: a link stands in the place of the file of hashes.
        """
        if self._known is None:
            self._known = self._read()
        new: dict[str, tuple[list[int], str]] = {}
        found = []
        for file in files:
            stat = file.path.stat()
            state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            name = written(str(file.path.resolve()))
            if self._known.get(name, (None, ""))[0] != state:
                self._known[name] = new[name] = (state, sha256(file.path))
            found.append(self._known[name][1])
        if new and self._path.parent.is_dir():
            self._append(new)
        return found

    def _read(self) -> dict[str, tuple[list[int], str]]:
        known = {}
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            return {}
        for line in lines:
            try:
                name, *state, digest = json.loads(line)
            except ValueError:
                continue
            known[str(name)] = (state, str(digest))
        return known

    def _append(self, new: dict[str, tuple[list[int], str]]) -> None:
        """Append lines, the first after a line end, in case the last write was not finished."""
        lines = [json.dumps([name, *state, digest]) for name, (state, digest) in new.items()]
        with open_own(self._path) as file:
            file.seek(0, os.SEEK_END)
            file.write("".join(f"\n{line}" for line in lines) + "\n")


class Store:
    """The work folder of one collection."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / WORK
        self._inputs = InputHashes(self.work / "inputs.jsonl")
        self._verified: set[Path] = set()
        self._records: dict[Path, tuple[tuple[int, int, int], dict[str, Any]]] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the collection for one build; see `publisher.locked`."""
        with locked(self.root):
            yield

    def record(self, stage: str, key: str) -> dict[str, Any] | None:
        """What was last published for a unit, if its files are still there in full size."""
        try:
            record = self._read_record(self.work / stage / key / RECORD)
            folder = self.folder(stage, key, record)
            for name, entry in record["files"].items():
                if (folder / name).stat().st_size != entry["bytes"]:
                    return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return dict(record)

    def _read_record(self, path: Path) -> dict[str, Any]:
        """A record; one that was read before is read again only where its file is another."""
        found = path.stat()
        signature = (found.st_ino, found.st_size, found.st_mtime_ns)
        if path not in self._records or self._records[path][0] != signature:
            self._records[path] = (signature, json.loads(path.read_text("utf-8")))
        return self._records[path][1]

    def folder(self, stage: str, key: str, record: dict[str, Any]) -> Path:
        """Where the outputs of a record lie."""
        return self.work / stage / key / str(record["id"])

    def table(self, stage: str, key: str, name: str, contract: type[Contract]) -> Table:
        """A published table of a unit."""
        record = self.record(stage, key)
        if record is None:
            raise DataError(f"{self.work / stage / key}: the outputs of this stage are gone")
        return table_at(self.folder(stage, key, record), name, contract)

    def is_intact(self, stage: str, key: str) -> bool:
        """Whether the published files of a unit still have their hashes; checked once a run."""
        record = self.record(stage, key)
        if record is None:
            return False
        folder = self.folder(stage, key, record)
        if folder in self._verified:
            return True
        if any(sha256(folder / name) != e["sha256"] for name, e in record["files"].items()):
            return False
        self._verified.add(folder)
        return True

    def kept(self, stage: str) -> Path:
        """A folder of a stage that outlives runs, such as a translation memory."""
        folder = self.work / "kept" / stage
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def forget(self, stage: str, key: str) -> None:
        """Drop a unit, so that it is built again."""
        (self.work / stage / key / RECORD).unlink(missing_ok=True)

    @contextmanager
    def publishing(self, stage: str, key: str, identity: str) -> Iterator[Path]:
        """A new private folder for a unit's outputs; it is renamed into place on success."""
        home = self.work / stage / key
        final = home / identity
        with private_folder(home / (identity + PARTIAL), 0o700) as partial:
            yield partial
            for folder in filter(Path.is_dir, partial.rglob("*")):
                folder.chmod(0o700)
            publish(partial, final)
        self._verified.add(final)

    def commit(self, stage: str, key: str, record: dict[str, Any]) -> None:
        """Make a unit's outputs the valid ones, then remove the outputs of older records."""
        home = self.work / stage / key
        write_atomically(home / RECORD, canonical_json(record))
        for old in home.iterdir():
            if old.is_dir() and old.name != record["id"]:
                shutil.rmtree(old)

    def input_hashes(self, files: Sequence[Source]) -> dict[str, str]:
        """sha256 of raw files by the names of the sources; see `InputHashes`."""
        return {
            file.name: digest for file, digest in zip(files, self._inputs.of(files), strict=True)
        }


def check_columns(table: Table, name: str) -> None:
    """Compare the columns of a table's parts with its contract.

    Raises:
        ContractError: the table is absent, or a column differs.
    """
    if not table.paths:
        raise ContractError(f"table {name} was not written")
    expected = arrow_schema(table.contract)
    for path in table.paths:
        found = pq.read_schema(path)
        if not found.equals(expected):
            raise ContractError(
                f"{path}: table {name} has columns {_columns(found)}; "
                f"its contract says {_columns(expected)}"
            )


def _columns(schema: Any) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
