"""Lists the files of a release that an import does not read, with the reason for each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection.export import METADATA
from builder.collection.export.longeval_2023 import JUDGEMENTS
from builder.collection.imports.files import (
    BACKUP_COPY_IS_NOT_READ,
    NON_DOCUMENT,
    TREC_IS_READ,
    SnapshotFiles,
    relative_path,
)
from builder.collection.imports.files_sci import FULL_TEXT_IS_READ
from builder.collection.imports.variants import OTHER_VARIANT, detect_qrels_variant
from builder.collection.imports.walk import ReleaseFiles
from builder.io.file_types import BACKUP_COPY
from builder.runtime.publisher import SUMS

EXPORT_FILES = {SUMS, METADATA}
"""Names of the files that `longeval export` adds to every layout."""
DOCUMENT_FOLDERS = {"documents", "json", "trec"}
"""Lowercase names of the folders that contain documents in any layout."""
JUDGEMENT_FOLDERS = {"qrels", JUDGEMENTS}
"""Lowercase names of the folders that contain judgements in any layout."""
NOT_NAMED = "the file names do not match this layout"


@dataclass(frozen=True)
class UnreadFiles:
    """Group of files that an import skips for the same reason.

    Args:
        reason: Reason why the files are skipped, such as `TREC_IS_READ`.
        count: Number of files.
    """

    reason: str
    count: int


def find_unread_files(
    release: ReleaseFiles, snapshots: Sequence[SnapshotFiles]
) -> dict[str, UnreadFiles]:
    """Return the files in a release that the import does not read, by path.

    If a folder has several unread files, all for the same reason, they are counted under the path
    of the folder. Backup copies are listed separately, because files next to them are read.
    """
    root = release.root
    read = {path for snapshot in snapshots for path in snapshot.paths}
    read_targets = {path.resolve() for path in read}
    reasons = {path: reason for s in snapshots for path, reason in s.skipped.items()}
    unread = {
        path: _unread_reason(path, reasons)
        for path in release.paths
        if path not in read
        and path.resolve() not in read_targets
        and _is_content_file(Path(relative_path(path, root)))
    }
    folders: dict[Path, list[str]] = {}
    for path, reason in unread.items():
        folders.setdefault(path.parent, []).append(reason)
    grouped = {f for f, found in folders.items() if len(found) > 1 and len({*found}) == 1} - {root}
    grouped -= {f for f, found in folders.items() if BACKUP_COPY_IS_NOT_READ in found}
    names = {path: path.parent if path.parent in grouped else path for path in unread}
    counts = Counter(names.values())
    return {
        relative_path(name, root): UnreadFiles(unread[path], counts[name])
        for path, name in names.items()
    }


def _unread_reason(path: Path, reasons: Mapping[Path, str]) -> str:
    if BACKUP_COPY.search(path.name):
        return BACKUP_COPY_IS_NOT_READ
    return reasons.get(path, OTHER_VARIANT if detect_qrels_variant(path) else NOT_NAMED)


def find_unread_documents(unread_files: Mapping[str, UnreadFiles]) -> list[str]:
    """Return the unread files and folders that may contain documents missing from the import."""
    return [
        name
        for name, files in unread_files.items()
        if {part.lower() for part in Path(name).parts} & DOCUMENT_FOLDERS
        and files.reason not in (TREC_IS_READ, FULL_TEXT_IS_READ)
    ]


def find_unread_judgements(unread_files: Mapping[str, UnreadFiles]) -> list[str]:
    """Return unread files that are in qrels folders, but whose names do not match the layout.

    Several such files in one folder are represented by the folder; see `find_unread_files`.
    """
    return [
        name
        for name, files in unread_files.items()
        if {part.lower() for part in Path(name).parts} & JUDGEMENT_FOLDERS
        and files.reason == NOT_NAMED
    ]


def _is_content_file(path: Path) -> bool:
    """Whether a file may contain data to import; hidden files, metadata and caches do not."""
    parts = [part for part in path.parts if part != ".."]
    hidden = any(NON_DOCUMENT.fullmatch(part) for part in parts)
    return not hidden and path.name not in EXPORT_FILES
