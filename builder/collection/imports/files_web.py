"""Finds the files of each snapshot in layout `longeval-web`.

Queries are in `<month>_queries.txt`; qrels in `<month>_qrels.txt`, `<month>_qrels_processed.txt`,
`<month>_fr_qrels_processed.txt` or the folder `qrels/<month>_fr/`; documents in `Trec/<month>_fr/`
or `Json/<month>_fr/`; URLs in `collection_db.db`; query texts shared by all months in
`queries_db.db` or `queries.txt`. All these files may be nested in other folders; there may be
several databases and files of query texts, such as one in each language folder.
"""

import re
from pathlib import Path

from builder.collection.imports.files import (
    COMPRESSION_SUFFIX,
    LANGUAGE_NAMES,
    MONTH_PATTERN,
    NON_DOCUMENT,
    TREC_IS_READ,
    SnapshotFiles,
    infer_split_from_path,
    read_and_check_month,
    relative_path,
)
from builder.text.names import FRENCH

EXPECTED_FILES = "queries/<YYYY-MM>_queries.txt and qrels/<YYYY-MM>_fr/*.txt"
URL_DATABASE = "collection_db.db"
QUERY_TEXT_FILES = ("queries_db.db", "queries.txt")
"""Names of files with the query texts of all snapshots, in order of precedence."""
SNAPSHOT_LABEL = r"[\w.-]+?"
"""Pattern of the label of a snapshot: its month, or a name whose month is in the metadata."""
QUERY_FILE = re.compile(rf"({SNAPSHOT_LABEL})_queries\.txt{COMPRESSION_SUFFIX}", re.IGNORECASE)
QRELS_FILE = re.compile(
    rf"({MONTH_PATTERN})_(?:(fr|en)_)?qrels(?:_processed)?\.txt{COMPRESSION_SUFFIX}", re.IGNORECASE
)
SNAPSHOT_FOLDER = re.compile(rf"({SNAPSHOT_LABEL})_(fr|en)", re.IGNORECASE)
FOLDER_KINDS = ("qrels", "json", "trec")
FRENCH_QRELS_ARE_READ = "the judgements of the French documents are read instead"
PREFERRED_QRELS_ARE_READ = (
    "another file of judgements, such as qrels_processed.txt, is read instead"
)


def find_web_snapshots(root: Path, files: list[Path]) -> dict[str, SnapshotFiles]:
    """Group the files of a release by snapshot name.

    Args:
        root: Folder of the release.
        files: Files of the release, sorted.
    """
    snapshots: dict[str, SnapshotFiles] = {}
    qrels_files: dict[tuple[str, str], list[Path]] = {}
    months_by_label = _months_by_label(root, files)
    for path in files:
        parts = Path(relative_path(path, root)).parts
        query_file = QUERY_FILE.fullmatch(path.name)
        if query_file and (month := months_by_label.get(query_file[1])):
            split = infer_split_from_path((root.resolve().name, *parts[:-1]))
            snapshot = snapshots.setdefault(month, SnapshotFiles(month))
            snapshot.queries.append((path, _language_from_folder_names(parts[:-1]), split))
        elif match := QRELS_FILE.fullmatch(path.name):
            qrels_files.setdefault((match[1], (match[2] or "fr").lower()), []).append(path)
        elif (
            (folder := _parse_snapshot_folder(parts[:-1]))
            and folder[2] == "qrels"
            and folder[0] in months_by_label
            and not NON_DOCUMENT.fullmatch(path.name)
        ):
            qrels_files.setdefault((months_by_label[folder[0]], folder[1]), []).append(path)
    for (name, language), paths in sorted(qrels_files.items(), reverse=True):
        snapshot = snapshots.setdefault(name, SnapshotFiles(name))
        if language == "fr" or (name, "fr") not in qrels_files:
            snapshot.qrels = _select_qrels_files(paths)
            snapshot.skip({*paths} - {*snapshot.qrels}, PREFERRED_QRELS_ARE_READ)
        else:
            snapshot.skip(paths, FRENCH_QRELS_ARE_READ)
    for (name, language, _), paths in _group_document_files(root, files, months_by_label):
        snapshot = snapshots.setdefault(name, SnapshotFiles(name))
        snapshot.skip(snapshot.documents.get(language, []), TREC_IS_READ)
        snapshot.documents[language] = paths
    _add_shared_files(root, files, snapshots)
    return snapshots


def _add_shared_files(root: Path, files: list[Path], snapshots: dict[str, SnapshotFiles]) -> None:
    """Add to each snapshot the databases and query text files that all snapshots share."""
    databases = [path for path in files if path.name == URL_DATABASE]
    texts = [path for name in QUERY_TEXT_FILES for path in files if path.name == name]
    folders = [Path(relative_path(path, root)).parent for path in texts]
    languages = [_language_from_folder_names(folder.parts) for folder in folders]
    for snapshot in snapshots.values():
        snapshot.url_databases = databases
        snapshot.query_texts = list(zip(texts, languages, strict=True))


def _months_by_label(root: Path, files: list[Path]) -> dict[str, str]:
    """Return the month of each snapshot label that occurs in file or folder names.

    If a label is not a month, its month is read from the metadata of its folder.

    Raises:
        UsageError: A folder name and its metadata have different months.
    """
    months_by_label: dict[str, str] = {}
    for path in files:
        folder = _parse_snapshot_folder(Path(relative_path(path, root)).parts[:-1])
        query_file = QUERY_FILE.fullmatch(path.name)
        labels = [folder[0]] if folder else [query_file[1]] if query_file else []
        months_by_label |= {label: label for label in labels if re.fullmatch(MONTH_PATTERN, label)}
        if folder and path.name == "metadata.json":
            month = read_and_check_month(path.parent, path)
            if month and folder[0] not in months_by_label:
                months_by_label[folder[0]] = month
    return months_by_label


def _group_document_files(
    root: Path, files: list[Path], months_by_label: dict[str, str]
) -> list[tuple[tuple[str, str, str], list[Path]]]:
    """Group document files by month, language and format, and sort `json` before `trec`."""
    paths_by_kind: dict[tuple[str, str, str], list[Path]] = {}
    for path in files:
        folder = _parse_snapshot_folder(Path(relative_path(path, root)).parts[:-1])
        is_document = not any(map(NON_DOCUMENT.fullmatch, (path.name, path.parent.name)))
        if folder and folder[2] != "qrels" and folder[0] in months_by_label and is_document:
            paths_by_kind.setdefault((months_by_label[folder[0]], *folder[1:]), []).append(path)
    return sorted(paths_by_kind.items())


def _parse_snapshot_folder(path_parts: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Find the snapshot folder in a path, such as `Trec/2022-06_fr`, and parse its name.

    Returns:
        (label, language, lowercase name of the parent folder), such as `("2022-06", "fr", "trec")`;
        None if the path contains no snapshot folder.
    """
    for index, part in enumerate(path_parts):
        match = SNAPSHOT_FOLDER.fullmatch(part)
        kind = path_parts[index - 1].lower() if index else ""
        if match and kind in FOLDER_KINDS:
            return match[1], match[2].lower(), kind
    return None


def _select_qrels_files(paths: list[Path]) -> list[Path]:
    """Select the qrels files; prefer processed files, and names that contain no language."""
    processed = [path for path in paths if "qrels_processed" in path.name] or paths
    return [path for path in processed if not re.search("_(fr|en)_qrels", path.name)] or processed


def _language_from_folder_names(folder_names: tuple[str, ...]) -> str:
    """Return the language of the innermost folder named after a language; default: French.

    The folder name is, or ends with, the name or code of the language: `English`, `release_en`.
    """
    last_words = (re.split(r"[\W_]+", name.lower())[-1] for name in reversed(folder_names))
    return next((LANGUAGE_NAMES[word] for word in last_words if word in LANGUAGE_NAMES), FRENCH)
