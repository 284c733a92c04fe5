"""Defines `SnapshotFiles`, and infers months and splits from file names and metadata."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from builder.errors import UsageError
from builder.text.names import ENGLISH, FRENCH

MONTH_PATTERN = r"\d{4}-(?:0[1-9]|1[0-2])(?:-\d{2})?"
"""Pattern of a month or day in the name of a snapshot, such as `2022-06` or `2022-06-15`."""
FOLDER_MONTH_PATTERN = r"(?<!\d)\d{4}[-_](?:0[1-9]|1[0-2])(?:[-_]\d{2})?(?!\d)"
"""Pattern of a month or day in a file or folder name, such as `2022-06` or `2023_01`."""
COMPRESSION_SUFFIX = r"(?:\.(?:gz|zst|xz|bz2|lz4|zip))?"
"""Pattern of an optional compression suffix; unsupported formats are rejected on opening."""
LANGUAGE_FOLDERS = {"french": FRENCH, "english": ENGLISH}
LANGUAGE_NAMES = {
    **LANGUAGE_FOLDERS,
    **dict.fromkeys(("fr", "fra", "fre", "francais", "français"), FRENCH),
    **dict.fromkeys(("en", "eng", "anglais"), ENGLISH),
}
"""Language code by lowercase folder name."""
NON_DOCUMENT = re.compile(r"(metadata\.json|docstore.*|.*\.pklz4|\..*)$")
TEST_WORDS, TRAIN_WORDS = {"test", "tests", "testing"}, {"train", "training"}
"""Words in the name of a query file or folder that mark its queries as test or training queries."""
BACKUP_COPY_IS_NOT_READ = "backup copies or incomplete downloads, judging by the file names"
TREC_IS_READ = "the TREC files of the snapshot are read instead"


@dataclass
class SnapshotFiles:
    """Files of one snapshot of a release, grouped by content.

    Args:
        name: Name of the snapshot, such as `2022-06`.
        queries: Path, language and split of each query file.
        qrels: Qrels files.
        documents: Document files by language.
        url_list: Text file with the URL of each document id.
        url_databases: SQLite databases with the URL of each document number.
        query_texts: Path and language of each SQLite database or text file with the queries of all
            snapshots.
        months: Number of months that the snapshot covers, beginning with the month in its name.
        number: Number that the release gives to the snapshot, such as 2 for `snapshot-2`.
        skipped: Reason why a file is not read, by path.
    """

    name: str
    queries: list[tuple[Path, str, str]] = field(default_factory=list)
    qrels: list[Path] = field(default_factory=list)
    documents: dict[str, list[Path]] = field(default_factory=dict)
    url_list: Path | None = None
    url_databases: list[Path] = field(default_factory=list)
    query_texts: list[tuple[Path, str]] = field(default_factory=list)
    months: int = 1
    number: int | None = None
    skipped: dict[Path, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[Path]:
        """All files of the snapshot that are read, sorted and without duplicates."""
        paths = {path for path, _, _ in self.queries} | {*self.qrels} | {*self.url_databases}
        paths.update(path for files in self.documents.values() for path in files)
        paths.update(path for path, _ in self.query_texts)
        return sorted(paths if self.url_list is None else paths | {self.url_list})

    def skip(self, paths: Iterable[Path], reason: str) -> None:
        """Record the reason why the given files are not read."""
        self.skipped.update(dict.fromkeys(paths, reason))


def unknown_month_error(folder: Path, label: str, example: str, metadata_file: str) -> UsageError:
    """Return the error to raise for a folder whose month cannot be determined."""
    return UsageError(
        f"{folder}: cannot determine the month; rename {label!r} to include a month such as "
        f"{example}, or set 'snapshot' in {metadata_file}"
    )


def read_and_check_month(folder: Path, metadata_file: Path) -> str | None:
    """Return the month in the metadata file of a folder; it must agree with the folder name.

    See `read_metadata_month` for the return value.

    Raises:
        UsageError: The name of the folder contains a different month.
    """
    named, recorded = _find_dates(folder), read_metadata_month(metadata_file)
    if named and recorded and recorded[:7] not in {date[:7] for date in named}:
        raise UsageError(
            f"{folder}: the folder name has the month {', '.join(named)}, but "
            f"{metadata_file.name} has {recorded}; rename the folder or correct the file"
        )
    return recorded


def parse_date_in_name(path: Path) -> str | None:
    """Return the `YYYY-MM` or `YYYY-MM-DD` in the name of a file or folder; None if there is none.

    Raises:
        UsageError: The name contains several different dates.
    """
    dates = _find_dates(path)
    if len(dates) > 1:
        raise UsageError(
            f"{path}: expected one date in the name, found {', '.join(dates)}; rename it to "
            "include only the date of the snapshot"
        )
    return dates[0] if dates else None


def _find_dates(path: Path) -> list[str]:
    """Return the distinct dates in the name of a file or folder, in the form `YYYY-MM[-DD]`."""
    found = re.findall(FOLDER_MONTH_PATTERN, path.name)
    return list(dict.fromkeys(date.replace("_", "-") for date in found))


def read_metadata_month(metadata_file: Path) -> str | None:
    """Return the month or day of the snapshot that a metadata file describes.

    Returns:
        `YYYY-MM` or `YYYY-MM-DD`; None if the file or its entry for the month is missing; an empty
        string if the entry is not a date.
    """
    candidates = [read_metadata_value(metadata_file, key) for key in ("snapshot", "timestamp")]
    names = [str(name) for name in candidates if name]
    return next(
        (name for name in names if re.fullmatch(MONTH_PATTERN, name)), "" if names else None
    )


def words_in_name(name: str) -> set[str]:
    """Return the lowercase words of a file name: `TestCollection_07` has `test`, `collection`."""
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)}


def infer_split_from_path(path_parts: Sequence[str]) -> str:
    """Return the split, `test` or `train`, that a path names; default: `train`.

    The split is taken from the innermost folder or file name with a word such as `test` or
    `training`.

    Args:
        path_parts: Names of folders and files, from the outermost to the innermost.
    """
    words = (words_in_name(name) for name in reversed(path_parts))
    named = next((found for found in words if found & (TEST_WORDS | TRAIN_WORDS)), set())
    return "test" if named & TEST_WORDS else "train"


def relative_path(path: Path, root: Path) -> str:
    """Return the path of a file relative to the folder of the release.

    The path starts with `../` if the file is in a prior dataset next to the release.
    """
    return Path(os.path.relpath(path, root)).as_posix()


def read_metadata_value(metadata_file: Path, key: str) -> object:
    """Return the value of a key in a JSON file; None if the file or the key is missing."""
    try:
        values = orjson.loads(metadata_file.read_bytes())
        return values.get(key)
    except (OSError, ValueError, AttributeError):
        return None
