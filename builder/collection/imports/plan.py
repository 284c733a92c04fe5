"""Implements `longeval import --explain`, which lists the files that an import would read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.unread import (
    UnreadFiles,
    find_unread_documents,
    find_unread_files,
    find_unread_judgements,
)
from builder.collection.imports.variants import qrels_variant_warnings
from builder.collection.imports.walk import list_release_files
from builder.errors import UsageError
from builder.reporting.numbers import pluralize


@dataclass(frozen=True)
class ImportPlan:
    """Files of a release that an import would read, and those that it would not read.

    Args:
        root: Folder of the release.
        version: Version folder to publish.
        snapshots: Files of each snapshot, in chronological order.
        unread_files: Reason and number of files that would not be read, by path of file or folder.
        external_links: Links that are broken or point outside the release; never followed.
        missing_datasets: Prior datasets listed in the metadata that do not exist, or are neither
            in the release nor next to it.
    """

    root: Path
    version: Path
    snapshots: list[SnapshotFiles]
    unread_files: Mapping[str, UnreadFiles]
    external_links: Sequence[str]
    missing_datasets: Sequence[str]

    def file_counts(self) -> dict[str, dict[str, int]]:
        """Return the number of `queries`, `qrels` and `documents` files, by snapshot name."""
        return {
            snapshot.name: {
                "queries": len(snapshot.queries),
                "qrels": len(snapshot.qrels),
                "documents": sum(map(len, snapshot.documents.values())),
            }
            for snapshot in self.snapshots
        }

    def warnings(self) -> list[str]:
        """Return warnings about missing documents, skipped judgements and qrels variants."""
        return [
            *self._document_warnings(),
            *self._judgement_warnings(),
            *qrels_variant_warnings(self.snapshots),
        ]

    def _document_warnings(self) -> list[str]:
        names = [snapshot.name for snapshot in self.snapshots if not snapshot.documents]
        unread = find_unread_documents(self.unread_files)
        if not (names and unread):
            return []
        message = (
            f"no document files are read for {', '.join(names)}, but files in document folders are "
            f"skipped, such as {unread[0]}; if these are documents, rename them to match the layout"
        )
        return [message]

    def _judgement_warnings(self) -> list[str]:
        unread = find_unread_judgements(self.unread_files)
        if not unread:
            return []
        files = pluralize(sum(self.unread_files[name].count for name in unread), "file")
        message = (
            f"skipped {files} in qrels folders, such as {unread[0]}; if these are judgements, "
            "rename the files, or the folders of the snapshots, to match the layout"
        )
        return [message]


def plan_import(
    release: Path | str, layout: str, version: Path, qrels_variant: str | None = None
) -> ImportPlan:
    """Find the files that an import would read, without reading them.

    Args:
        release: Folder of the release.
        layout: One of `LAYOUTS`.
        version: Version folder to publish.
        qrels_variant: Qrels variant to import, such as `dctr`; None uses the layout's default.

    Raises:
        UsageError: The version exists, or the release is not a folder, has a different layout or
            does not have the qrels variant.
    """
    root = Path(release)
    check_version_is_new(version)
    if not root.is_dir():
        raise UsageError(f"{root}: not a folder; expected the folder of a release")
    files = list_release_files(root)
    snapshots = find_snapshots(files, layout, qrels_variant)
    external_links = tuple(relative_path(link, root) for link in files.external_links)
    unread_files = find_unread_files(files, snapshots)
    return ImportPlan(
        root, version, snapshots, unread_files, external_links, tuple(files.missing_datasets)
    )


def check_version_is_new(version: Path) -> None:
    """Raise an error if a version folder already exists.

    Raises:
        UsageError: The version folder exists.
    """
    if version.exists():
        raise UsageError(f"{version} already exists; choose another --out or --version")
