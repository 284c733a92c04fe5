"""Which files of a published release are what.

In: the files of a release, however deep they are nested. Out: the files of each snapshot, and
those that are of none. Files may be plain, `.gz` or `.zst`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports import files_2023, files_sci, files_web
from builder.collection.imports.files import NO_DOCUMENT, ReleasedSnapshot, name_of
from builder.collection.imports.walk import ReleaseFiles
from builder.errors import UsageError, suggest
from builder.text.names import ENGLISH, FRENCH

Find = Callable[[Path, list[Path]], dict[str, ReleasedSnapshot]]


@dataclass(frozen=True)
class ReleaseLayout:
    """How a release is laid out.

    Args:
        find: The snapshots among the files of a folder.
        expected: The files that make a snapshot, for people.
        has_stable_ids: Whether a document has the same id in every snapshot.
        has_plain_numbers: Whether judgements leave out the `doc` before document numbers.
    """

    find: Find
    expected: str
    has_stable_ids: bool
    has_plain_numbers: bool = False


LAYOUTS = {
    "longeval-2023": ReleaseLayout(files_2023.find_2023, files_2023.EXPECTED, False),
    "longeval-sci": ReleaseLayout(files_sci.find_sci, files_sci.EXPECTED, True),
    "longeval-web": ReleaseLayout(files_web.find_web, files_web.EXPECTED, True, True),
}
OWN = {"SHA256SUMS", "longeval-export.json"}
"""Files that our exports add to a layout."""


def find_snapshots(
    release: ReleaseFiles, layout: str, edition: str | None = None
) -> list[ReleasedSnapshot]:
    """The snapshots of a release, in order of time.

    Args:
        release: Its files.
        layout: One of `LAYOUTS`.
        edition: Of judgements, where there are several; None: the layout's choice.

    Raises:
        UsageError: there is no such layout, no snapshot with queries and judgements is there, the
            release is in another layout, its month is not said, or there is no such edition.
    """
    if layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}; {suggest(layout, LAYOUTS)}")
    files = _of_edition(release.paths, edition)
    snapshots = _in_layout(release.root, files, layout)
    for snapshot in snapshots:
        _drop_repeated(snapshot)
    _keep_own_language(snapshots)
    return snapshots


def _in_layout(root: Path, files: list[Path], layout: str) -> list[ReleasedSnapshot]:
    """The snapshots in a layout; without a query in it, another layout must not have any."""
    unknown = None
    try:
        snapshots = _found(root, files, layout)
    except UsageError as error:
        snapshots, unknown = [], error
    if any(snapshot.queries or snapshot.texts for snapshot in snapshots):
        return snapshots
    others = [name for name in LAYOUTS if name != layout and _is_in(root, files, name)]
    if snapshots and not others:
        return snapshots
    if unknown is not None and not others:
        raise unknown
    right = f"; it is in layout {others[0]}: give --layout {others[0]}" if others else ""
    expected = LAYOUTS[layout].expected
    raise UsageError(f"{root}: no snapshot in layout {layout} here; expected {expected}{right}")


def _found(root: Path, files: list[Path], layout: str) -> list[ReleasedSnapshot]:
    found = LAYOUTS[layout].find(root, files)
    return [found[name] for name in sorted(found) if found[name].queries or found[name].qrels]


def _is_in(root: Path, files: list[Path], layout: str) -> bool:
    """Whether a release has queries in a layout."""
    try:
        return any(snapshot.queries for snapshot in _found(root, files, layout))
    except UsageError:
        return False


def _drop_repeated(snapshot: ReleasedSnapshot) -> None:
    """Read a file once that a snapshot has under several names, because of links."""
    seen: set[Path] = set()

    def is_first(path: Path) -> bool:
        place = path.resolve()
        return not (place in seen or seen.add(place))  # type: ignore[func-returns-value]

    snapshot.queries = [query for query in snapshot.queries if is_first(query[0])]
    snapshot.qrels = [path for path in snapshot.qrels if is_first(path)]
    snapshot.documents = {k: [p for p in v if is_first(p)] for k, v in snapshot.documents.items()}


def _of_edition(files: list[Path], edition: str | None) -> list[Path]:
    """Files without those of judgements of another edition."""
    if edition is None:
        return files
    there = sorted({found for path in files if (found := files_sci.edition_of(path))})
    if edition not in there:
        other = suggest(edition, there) if there else "this release has no editions"
        raise UsageError(f"--qrels: no judgements {edition!r} here; {other}")
    return [path for path in files if files_sci.edition_of(path) in (None, edition)]


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


def unread_files(release: ReleaseFiles, snapshots: Sequence[ReleasedSnapshot]) -> dict[str, int]:
    """What lies in a release and is of no snapshot, or repeats another file in another form.

    Returns:
        Files, relative to the release, and folders of several, with how many they are.
    """
    root = release.root
    read = {path for snapshot in snapshots for path in snapshot.paths}
    places = {path.resolve() for path in read}
    left = [
        path
        for path in release.paths
        if path not in read
        and path.resolve() not in places
        and _is_offered(Path(name_of(path, root)))
    ]
    folders = Counter(path.parent for path in left)
    several = {folder for folder, count in folders.items() if count > 1} - {root}
    names = (path.parent if path.parent in several else path for path in left)
    return dict(Counter(name_of(name, root) for name in names))


def _is_offered(path: Path) -> bool:
    """Whether a reader of a release may expect that a file is read."""
    parts = [part for part in path.parts if part != ".."]
    hidden = any(NO_DOCUMENT.fullmatch(part) for part in parts)
    return not hidden and path.name not in OWN
