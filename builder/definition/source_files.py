"""Finds the input files that match the paths, folders and glob patterns of a definition.

A folder matches all files below it, including those in linked folders. Hidden files and folders
(names that start with `.` or `_`) and backups (names that end with `~`) are skipped, unless the
pattern names them explicitly, as in `.cache/*`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from builder.errors import DefinitionError
from builder.io.sources import Source

COMPRESSION_SUFFIXES = (".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4")
WILDCARDS = "*?["
TABLE_FORMATS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", "metadata": "Iceberg"}
"""Names of the metadata folders of table formats. The folder of such a table keeps the files of
earlier versions of the table, with rows that were updated or deleted."""


def expand_patterns(folder: Path, patterns: Sequence[str]) -> tuple[Source, ...]:
    """Return the files that match any of the patterns, in pattern order and without duplicates.

    Args:
        folder: Folder to which the patterns are relative.
        patterns: Paths, folders and globs.
    """
    sources: dict[str, Source] = {}
    real_folder = cache(os.path.realpath)
    for pattern in patterns:
        for source in expand_pattern(folder, pattern):
            path = source.path
            in_folder = f"{real_folder(path.parent)}/{path.name}"
            sources.setdefault(os.path.realpath(path) if path.is_symlink() else in_folder, source)
    return tuple(sources.values())


def expand_pattern(folder: Path, pattern: str) -> list[Source]:
    """Return the files that match a pattern, sorted by path, including broken symlinks."""
    path, base = folder / pattern, Path(Path(pattern).anchor or folder)
    try:
        found: Iterable[Path] = [path] if path.exists() else ()
        if not found and any(character in pattern for character in WILDCARDS):
            found = _match_pattern_parts(base, path.relative_to(base).parts)
        files = sorted({file for match in found for file in _list_files(match)})
    except (OSError, ValueError):  # not a valid name, or the folder cannot be read
        return []
    return [Source(file, _source_name(file, folder)) for file in files]


def find_source_files(
    definition_file: Path, patterns: Sequence[str], key: str
) -> tuple[Source, ...]:
    """Return the files that match the patterns of one definition key, without duplicates.

    Args:
        definition_file: Path of the definition file; patterns are relative to its folder.
        patterns: Paths, folders and globs; files are returned in this order.
        key: Definition key with the patterns, such as `documents.deny`; used in error messages.

    Raises:
        DefinitionError: A pattern matches no file or a broken link, a folder or glob matches files
            of a Delta Lake, Iceberg or Hudi table, or the same file is present both plain and
            compressed.
    """
    for number, pattern in enumerate(patterns):
        found = find_matching_files(definition_file, pattern, f"{key}[{number}]")
        if not (definition_file.parent / pattern).is_file():
            _check_not_in_table(found, definition_file, f"{key}[{number}]")
    sources = expand_patterns(definition_file.parent, patterns)
    duplicate = find_compressed_duplicate(sources)
    if duplicate is not None:
        first, second = (source.name for source in duplicate)
        raise DefinitionError(
            f"expected each file once, found {first} and {second}, which are probably the same "
            "file, plain and compressed; list one of them, or move the other to another folder",
            definition_file,
            key,
        )
    return sources


def find_matching_files(definition_file: Path, pattern: str, key: str) -> list[Source]:
    """Return the files that match one pattern in a definition.

    Raises:
        DefinitionError: No file matches, or a broken link matches.
    """
    sources = expand_pattern(definition_file.parent, pattern)
    if not sources:
        raise DefinitionError(
            f"no such file: {definition_file.parent / pattern}", definition_file, key
        )
    for source in sources:
        if not source.path.exists():
            raise DefinitionError(
                f"{source.name} is a link to a file that does not exist; restore the file or "
                "remove the link",
                definition_file,
                key,
            )
    return sources


def _check_not_in_table(sources: Iterable[Source], definition_file: Path, key: str) -> None:
    """Check that no file belongs to a Delta Lake, Iceberg or Hudi table.

    Raises:
        DefinitionError: A file is in the folder of such a table.
    """
    for folder in sorted({parent for source in sources for parent in source.path.parents}):
        if table_format := _table_format(folder):
            raise DefinitionError(
                f"expected a folder of independent files, found a {table_format} table in "
                f"{_source_name(folder, definition_file.parent)}, which may contain files of "
                "earlier versions; export its current version, or list the files of that version "
                "one by one",
                definition_file,
                key,
            )


def _table_format(folder: Path) -> str | None:
    """Return the table format whose metadata a folder contains; None if there is no metadata."""
    for name, table_format in TABLE_FORMATS.items():
        metadata = folder / name
        if metadata.is_dir() and (name != "metadata" or any(metadata.glob("*.metadata.json"))):
            return table_format
    return None


def find_compressed_duplicate(sources: Iterable[Source]) -> tuple[Source, Source] | None:
    """Return two files whose paths differ only in their compression suffix, or None."""
    files = sorted(
        (_strip_compression_suffix(source.path), source.name, source) for source in sources
    )
    return next(
        ((first[2], second[2]) for first, second in pairwise(files) if first[0] == second[0]), None
    )


def _strip_compression_suffix(path: Path) -> Path:
    """Return a path without its compression suffix, if it has one."""
    return path.with_suffix("") if path.suffix in COMPRESSION_SUFFIXES else path


def _match_pattern_parts(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders below a folder that match the parts of a glob pattern."""
    if not parts:
        yield folder
    elif parts[0] == "**":
        for subfolder, _ in _walk_folder(folder):
            yield from _match_pattern_parts(subfolder, parts[1:])
    else:
        for path in folder.glob(parts[0]):
            if _is_hidden_or_backup(parts[0]) or not _is_hidden_or_backup(path.name):
                yield from _match_pattern_parts(path, parts[1:])


def _list_files(path: Path) -> Iterator[Path]:
    """Yield the given file, or all files below the given folder except hidden ones and backups."""
    found: Iterable[Path] = [path]
    if path.is_dir():
        found = (folder / name for folder, names in _walk_folder(path) for name in names)
    yield from (file for file in found if file.is_file() or file.is_symlink())


def _walk_folder(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield a folder and its subfolders, each with the names of its files.

    Links are followed, but each folder is entered only once, because links may form a loop.
    """
    entered: set[str] = set()
    for path, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(path)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders[:] = sorted(name for name in folders if not _is_hidden_or_backup(name))
        yield Path(path), [name for name in files if not _is_hidden_or_backup(name)]


def _is_hidden_or_backup(name: str) -> bool:
    """Return whether a name belongs to a hidden file or folder, or to a backup."""
    return name.startswith((".", "_")) or name.endswith("~")


def _source_name(path: Path, folder: Path) -> str:
    """Return a path as text, relative to `folder` if it is inside that folder."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
