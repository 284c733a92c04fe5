"""Finds the files of a release that an import reads: `longeval import --explain`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports.files import ReleasedSnapshot, name_of
from builder.collection.imports.found import find_snapshots, unread_files
from builder.collection.imports.walk import walk
from builder.errors import UsageError


@dataclass(frozen=True)
class ImportPlan:
    """Files of a release, by whether and as what an import reads them.

    Args:
        root: Folder of the release.
        version: Version folder to publish.
        snapshots: Files of each snapshot, in order of time.
        unread: Number of files that belong to no snapshot or repeat another, by file or folder.
        outside: Links that lead out of the release; they are not followed.
        missing: Prior datasets named in the release's metadata but absent.
    """

    root: Path
    version: Path
    snapshots: list[ReleasedSnapshot]
    unread: Mapping[str, int]
    outside: Sequence[str]
    missing: Sequence[str]

    def file_counts(self) -> dict[str, dict[str, int]]:
        """Number of files of queries, qrels and documents, by snapshot."""
        return {
            snapshot.name: {
                "queries": len(snapshot.queries),
                "qrels": len(snapshot.qrels),
                "documents": sum(map(len, snapshot.documents.values())),
            }
            for snapshot in self.snapshots
        }


def plan_import(
    release: Path | str, layout: str, version: Path, edition: str | None = None
) -> ImportPlan:
    """Find the files of a release, without reading queries, qrels or documents.

    Args:
        release: Folder of the release.
        layout: One of `LAYOUTS`.
        version: Version folder to publish.
        edition: Qrels variant such as `dctr`; None: the layout's choice.

    Raises:
        UsageError: the version exists, or the release is not a folder, has another layout or no
            such edition.
    """
    root = Path(release)
    check_absent(version)
    if not root.is_dir():
        raise UsageError(f"{root}: expected the folder of a release")
    files = walk(root)
    snapshots = find_snapshots(files, layout, edition)
    outside = tuple(name_of(link, root) for link in files.outside)
    unread = unread_files(files, snapshots)
    return ImportPlan(root, version, snapshots, unread, outside, tuple(files.missing))


def check_absent(version: Path) -> None:
    """Refuse to replace a version.

    Raises:
        UsageError: the version folder exists.
    """
    if version.exists():
        raise UsageError(f"{version} already exists; choose another --out or --version")
