"""Finds the files of each snapshot in layout `longeval-2023`, used in 2023 and 2024.

Each snapshot is a folder with the subfolders `French` and `English`, which contain `Documents`,
`Queries` and optionally `Qrels`. Qrels of test snapshots may be in a separate folder.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from builder.collection.export.longeval_2023 import JUDGEMENTS
from builder.collection.imports.files import (
    COMPRESSION_SUFFIX,
    LANGUAGE_FOLDERS,
    LANGUAGE_NAMES,
    NON_DOCUMENT,
    TREC_IS_READ,
    SnapshotFiles,
    parse_date_in_name,
    read_and_check_month,
    relative_path,
    unknown_month_error,
)
from builder.collection.imports.lines import MAX_LINE_BYTES
from builder.ingest.lines import read_line_blocks
from builder.io.sources import Source

EXPECTED_FILES = "French/Queries/*.tsv and French/Qrels/*.txt"
COMBINED = "duplicate content: all lines are in other files of the snapshot"
KNOWN_MONTHS = {"publish": "2022-06", "a-short-july": "2022-07", "b-long-september": "2022-09"}
"""Month of each folder of the 2023 release whose name does not contain a month."""


def find_2023_snapshots(root: Path, files: list[Path]) -> dict[str, SnapshotFiles]:
    """Group the files of a release by snapshot name.

    Args:
        root: Folder of the release.
        files: Files of the release, sorted.

    Raises:
        UsageError: The month of a snapshot cannot be determined.
    """
    snapshots: dict[str, SnapshotFiles] = {}
    names_by_folder: dict[Path, str] = {}
    for path in files:
        language_folder = _find_language_folder(path, root)
        if language_folder is None:
            continue
        if language_folder.parent not in names_by_folder:
            names_by_folder[language_folder.parent] = _snapshot_month(language_folder)
        name = names_by_folder[language_folder.parent]
        snapshot = snapshots.setdefault(name, SnapshotFiles(name))
        _add_file(snapshot, path, language_folder)
    months_by_label = {
        language_folder.name.lower(): name for language_folder, name in names_by_folder.items()
    }
    for path in files:
        if path.parent.name == JUDGEMENTS:
            snapshot_of_file = snapshots.get(_qrels_file_month(path, months_by_label))
            if snapshot_of_file is not None:
                snapshot_of_file.qrels.append(path)
    for snapshot in snapshots.values():
        paths = snapshot.paths
        _drop_combined_files(snapshot, root)
        snapshot.skip({*paths} - {*snapshot.paths}, COMBINED)
        paths = snapshot.paths
        snapshot.documents = {k: _prefer_trec_files(p, root) for k, p in snapshot.documents.items()}
        snapshot.skip({*paths} - {*snapshot.paths}, TREC_IS_READ)
    return snapshots


def _find_language_folder(path: Path, root: Path) -> Path | None:
    """Return the innermost `French` or `English` folder of a file; None if there is none.

    If no folder has either name, return the innermost folder with another name for a language, such
    as `fr`.
    """
    folders = [folder for folder in path.parents if folder.is_relative_to(root)]
    named = (
        folder
        for names in (LANGUAGE_FOLDERS, LANGUAGE_NAMES)
        for folder in folders
        if folder.name.lower() in names
    )
    return next(named, None)


def _snapshot_month(language_folder: Path) -> str:
    """Return the month of a language folder, found in its metadata or the parent folder name.

    Raises:
        UsageError: The month cannot be determined, the folder name has several dates, or folder
            name and metadata differ.
    """
    label = language_folder.parent.name
    metadata_file = language_folder / "etc" / "metadata.json"
    name = read_and_check_month(language_folder.parent, metadata_file)
    if name is None:
        name = parse_date_in_name(language_folder.parent) or KNOWN_MONTHS.get(label.lower())
    if not name:
        raise unknown_month_error(language_folder, label, "2022-06", "etc/metadata.json")
    return name


def _qrels_file_month(path: Path, months_by_label: Mapping[str, str]) -> str:
    """Return the month of a qrels file named after a snapshot folder or after a month.

    Args:
        path: Path of the file in the folder `JUDGEMENTS`.
        months_by_label: Month of each snapshot, by the name of its folder in lower case.

    Returns:
        Month; an empty string if the file is named after neither a snapshot folder nor a month.

    Raises:
        UsageError: The name contains several different dates.
    """
    label = path.name.partition(".")[0].lower()
    folder = "publish" if label == "heldout-test" else label
    return months_by_label.get(folder) or KNOWN_MONTHS.get(folder) or parse_date_in_name(path) or ""


def _add_file(snapshot: SnapshotFiles, path: Path, language_folder: Path) -> None:
    language = LANGUAGE_NAMES[language_folder.name.lower()]
    parts = [part.lower() for part in path.relative_to(language_folder).parts]
    if parts[0] == "queries" and re.fullmatch(rf"[^.].*\.tsv{COMPRESSION_SUFFIX}", parts[-1]):
        stem = parts[-1].partition(".")[0]
        split = stem if stem in ("train", "heldout") else "test"
        snapshot.queries.append((path, language, split))
    elif parts[0] == "qrels" and not NON_DOCUMENT.fullmatch(parts[-1]):
        snapshot.qrels.append(path)
    elif parts[-1].partition(".")[0] == "urls":
        snapshot.url_list = path
    elif parts[0] == "documents" and not NON_DOCUMENT.fullmatch(parts[-1]):
        snapshot.documents.setdefault(language, []).append(path)


def _prefer_trec_files(paths: list[Path], root: Path) -> list[Path]:
    """Drop files in `json` folders if there are also TREC files."""
    trec = [path for path in paths if not _is_in_json_folder(path, root)]
    return trec or paths


def _is_in_json_folder(path: Path, root: Path) -> bool:
    """Whether a file is in a folder named `json` below its language folder."""
    language_folder = _find_language_folder(path, root)
    folders = path.relative_to(language_folder or root).parent.parts
    return "json" in [folder.lower() for folder in folders]


def _drop_combined_files(snapshot: SnapshotFiles, root: Path) -> None:
    """Drop combined query and qrels files, that is, those whose lines all occur in other files.

    Split files, such as `train.tsv`, are kept and put before other query files, so that a query in
    both keeps its split. If there are no split files, nothing is dropped.
    """
    if {split for _, _, split in snapshot.queries} & {"train", "heldout"}:
        ordered = sorted(snapshot.queries, key=lambda query: query[2] == "test")
        kept: set[Path] = set()
        for language in LANGUAGE_FOLDERS.values():
            files = {path: split != "test" for path, own, split in ordered if own == language}
            kept.update(_exclude_combined_files(files, root))
        snapshot.queries = [query for query in ordered if query[0] in kept]
    files = {path: path.name.partition(".")[0].lower() != "qrels" for path in snapshot.qrels}
    if any(files.values()):
        snapshot.qrels = _exclude_combined_files(files, root)


def _exclude_combined_files(has_split: Mapping[Path, bool], root: Path) -> list[Path]:
    """Return the split files, followed by the other files except combined ones.

    A file is combined if all its lines occur in other files.

    Args:
        has_split: Whether each file is a split file, such as `train.tsv`; split files are kept.
        root: Folder of the release.
    """
    lines = {path: _read_distinct_lines(path, root) for path in has_split}
    kept = sorted(has_split, key=lambda path: not has_split[path])
    unsplit = [path for path in has_split if not has_split[path]]
    for path in sorted(unsplit, key=lambda path: -len(lines[path])):
        if lines[path] <= set().union(*(lines[other] for other in kept if other != path)):
            kept.remove(path)
    return kept


def _read_distinct_lines(path: Path, root: Path) -> set[bytes | str | None]:
    """Return the distinct non-empty lines of a file and, if it is damaged, the reject reason."""
    lines: set[bytes | str | None] = set()
    for block in read_line_blocks(Source(path, relative_path(path, root)), MAX_LINE_BYTES):
        lines.update(block.lines, [block.fault or b""])
    return lines - {b""}
