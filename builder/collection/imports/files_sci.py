"""Finds the files of each snapshot in layout `longeval-sci`.

A folder with `documents/**/*.jsonl`, `queries.txt` and `qrels.txt` is a snapshot. Files with a
month in their name (`queries_2024-11_test.txt`, `qrels-longeval-sci-2025-01`) belong to the
snapshot of that month, in any folder. The 2026 release has numbered snapshots, one file of test
queries for all snapshots, and qrels in several variants (`raw`, `dctr`). If there are document
files with and without full text, the files with full text are used.
"""

import re
from pathlib import Path

from builder.collection.imports.files import (
    NON_DOCUMENT,
    SnapshotFiles,
    infer_split_from_path,
    parse_date_in_name,
    read_and_check_month,
    relative_path,
    unknown_month_error,
)
from builder.collection.imports.own_exports import exported_language
from builder.text.names import ENGLISH

EXPECTED_FILES = "documents/*.jsonl, queries.txt and qrels.txt"
KNOWN_MONTHS = {
    "longeval_sci_training_2025": "2024-11",
    "longeval_sci_testing_2025": "2025-01",
    "longeval_sci_training_2026": "2025-03",
    "longeval_sci_test-06-08_2026": "2025-06",
    "longeval_sci_06_08_2026": "2025-06",
    "longeval_sci_test-09-11_2026": "2025-09",
    "longeval_sci_09_11_2026": "2025-09",
}
"""Month of each release folder whose name contains no month, by prefix of the folder name."""
RELEASE_YEAR = re.compile(r"longeval_sci_[\w-]*?(20\d\d)")
"""Pattern of a file or folder name that contains the year of the release."""
SNAPSHOT_MONTHS = {"1": "2025-03", "train": "2025-03", "2": "2025-06", "3": "2025-09"}
"""First month of each snapshot in the 2026 release, by snapshot number."""
MONTHS_PER_NUMBER = 3
"""Number of months that a numbered snapshot of the 2026 release covers."""
ADHOC_PREFIX = "longeval_adhoc-"
OPTIONAL_PREFIX = rf"(?:task1_)?(?:{ADHOC_PREFIX})?"
NUMBERED_FILE = re.compile(OPTIONAL_PREFIX + r"(?:queries|qrels)-snapshot-(\d|train|test)\b")
NUMBERED_FOLDER = re.compile(r"snapshot[-_]?(\d)")
FILE_KIND = re.compile(OPTIONAL_PREFIX + r"(queries|qrels)(?![a-z])")
DOCUMENTS, FULL_TEXT = "documents", "fulltext"
FULL_TEXT_IS_READ = "the files with full text are read instead"


def find_sci_snapshots(root: Path, files: list[Path]) -> dict[str, SnapshotFiles]:
    """Group the files of a release by snapshot name.

    Args:
        root: Folder of the release.
        files: Files of the release, sorted.

    Raises:
        UsageError: The month of a file cannot be determined.
    """
    snapshots: dict[str, SnapshotFiles] = {}
    month_by_number = SNAPSHOT_MONTHS if _is_2026_release(root, files) else {}
    numbers = {month: int(n) for n, month in month_by_number.items() if n.isdigit()}
    shared_query_files: list[Path] = []
    for path in files:
        kind = _file_kind(path, root)
        if kind is None:
            continue
        name = _snapshot_month(path, root, month_by_number)
        if name is None:
            shared_query_files.append(path)
            continue
        snapshot = snapshots.setdefault(name, SnapshotFiles(name))
        if kind == "queries":
            path_parts = (root.resolve().name, *Path(relative_path(path, root)).parts)
            split = infer_split_from_path(path_parts)
            snapshot.queries.append((path, _detect_language(path), split))
        elif kind == "qrels":
            snapshot.qrels.append(path)
        else:
            snapshot.documents.setdefault(_detect_language(path), []).append(path)
    for snapshot in snapshots.values():
        snapshot.queries += [(path, _detect_language(path), "test") for path in shared_query_files]
        paths = snapshot.paths
        snapshot.documents = {
            k: _prefer_full_text_files(p, root) for k, p in snapshot.documents.items()
        }
        snapshot.skip({*paths} - {*snapshot.paths}, FULL_TEXT_IS_READ)
        _rename_test_split(snapshot)
        snapshot.number = numbers.get(snapshot.name)
        snapshot.months = 1 if snapshot.number is None else MONTHS_PER_NUMBER
    return snapshots


def _detect_language(path: Path) -> str:
    """Return the language of the `longeval export` that wrote a file; English if it is unknown."""
    return exported_language(path) or ENGLISH


def _is_2026_release(root: Path, files: list[Path]) -> bool:
    """Whether the names of folders and files indicate the 2026 release."""
    names = [root.resolve().name, *(relative_path(path, root) for path in files)]
    years = {year for name in names for year in RELEASE_YEAR.findall(name)}
    return max(years) == "2026" if years else any(ADHOC_PREFIX in path.name for path in files)


def _file_kind(path: Path, root: Path) -> str | None:
    """Return what a file contains: `queries`, `qrels` or `documents`; None for other files."""
    if match := FILE_KIND.match(path.name.lower()):
        return match[1]
    folder = _documents_folder(path, root)
    names = () if folder is None else path.relative_to(folder).parts
    return DOCUMENTS if names and not any(map(NON_DOCUMENT.fullmatch, names)) else None


def _documents_folder(path: Path, root: Path) -> Path | None:
    """Return the innermost folder named `documents` above a file; None if there is none."""
    depth = len(Path(relative_path(path, root)).parts)
    folders = (path.parent, *path.parents[1 : depth - 1])
    return next((folder for folder in folders if folder.name == DOCUMENTS), None)


def _snapshot_month(path: Path, root: Path, month_by_number: dict[str, str]) -> str | None:
    """Return the month of a file, found in its name, the nearest metadata or a parent folder name.

    Returns:
        None if the file belongs to all snapshots.

    Raises:
        UsageError: The month cannot be determined, a name has several dates, or folder name and
            metadata differ.
    """
    documents = _documents_folder(path, root)
    is_document = _file_kind(path, root) == DOCUMENTS
    folder = documents.parent if is_document and documents else path.parent
    number = None if is_document else NUMBERED_FILE.match(path.name.lower())
    name = None if is_document else parse_date_in_name(path)
    if name is None and number and month_by_number:
        if number[1] == "test":
            return None
        name = month_by_number.get(number[1])
    recorded = read_and_check_month(folder, folder / "metadata.json")
    name = name or recorded
    if name is None:
        parents = folder.relative_to(root).parents if folder.is_relative_to(root) else ()
        folders = (folder, *parents)
        named = (_parse_folder_month(folder, month_by_number) for folder in folders)
        name = next(filter(None, named), None)
    if not name:
        raise unknown_month_error(folder, folder.name, "2024-11", "its metadata.json")
    return name


def _parse_folder_month(folder: Path, month_by_number: dict[str, str]) -> str | None:
    name = folder.name.lower()
    known_months = (month for start, month in KNOWN_MONTHS.items() if name.startswith(start))
    number = NUMBERED_FOLDER.fullmatch(name)
    return (
        parse_date_in_name(folder)
        or next(known_months, None)
        or (month_by_number.get(number[1]) if number else None)
    )


def _prefer_full_text_files(paths: list[Path], root: Path) -> list[Path]:
    """Return the document files with full text; if there are none, return all document files."""
    full = [path for path in paths if FULL_TEXT in relative_path(path, root).lower()]
    return full or paths


def _rename_test_split(snapshot: SnapshotFiles) -> None:
    """Rename the split `test` to `heldout` in a snapshot that also has a `train` split."""
    if {split for _, _, split in snapshot.queries} == {"test", "train"}:
        renamed = {"test": "heldout", "train": "train"}
        snapshot.queries = [
            (path, language, renamed[split]) for path, language, split in snapshot.queries
        ]
