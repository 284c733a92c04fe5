"""Which run file belongs to which system and snapshot, read from its path.

In: paths of run files or folders, and the names of a collection's snapshots. Out: `RunFile`s. The
snapshot is the one named in the file name, otherwise in the nearest folder of the path as given.
The system is the file name without snapshot and extensions, or, where nothing is left, that of
the folder: `bm25/2022-06.txt.gz`, `bm25_2022-06.run` and `2022-06/bm25.txt` are all `bm25` at
2022-06, and so is `bm25/2022-06/run.txt.gz`, as the lab has submissions. `snapshot-2`, as it called
them in 2026, is the second snapshot of the collection.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from builder.errors import UsageError
from builder.text.names import to_valid_text

_EXTENSIONS = re.compile(r"(\.(txt|run|trec|res|eval|csv|tsv|gz|zst|zstd))+$", re.IGNORECASE)
_SEPARATORS = " ._-+"
NAMELESS = "run"
"""What the lab calls every file of a submission, in folders of snapshots."""
_MONTH = re.compile(r"(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?!\d)")
NEAR = 3
"""The file's name and the folders just above it, in which another month is looked for."""
_LANGUAGE = re.compile(r"[a-z]{2}")
_NO_RUN = re.compile(r"\..*|.*\.(ya?ml|md|json|html|pdf)", re.IGNORECASE)
"""Files and folders beside runs, such as `ir-metadata.yml`."""


@dataclass(frozen=True, order=True)
class RunFile:
    """A run file, and what it is a run of.

    Args:
        system: Name of the system.
        snapshot: Name of the snapshot.
        path: The file.
    """

    system: str
    snapshot: str
    path: Path


def assign_runs(paths: Sequence[Path], snapshots: Sequence[str]) -> list[RunFile]:
    """Read system and snapshot of every run from its path.

    Args:
        paths: Run files; a folder stands for every file below it that is not hidden, nor of
            a kind that no run is.
        snapshots: Names of the collection's snapshots. Where there is only one, paths need not
            name it.

    Returns:
        One entry per file, sorted by system and snapshot.

    Raises:
        UsageError: a path names no snapshot or several, leaves no name for the system, a folder
            has no run, or two files claim the same system and snapshot.
    """
    files = [file for path in paths for file in _files(path)]
    if not files:
        raise UsageError("expected at least one run file, found none")
    patterns = {name: _pattern(name, number) for number, name in enumerate(sorted(snapshots), 1)}
    runs = sorted(_assign(file, patterns) for file in dict.fromkeys(files))
    for first, second in pairwise(runs):
        if (first.system, first.snapshot) == (second.system, second.snapshot):
            raise UsageError(
                f"{first.path} and {second.path} are both runs of {first.system!r} for "
                f"{first.snapshot}; rename one, as SYSTEM/SNAPSHOT.txt or SYSTEM_SNAPSHOT.txt"
            )
    return runs


def find_pivot(pivot: str, runs: Sequence[RunFile]) -> str:
    """The system that a person names as pivot: by its name, one of its files, or their folder.

    Raises:
        UsageError: it is none of these, or a folder of several systems.
    """
    systems = sorted({run.system for run in runs})
    if pivot in systems:
        return pivot
    place = Path(pivot.replace("\0", "")).resolve()
    found = {r.system for r in runs if place in (r.path.resolve(), *r.path.resolve().parents)}
    if len(found) != 1:
        raise UsageError(
            f"pivot {pivot!r}: expected one of the systems {', '.join(systems)}, or a run of one"
        )
    return found.pop()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    below = sorted(p for p in path.rglob("*") if p.is_file())
    found = [p for p in below if not any(map(_NO_RUN.fullmatch, p.relative_to(path).parts))]
    if not found:
        raise UsageError(f"{path}: expected run files in this folder, found none")
    return found


def _assign(path: Path, patterns: Mapping[str, re.Pattern[str]]) -> RunFile:
    stem = _EXTENSIONS.sub("", to_valid_text(path.name))
    parts = [stem, *reversed(path.parts[:-1])]
    for part in parts:
        named = [name for name, pattern in patterns.items() if pattern.search(part)]
        if len(named) > 1:
            raise UsageError(f"{path}: expected one snapshot in {part!r}, found {', '.join(named)}")
        if named:
            pattern = patterns[named[0]]
            system = _without(pattern, stem)
            if system == NAMELESS and part != stem:
                system = _name_above(path, pattern)
            return RunFile(system or _folder_name(path, pattern), named[0], path)
    if len(patterns) == 1:
        _refuse_other_month(path, [part for part in parts[:NEAR] if part not in "/."], patterns)
        return RunFile(stem, next(iter(patterns)), path)
    raise UsageError(
        f"{path}: expected the name of a snapshot ({', '.join(patterns)}) in the file name or in "
        "a folder, as in bm25/2022-06.txt or bm25_2022-06.txt" + _absent(path)
    )


def _refuse_other_month(path: Path, parts: Sequence[str], snapshots: Iterable[str]) -> None:
    """Refuse a run whose name or folder says a month that is no snapshot of the collection.

    Raises:
        UsageError: it does.
    """
    for part in parts:
        if other := _MONTH.search(part):
            raise UsageError(
                f"{path}: a run of {other[0]}, as {part!r} says, and the collection has "
                f"{', '.join(snapshots)} alone; leave it out, or rename it if it is none"
            )


def _absent(path: Path) -> str:
    return "" if path.exists() else "; there is no such file either"


def _folder_name(path: Path, snapshot: re.Pattern[str]) -> str:
    name = _without(snapshot, path.absolute().parent.name)
    if not name:
        raise UsageError(f"{path}: expected the name of a system in the file or folder name")
    return name


def _name_above(path: Path, snapshot: re.Pattern[str]) -> str:
    """What the nearest folder says beside the snapshot and its language; else the file's name."""
    for folder in list(path.parents)[:2]:
        name = _without(snapshot, folder.name)
        if name and not _LANGUAGE.fullmatch(name):
            return name
    return NAMELESS


def _without(snapshot: re.Pattern[str], name: str) -> str:
    pieces = (piece.strip(_SEPARATORS) for piece in snapshot.split(to_valid_text(name)))
    return "_".join(piece for piece in pieces if piece)


def _pattern(snapshot: str, number: int) -> re.Pattern[str]:
    """The snapshot by number, or as a whole date: `2022-06`, not in `2022-06-15` nor `12022-06`."""
    date = rf"(?<!\d){re.escape(snapshot)}(?!\d|-\d\d(?!\d))"
    return re.compile(rf"{date}|(?<![a-z\d])snapshot[-_]?{number}(?!\d)", re.IGNORECASE)
