"""Which files of a published release are what.

In: the folder of a release, however deep its files are nested. Out: the files of each snapshot, and
those that are of none. Files may be plain, `.gz` or `.zst`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports import files_2023, files_sci, files_web
from builder.collection.imports.files import NO_DOCUMENT, ReleasedSnapshot
from builder.errors import UsageError, meant
from builder.text.names import ENGLISH, FRENCH

Find = Callable[[Path, list[Path]], dict[str, ReleasedSnapshot]]


@dataclass(frozen=True)
class ReleaseLayout:
    """How a release is laid out.

    Args:
        find: The snapshots among the files of a folder.
        expected: The files that make a snapshot, for people.
        has_stable_ids: Whether a document has the same id in every snapshot.
    """

    find: Find
    expected: str
    has_stable_ids: bool


LAYOUTS = {
    "longeval-2023": ReleaseLayout(files_2023.find_2023, files_2023.EXPECTED, False),
    "longeval-sci": ReleaseLayout(files_sci.find_sci, files_sci.EXPECTED, True),
    "longeval-web": ReleaseLayout(files_web.find_web, files_web.EXPECTED, True),
}
OWN = {"SHA256SUMS", "longeval-export.json"}
"""Files that our exports add to a layout."""


def find_snapshots(root: Path, layout: str, edition: str | None = None) -> list[ReleasedSnapshot]:
    """The snapshots of a release, in order of time.

    Args:
        root: Its folder, or one above it.
        layout: One of `LAYOUTS`.
        edition: Of judgements, where there are several; None: the layout's choice.

    Raises:
        UsageError: there is no such layout, no snapshot with queries and judgements is there, its
            month is not said, or there is no such edition.
    """
    if layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}; {meant(layout, LAYOUTS)}")
    if not root.is_dir():
        raise UsageError(f"{root}: expected the folder of a release")
    found = LAYOUTS[layout].find(root, _of_edition(_files(root), edition))
    snapshots = [found[name] for name in sorted(found) if found[name].queries or found[name].qrels]
    if not snapshots:
        raise UsageError(
            f"{root}: no snapshot in layout {layout} here; expected {LAYOUTS[layout].expected}"
        )
    _keep_own_language(snapshots)
    return snapshots


def _of_edition(files: list[Path], edition: str | None) -> list[Path]:
    """Files without those of judgements of another edition."""
    if edition is None:
        return files
    there = sorted({found for path in files if (found := files_sci.edition_of(path))})
    if edition not in there:
        other = meant(edition, there) if there else "this release has no editions"
        raise UsageError(f"--qrels: no judgements {edition!r} here; {other}")
    return [path for path in files if files_sci.edition_of(path) in (None, edition)]


def _files(root: Path) -> list[Path]:
    return sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())


def source_language(snapshots: Sequence[ReleasedSnapshot]) -> str:
    """The language that the pages of a release were found in; without pages, its queries.

    French where there is any, since English was translated from it.
    """
    of_pages = {language for s in snapshots for language in s.documents}
    of_queries = {language for s in snapshots for _, language, _ in s.queries}
    languages = of_pages or of_queries or {FRENCH}
    return FRENCH if FRENCH in languages else ENGLISH


def _keep_own_language(snapshots: Sequence[ReleasedSnapshot]) -> None:
    """Leave French queries alone where a release has no page in French, but English queries."""
    if source_language(snapshots) == FRENCH:
        return
    for snapshot in snapshots:
        own = [query for query in snapshot.queries if query[1] == ENGLISH]
        snapshot.queries = own or snapshot.queries


def unread_files(root: Path, snapshots: Sequence[ReleasedSnapshot]) -> dict[str, int]:
    """What lies in a release and is of no snapshot, or repeats another file in another form.

    Returns:
        Files, relative to the release, and folders of several, with how many they are.
    """
    read = {path for snapshot in snapshots for path in snapshot.paths}
    left = [p for p in _files(root) if p not in read and _is_offered(p.relative_to(root))]
    folders = Counter(path.parent for path in left)
    several = {folder for folder, count in folders.items() if count > 1} - {root}
    names = (path.parent if path.parent in several else path for path in left)
    return dict(Counter(name.relative_to(root).as_posix() for name in names))


def _is_offered(path: Path) -> bool:
    """Whether a reader of a release may expect that a file is read."""
    hidden = any(NO_DOCUMENT.fullmatch(part) for part in path.parts)
    return not hidden and path.name not in OWN
