"""Holds the files of a released snapshot, and reads its month from file names and metadata."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from builder.errors import UsageError

MONTH_PATTERN = r"\d{4}-(?:0[1-9]|1[0-2])(?:-\d{2})?"
"""Month or day in the name of a snapshot: `2022-06`, `2022-06-15`."""
FOLDER_MONTH_PATTERN = r"(?<!\d)\d{4}[-_](?:0[1-9]|1[0-2])(?:[-_]\d{2})?(?!\d)"
"""Month or day in the name of a release folder: `2022-06`, `2023_01`."""
COMPRESSION_SUFFIX = r"(?:\.(?:gz|zst|xz|bz2|lz4|zip))?"
"""Optional suffix of a compressed file; unsupported formats are rejected when opened."""
LANGUAGE_FOLDERS = {"french": "fr", "english": "en"}
NON_DOCUMENT = re.compile(r"(metadata\.json|docstore.*|.*\.pklz4|\..*)$")


@dataclass
class SnapshotFiles:
    """Files of one snapshot of a release, grouped by content.

    Args:
        name: Name of the snapshot, such as `2022-06`.
        queries: Path, language and split of each query file.
        qrels: Qrels files.
        documents: Document files by language.
        url_list: Text file with the URL of each document id.
        url_database: SQLite database with the URL of each document number.
        query_texts: SQLite database or text file with the queries of all snapshots.
        number: Number that the release gives to the snapshot, such as 2 for `snapshot-2`.
    """

    name: str
    queries: list[tuple[Path, str, str]] = field(default_factory=list)
    qrels: list[Path] = field(default_factory=list)
    documents: dict[str, list[Path]] = field(default_factory=dict)
    url_list: Path | None = None
    url_database: Path | None = None
    query_texts: Path | None = None
    number: int | None = None

    @property
    def paths(self) -> list[Path]:
        """All files of the snapshot, sorted and without duplicates."""
        paths = {path for path, _, _ in self.queries} | {*self.qrels}
        paths.update(path for files in self.documents.values() for path in files)
        paths.update(
            path
            for path in (self.url_list, self.url_database, self.query_texts)
            if path is not None
        )
        return sorted(paths)


def unknown_month_error(folder: Path, label: str, example: str, metadata_file: str) -> UsageError:
    """Return the error to raise for a folder whose month cannot be determined."""
    return UsageError(
        f"{folder}: cannot determine the month; rename {label!r} to include a month such as "
        f"{example}, or set 'snapshot' in {metadata_file}"
    )


def read_and_check_month(folder: Path, metadata_file: Path) -> str | None:
    """Return the month in the metadata file of a folder, checked against the folder name.

    See `read_metadata_month` for the return value.

    Raises:
        UsageError: The name of the folder contains a different month.
    """
    named, recorded = parse_month(folder.name), read_metadata_month(metadata_file)
    if named and recorded and named[:7] != recorded[:7]:
        raise UsageError(
            f"{folder}: the folder name has the month {named}, but {metadata_file.name} has "
            f"{recorded}; rename the folder or correct the file"
        )
    return recorded


def parse_month(text: str) -> str | None:
    """Return the last `YYYY-MM` or `YYYY-MM-DD` in a file or folder name; None if there is none."""
    matches = re.findall(FOLDER_MONTH_PATTERN, text)
    return matches[-1].replace("_", "-") if matches else None


def read_metadata_month(metadata_file: Path) -> str | None:
    """Return the month or day (`YYYY-MM` or `YYYY-MM-DD`) of the snapshot in a metadata file.

    Returns:
        None if the file or the entry is missing; an empty string if the entry is not a date.
    """
    candidates = [read_metadata_value(metadata_file, key) for key in ("snapshot", "timestamp")]
    names = [str(name) for name in candidates if name]
    return next(
        (name for name in names if re.fullmatch(MONTH_PATTERN, name)), "" if names else None
    )


def relative_path(path: Path, root: Path) -> str:
    """Return the path of a file relative to the folder of the release.

    The path starts with `../` if the file is in a prior dataset next to the release.
    """
    return Path(os.path.relpath(path, root)).as_posix()


def read_metadata_value(metadata_file: Path, key: str) -> object:
    """Return the value of a key in a JSON file; None if the file is unreadable or lacks the key."""
    try:
        values = orjson.loads(metadata_file.read_bytes())
        return values.get(key)
    except (OSError, ValueError, AttributeError):
        return None
