"""Finds the snapshots of a published release, and the files of each snapshot.

Input: all files of the release, at any folder depth. Output: the files of each snapshot. Files may
be plain, `.gz` or `.zst`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports import files_2023, files_sci, files_web
from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.imports.variants import check_qrels_variant, select_qrels_variant
from builder.collection.imports.walk import ReleaseFiles
from builder.errors import UsageError, suggest
from builder.io.file_types import ARCHIVE_NAME, BACKUP_COPY
from builder.text.names import ENGLISH, FRENCH, NUMBERED_SNAPSHOT

SnapshotFinder = Callable[[Path, list[Path]], dict[str, SnapshotFiles]]


@dataclass(frozen=True)
class ReleaseLayout:
    """Layout of published releases, which determines where the files of each snapshot are.

    Args:
        find: Function that groups the files of a release by snapshot.
        expected_files: Description of the files of a snapshot, for error messages.
        has_stable_ids: Whether a document has the same id in every snapshot.
        qrels_omit_doc_prefix: Whether document ids in qrels lack the prefix `doc`.
    """

    find: SnapshotFinder
    expected_files: str
    has_stable_ids: bool
    qrels_omit_doc_prefix: bool = False


LAYOUTS = {
    "longeval-2023": ReleaseLayout(
        files_2023.find_2023_snapshots, files_2023.EXPECTED_FILES, False
    ),
    "longeval-sci": ReleaseLayout(files_sci.find_sci_snapshots, files_sci.EXPECTED_FILES, True),
    "longeval-web": ReleaseLayout(
        files_web.find_web_snapshots, files_web.EXPECTED_FILES, True, True
    ),
}


def find_snapshots(
    release: ReleaseFiles, layout: str, qrels_variant: str | None = None
) -> list[SnapshotFiles]:
    """Return the files of each snapshot of a release, in chronological order.

    Args:
        release: Files of the release.
        layout: One of `LAYOUTS`.
        qrels_variant: Qrels variant to import, such as `dctr`; None uses the layout's default.

    Raises:
        UsageError: The layout or the qrels variant does not exist, no snapshot was found, or the
            month of a snapshot cannot be determined.
    """
    if layout not in LAYOUTS:
        raise UsageError(f"unknown layout {layout!r}; {suggest(layout, LAYOUTS)}")
    files = [path for path in release.paths if not BACKUP_COPY.search(path.name)]
    if qrels_variant is not None:
        check_qrels_variant(files, qrels_variant)
    snapshots = _find_snapshots_in_layout(release.root, files, layout, qrels_variant)
    for snapshot in snapshots:
        _drop_duplicate_links(snapshot)
        if snapshot.number is None:
            snapshot.number = _parse_snapshot_number(snapshot, release.root)
    _keep_source_language_queries(snapshots)
    return snapshots


def _find_snapshots_in_layout(
    root: Path, files: list[Path], layout: str, qrels_variant: str | None
) -> list[SnapshotFiles]:
    """Return the snapshots of a release in the given layout.

    Raises:
        UsageError: No snapshot was found; the message suggests another layout if one fits.
    """
    month_error = None
    try:
        snapshots = _list_snapshots(root, files, layout, qrels_variant)
    except UsageError as error:
        snapshots, month_error = [], error
    if any(snapshot.queries or snapshot.query_texts for snapshot in snapshots):
        return snapshots
    matching_layouts = [
        name for name in LAYOUTS if name != layout and _has_queries_in_layout(root, files, name)
    ]
    if snapshots and not matching_layouts:
        return snapshots
    if month_error is not None and not matching_layouts:
        raise month_error
    hint = (
        f"; the release has layout {matching_layouts[0]}: use --layout {matching_layouts[0]}"
        if matching_layouts
        else ""
    )
    archives = [relative_path(path, root) for path in files if ARCHIVE_NAME.search(path.name)]
    if archives and not hint:
        hint = f"; unpack {', '.join(archives[:3])} first"
    expected_files = LAYOUTS[layout].expected_files
    raise UsageError(
        f"{root}: no snapshot found in layout {layout}; expected {expected_files}{hint}"
    )


def _list_snapshots(
    root: Path, files: list[Path], layout: str, qrels_variant: str | None = None
) -> list[SnapshotFiles]:
    """Return the snapshots in the given layout that have queries or qrels, sorted by name."""
    found = LAYOUTS[layout].find(root, files)
    select_qrels_variant(found.values(), qrels_variant)
    kept = [found[name] for name in sorted(found) if found[name].queries or found[name].qrels]
    for name in sorted({*found} - {snapshot.name for snapshot in kept}):
        for snapshot in kept[:1]:
            snapshot.skip(found[name].paths, f"{name} has no queries and no judgements")
    return kept


def _has_queries_in_layout(root: Path, files: list[Path], layout: str) -> bool:
    """Whether the release has query files in the given layout."""
    try:
        return any(snapshot.queries for snapshot in _list_snapshots(root, files, layout))
    except UsageError:
        return False


def _parse_snapshot_number(snapshot: SnapshotFiles, root: Path) -> int | None:
    """Return N if paths of a snapshot contain `snapshot-N`; None if N is missing or ambiguous."""
    paths = (relative_path(path, root) for path in snapshot.paths)
    numbers = {int(number) for path in paths for number in re.findall(NUMBERED_SNAPSHOT, path)}
    return numbers.pop() if len(numbers) == 1 else None


def _drop_duplicate_links(snapshot: SnapshotFiles) -> None:
    """Keep only the first of several paths that lead to the same file through links."""
    seen: set[Path] = set()

    def is_new_target(path: Path) -> bool:
        target = path.resolve()
        return not (target in seen or seen.add(target))  # type: ignore[func-returns-value]

    snapshot.queries = [query for query in snapshot.queries if is_new_target(query[0])]
    snapshot.qrels = [path for path in snapshot.qrels if is_new_target(path)]
    snapshot.documents = {
        k: [p for p in v if is_new_target(p)] for k, v in snapshot.documents.items()
    }


def detect_source_language(snapshots: Sequence[SnapshotFiles]) -> str:
    """Return the original language of the documents, or of the queries if there are no documents.

    If there are French and English texts, the result is French, because the English texts of a
    release are translations.
    """
    document_languages = {language for s in snapshots for language in s.documents}
    query_languages = {language for s in snapshots for _, language, _ in s.queries}
    query_languages |= {language for s in snapshots for _, language in s.query_texts}
    languages = document_languages or query_languages or {FRENCH}
    return next((known for known in (FRENCH, ENGLISH) if known in languages), min(languages))


def _keep_source_language_queries(snapshots: Sequence[SnapshotFiles]) -> None:
    """If the source language is English, drop the French queries of snapshots with English ones."""
    if detect_source_language(snapshots) == FRENCH:
        return
    for snapshot in snapshots:
        french_queries = [query for query in snapshot.queries if query[1] == FRENCH]
        if len(french_queries) < len(snapshot.queries):
            snapshot.queries = [query for query in snapshot.queries if query[1] != FRENCH]
            snapshot.skip((path for path, _, _ in french_queries), "the collection is English")
