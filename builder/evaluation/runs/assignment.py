"""Assigns run files to systems and snapshots according to their paths.

The snapshot is taken from the file name, or else from the parent folder, or else from the folder
above it. The system is the file name without snapshot and extensions or, if nothing or only `run`
remains, the name of a parent folder:
`bm25/2022-06.txt.gz`, `bm25_2022-06.run`, `2022-06/bm25.txt` and `bm25/2022-06/run.txt.gz` (the
layout of LongEval submissions) are all runs of `bm25` for 2022-06; the date may also be written as
`2022_06` or `202206`. `snapshot-2` (as in LongEval 2026) is the snapshot with number 2; see
`numbering`.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from builder.errors import UsageError
from builder.evaluation.runs.dates import CHECKED_PARTS, MONTH
from builder.evaluation.runs.numbering import numbers_from_snapshot_names
from builder.io.file_types import ARCHIVE_NAME, BACKUP_COPY
from builder.text.names import ENGLISH, FRENCH, NUMBERED_SNAPSHOT, to_valid_unicode
from schemas import SNAPSHOT_PATTERN

_EXTENSIONS = re.compile(r"(\.(txt|run|trec|res|eval|csv|tsv|gz|zst|zstd))+$", re.IGNORECASE)
_SEPARATORS = " ._-+"
GENERIC_NAME = "run"
"""Name, without extensions, of all run files in LongEval submissions."""
_DATE_SEPARATORS = ("-", "_", "")
_MONTH_NAMES = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_MONTH_NAME = re.compile(rf"(?<![a-z])(?:{_MONTH_NAMES})(?![a-z])", re.IGNORECASE)
_LANGUAGE = re.compile(rf"{FRENCH}|{ENGLISH}")
_IGNORED = re.compile(r"\..*|.*~|.*\.(ya?ml|md|json|html|pdf)", re.IGNORECASE)
"""Names of files and folders that are not runs, such as `ir-metadata.yml`."""


@dataclass(frozen=True, order=True)
class RunFile:
    """Run file with its system and snapshot.

    Args:
        system: Name of the system.
        snapshot: Name of the snapshot.
        path: Path of the file.
    """

    system: str
    snapshot: str
    path: Path


def assign_runs(
    paths: Sequence[Path], snapshots: Sequence[str], numbers: Mapping[str, int] | None = None
) -> list[RunFile]:
    """Determine the system and the snapshot of every run file from its path.

    Args:
        paths: Run files or folders. Folders are searched recursively, through symbolic links;
            hidden files, backup copies and files such as `.md` or `.yml` are skipped.
        snapshots: Names of the snapshots of the collection. If there is only one, its name may
            be missing from the paths.
        numbers: Number of each snapshot, used in paths such as `snapshot-2`; some snapshots may
            have no number. None derives the numbers from the names of the snapshots.

    Returns:
        Run files, sorted by system and snapshot.

    Raises:
        UsageError: A file is an archive; a path names no snapshot, several snapshots, an unknown
            snapshot or no system; a folder contains no runs; or two files are runs of the same
            system for the same snapshot.
    """
    files = [file for path in paths for file in _list_run_files(path)]
    if not files:
        raise UsageError("expected at least one run file, found none")
    for file in files:
        if ARCHIVE_NAME.search(file.name) and file.is_file():
            raise UsageError(
                f"{file}: expected a run, found an archive; unpack it (commands such as `longeval "
                "evaluate` unpack only zip files passed as arguments)"
            )
    numbers = numbers_from_snapshot_names(snapshots) if numbers is None else numbers
    patterns = {name: _snapshot_pattern(name, numbers.get(name)) for name in sorted(snapshots)}
    runs = sorted(_assign_run(file, patterns, numbers) for file in dict.fromkeys(files))
    for first, second in pairwise(runs):
        if (first.system, first.snapshot) == (second.system, second.snapshot):
            raise UsageError(
                f"{first.path} and {second.path} are both runs of {first.system!r} for "
                f"{first.snapshot}; rename one to SYSTEM/SNAPSHOT.txt or SYSTEM_SNAPSHOT.txt"
            )
    return runs


def resolve_pivot(pivot: str, runs: Sequence[RunFile]) -> str:
    """Return the name of the pivot system, which may be given as a name, run file or folder.

    Raises:
        UsageError: The pivot is not the name of a system, a run file or a folder with runs, or the
            folder contains runs of several systems.
    """
    systems = sorted({run.system for run in runs})
    if pivot in systems:
        return pivot
    path = Path(pivot.replace("\0", "")).resolve()
    matches = {r.system for r in runs if path in (r.path.resolve(), *r.path.resolve().parents)}
    if len(matches) != 1:
        raise UsageError(
            f"pivot {pivot!r}: expected a run file or one of the systems {', '.join(systems)}"
        )
    return matches.pop()


def _list_run_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    runs: list[Path] = []
    for root, folders, names in os.walk(path, followlinks=True):
        folder = Path(root)
        runs += (folder / name for name in names if not _is_ignored(name))
        folders[:] = [
            name
            for name in folders
            if not _IGNORED.fullmatch(name) and not _contains_folder(folder / name, folder)
        ]
    if not runs:
        raise UsageError(f"{path}: the folder contains no run files")
    return sorted(runs)


def _is_ignored(name: str) -> bool:
    """Return whether a file is not a run, such as a backup copy, according to its name."""
    return bool(_IGNORED.fullmatch(name) or BACKUP_COPY.search(name))


def _contains_folder(folder: Path, other: Path) -> bool:
    """Return whether `folder` contains or equals `other` after symbolic links are resolved."""
    return other.resolve().is_relative_to(folder.resolve())


def _assign_run(
    path: Path, patterns: Mapping[str, re.Pattern[str]], numbers: Mapping[str, int]
) -> RunFile:
    stem = _EXTENSIONS.sub("", to_valid_unicode(path.name))
    parts = [stem, *reversed(path.parts[:-1])][:CHECKED_PARTS]
    for part in parts:
        _reject_unknown_snapshot_number(path, part, patterns, numbers)
        named = [name for name, pattern in patterns.items() if pattern.search(part)]
        if len(named) > 1:
            raise UsageError(f"{path}: {part!r} names several snapshots: {', '.join(named)}")
        if named:
            pattern = patterns[named[0]]
            system = _strip_snapshot(pattern, stem)
            if system == GENERIC_NAME and part != stem:
                system = _system_name_from_parents(path, pattern)
            return RunFile(system or _system_name_from_folder(path, pattern), named[0], path)
    if len(patterns) == 1:
        (snapshot,) = patterns
        _reject_mismatched_month(path, parts, snapshot)
        return RunFile(stem, snapshot, path)
    raise UsageError(
        f"{path}: expected the name of a snapshot ({', '.join(patterns)}) in the file or folder "
        "name, such as bm25/2022-06.txt or bm25_2022-06.txt" + _missing_file_hint(path)
    )


def _reject_unknown_snapshot_number(
    path: Path, path_component: str, snapshots: Iterable[str], numbers: Mapping[str, int]
) -> None:
    """Raise an error if a path component such as `snapshot-4` contains an unknown snapshot number.

    Raises:
        UsageError: No snapshot has the number in the path component.
    """
    for found in re.finditer(NUMBERED_SNAPSHOT, path_component):
        if int(found[1]) not in numbers.values():
            known = [
                f"{name} (snapshot-{numbers[name]})" if name in numbers else name
                for name in snapshots
            ]
            raise _snapshot_mismatch_error(path, path_component, found[0], known)


def _reject_mismatched_month(path: Path, path_components: Sequence[str], snapshot: str) -> None:
    """Raise an error if a path names a different month from the only snapshot.

    The first path component is the file name. Month names such as `july` are detected only in the
    file name, dates such as `2022-07` in all path components.

    Raises:
        UsageError: A path component names another month.
    """
    for part in path_components:
        if other := MONTH.search(part):
            raise _snapshot_mismatch_error(path, part, other[0], [snapshot])
    if not re.fullmatch(SNAPSHOT_PATTERN, snapshot):
        return
    month = _MONTH_NAMES.split("|")[int(snapshot[5:7]) - 1]
    for found in _MONTH_NAME.finditer(path_components[0]):
        if found[0].lower() != month:
            raise _snapshot_mismatch_error(path, path_components[0], found[0], [snapshot])


def _snapshot_mismatch_error(
    path: Path, path_component: str, unknown_snapshot: str, known_snapshots: Sequence[str]
) -> UsageError:
    snapshots = "the snapshots are" if len(known_snapshots) > 1 else "the only snapshot is"
    return UsageError(
        f"{path}: {path_component!r} names {unknown_snapshot}, but {snapshots} "
        f"{', '.join(known_snapshots)}; omit the file, or rename it if it is not a run of "
        f"{unknown_snapshot}"
    )


def _missing_file_hint(path: Path) -> str:
    return "" if path.exists() else "; the file does not exist"


def _system_name_from_folder(path: Path, pattern: re.Pattern[str]) -> str:
    name = _strip_snapshot(pattern, path.absolute().parent.name)
    if not name:
        raise UsageError(f"{path}: expected the name of a system in the file or folder name")
    return name


def _system_name_from_parents(path: Path, pattern: re.Pattern[str]) -> str:
    """Derive the name of a system from the closest parent folder of a run.

    The snapshot is removed from the name of the folder. Folders named only after a snapshot or a
    language are skipped. If none of the three closest folders is left, returns `GENERIC_NAME`.
    """
    for folder in list(path.parents)[:3]:
        name = _strip_snapshot(pattern, folder.name)
        if name and not _LANGUAGE.fullmatch(name):
            return name
    return GENERIC_NAME


def _strip_snapshot(pattern: re.Pattern[str], name: str) -> str:
    parts = (part.strip(_SEPARATORS) for part in pattern.split(to_valid_unicode(name)))
    return "_".join(part for part in parts if part)


def _snapshot_pattern(snapshot: str, number: int | None) -> re.Pattern[str]:
    """Compile a pattern that finds a snapshot's number or date in a path."""
    separators = _DATE_SEPARATORS if re.fullmatch(SNAPSHOT_PATTERN, snapshot) else ("-",)
    names = [
        rf"(?<!\d){re.escape(snapshot.replace('-', s))}(?!\d|{s}\d\d(?!\d))" for s in separators
    ]
    if number is not None:
        names.append(rf"(?<![a-z\d])snapshot[-_]?0*{number}(?!\d)")
    return re.compile("|".join(names), re.IGNORECASE)
