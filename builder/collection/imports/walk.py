"""The files of a release: those below its folder, behind its links, and of its prior datasets.

A link is followed where it leads to a file or folder of the release or of one of its prior
datasets; others are named and not read. A prior dataset is a folder that `metadata.json` lists as
one of `prior-datasets`, with a `metadata.json` of its own, inside the release or next to it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from builder.collection.imports.files import said_in

METADATA = "metadata.json"
PRIOR = "prior-datasets"


@dataclass
class ReleaseFiles:
    """The files of a release.

    Args:
        root: Its folder.
        paths: Its files, sorted; those behind links under the names of the links.
        outside: Links that lead out of the release or to nothing.
        missing: Prior datasets that are named and not there.
    """

    root: Path
    paths: list[Path] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def walk(root: Path) -> ReleaseFiles:
    """The files of a release and of its prior datasets."""
    found = ReleaseFiles(root)
    homes = [root]
    for home in homes:
        for metadata in sorted(path for path in home.rglob(METADATA) if not path.is_symlink()):
            homes += _prior(metadata, root, homes, found)
    inside = tuple(home.resolve() for home in homes)
    for home in homes:
        found.paths += _below(home, inside, (), found)
    found.paths = sorted(set(found.paths))
    return found


def _prior(metadata: Path, root: Path, homes: list[Path], found: ReleaseFiles) -> list[Path]:
    """Folders of prior datasets next to the release; those inside it are walked anyway."""
    named = said_in(metadata, PRIOR)
    paths = [n for n in named if isinstance(n, str) and "/" in n] if isinstance(named, list) else []
    siblings = []
    for name in dict.fromkeys(paths):
        home = Path(os.path.normpath(metadata.parent / name.replace("\0", "")))
        place, own = home.resolve(), root.resolve()
        if not (home / METADATA).is_file() or not place.is_relative_to(own.parent):
            found.missing.append(name)
        elif not place.is_relative_to(own) and place.parent == own.parent and home not in homes:
            siblings.append(home)
    return siblings


def _below(
    folder: Path, inside: tuple[Path, ...], above: tuple[Path, ...], found: ReleaseFiles
) -> Iterator[Path]:
    """The files below a folder; a link to a folder above itself is not followed again."""
    here = folder.resolve()
    if here in above:
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() and not _leads_inside(entry, inside):
            found.outside.append(entry)
        elif entry.is_dir():
            yield from _below(entry, inside, (*above, here), found)
        elif entry.is_file():
            yield entry


def _leads_inside(link: Path, inside: tuple[Path, ...]) -> bool:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return any(target.is_relative_to(home) for home in inside)
