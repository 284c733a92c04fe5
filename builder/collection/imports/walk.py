"""Lists the files of a release, following links and references to prior datasets.

Links are followed if they lead to a file or folder in the release or in one of its prior datasets;
other links are recorded but not followed. A prior dataset is a folder listed as `prior-datasets` in
`metadata.json`, with its own `metadata.json`, inside the release or next to it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from builder.collection.imports.files import read_metadata_value

METADATA = "metadata.json"
PRIOR_DATASETS = "prior-datasets"


@dataclass
class ReleaseFiles:
    """Files of a release, and its links and prior datasets that could not be followed.

    Args:
        root: Folder of the release.
        paths: Sorted file paths; a file reached through a link has the path of the link.
        external_links: Links that are broken or point outside the release.
        missing_datasets: Prior datasets listed in the metadata that do not exist, or are neither
            in the release nor next to it.
    """

    root: Path
    paths: list[Path] = field(default_factory=list)
    external_links: list[Path] = field(default_factory=list)
    missing_datasets: list[str] = field(default_factory=list)


def list_release_files(root: Path) -> ReleaseFiles:
    """List the files of a release and of the prior datasets that its metadata names."""
    files = ReleaseFiles(root)
    folders = [root]
    for folder in folders:
        for metadata in sorted(path for path in folder.rglob(METADATA) if not path.is_symlink()):
            folders += _find_sibling_datasets(metadata, root, folders, files)
    allowed_roots = tuple(folder.resolve() for folder in folders)
    for folder in folders:
        files.paths += _walk_folder(folder, allowed_roots, (), files)
    files.paths = sorted(set(files.paths))
    return files


def _find_sibling_datasets(
    metadata: Path, root: Path, folders: list[Path], files: ReleaseFiles
) -> list[Path]:
    """Return the prior datasets that a metadata file lists and that are next to the release.

    Datasets that are already in `folders` are omitted. Those that do not exist, or are neither in
    the release nor next to it, are added to `files.missing_datasets`.
    """
    names = read_metadata_value(metadata, PRIOR_DATASETS)
    paths = [n for n in names if isinstance(n, str) and "/" in n] if isinstance(names, list) else []
    siblings = []
    for name in dict.fromkeys(paths):
        folder = Path(os.path.normpath(metadata.parent / name.replace("\0", "")))
        target, release_root = folder.resolve(), root.resolve()
        is_within = target.is_relative_to(release_root)
        is_sibling = target.parent == release_root.parent
        if not (folder / METADATA).is_file() or not (is_within or is_sibling):
            files.missing_datasets.append(name)
        elif not is_within and folder not in folders:
            siblings.append(folder)
    return siblings


def _walk_folder(
    folder: Path, allowed_roots: tuple[Path, ...], ancestors: tuple[Path, ...], files: ReleaseFiles
) -> Iterator[Path]:
    """Yield the files below a folder, including those in linked folders; skip cyclic links."""
    resolved = folder.resolve()
    if resolved in ancestors:
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() and not _resolves_within(entry, allowed_roots):
            files.external_links.append(entry)
        elif entry.is_dir():
            yield from _walk_folder(entry, allowed_roots, (*ancestors, resolved), files)
        elif entry.is_file():
            yield entry


def _resolves_within(link: Path, allowed_roots: tuple[Path, ...]) -> bool:
    """Whether a link leads to an existing file or folder inside one of the given folders."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return any(target.is_relative_to(folder) for folder in allowed_roots)
