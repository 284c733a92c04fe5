"""Zipped submissions, as TIRA hands them out.

In: paths of runs, some of them zip files. Out: the same paths, with a folder in the place of each
archive, for as long as the context is open. Nothing is unpacked outside that folder.
"""

import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from builder.errors import FormatError
from builder.trec.bounded import MAX_BYTES, size_limit_error

_CHUNK = 2**20
_SCRATCH = "longeval-runs-"
UNPACKED = rf"^.*/{_SCRATCH}[^/]+/\d+/"
"""Pattern of the part of a path that leads to the folder of an unpacked archive."""


@contextmanager
def unpacked(paths: Sequence[Path], max_bytes: int = MAX_BYTES) -> Iterator[list[Path]]:
    """Unpack the zip files among some paths.

    Args:
        paths: Files and folders; only files that are zip archives are unpacked.
        max_bytes: Largest size of the files of one archive, unpacked.

    Raises:
        FormatError: an archive is damaged, encrypted or too large, or a member leaves its folder.
    """
    if not any(map(_is_zip, paths)):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as scratch:
        yield [
            _unpack(path, Path(scratch) / str(number) / path.stem, max_bytes)
            if _is_zip(path)
            else path
            for number, path in enumerate(paths)
        ]


def _is_zip(path: Path) -> bool:
    """Whether a file is a zip archive by its content or, as a truncated one is, by its name."""
    return path.is_file() and (path.suffix.lower() == ".zip" or zipfile.is_zipfile(path))


def _unpack(path: Path, folder: Path, max_bytes: int) -> Path:
    folder.mkdir(parents=True)
    left = max_bytes
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = PurePosixPath(member.filename.replace("\\", "/"))
                if name.is_absolute() or ".." in name.parts or ":" in member.filename:
                    raise FormatError(f"expected names within it, found {str(name)!r}", path)
                if member.is_dir() or "__MACOSX" in name.parts:
                    continue
                if member.flag_bits & 1:
                    raise FormatError("expected an archive without a password", path)
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as out:
                    while chunk := source.read(_CHUNK):
                        left -= len(chunk)
                        if left < 0:
                            raise size_limit_error(path, max_bytes)
                        out.write(chunk)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
        raise FormatError(f"expected an intact zip archive ({error})", path) from error
    return folder
