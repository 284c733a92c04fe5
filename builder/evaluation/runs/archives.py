"""Extracts zipped submissions, as downloaded from TIRA, to a temporary folder."""

import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from builder.errors import FormatError, LongEvalError
from builder.io.file_types import ARCHIVE_NAME
from builder.trec.bounded import MAX_BYTES, size_limit_error

_CHUNK = 2**20
_SCRATCH = "longeval-runs-"
EXTRACTED_PREFIX = rf"^.*/{_SCRATCH}[^/]+/\d+/"
"""Regular expression of the path prefix of files extracted from an archive."""


@contextmanager
def extract_archives(paths: Sequence[Path], max_bytes: int = MAX_BYTES) -> Iterator[list[Path]]:
    """Extract zip archives to temporary folders; yield `paths` with archives replaced by folders.

    This is a context manager; the folders are deleted on exit. Errors raised within the context
    name the archive instead of the temporary folder.

    Args:
        paths: Files and folders; only zip archives are extracted.
        max_bytes: Maximum total size of the files extracted from one archive, in bytes.

    Raises:
        FormatError: An archive is damaged, encrypted or too large, contains an archive or duplicate
            members, or has a member whose path leads outside the target folder.
    """
    if not any(map(_is_zip_archive, paths)):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as scratch:
        folders = {
            path: _extract_archive(path, Path(scratch) / str(number) / path.stem, max_bytes)
            for number, path in enumerate(paths)
            if _is_zip_archive(path)
        }
        try:
            yield [folders.get(path, path) for path in paths]
        except LongEvalError as error:
            for path, folder in folders.items():
                error.args = (str(error).replace(str(folder), str(path)),)
            raise


def _is_zip_archive(path: Path) -> bool:
    """Return whether a file is a zip archive, according to its suffix or content."""
    return path.is_file() and (path.suffix.lower() == ".zip" or zipfile.is_zipfile(path))


def _extract_archive(path: Path, folder: Path, max_bytes: int) -> Path:
    folder.mkdir(parents=True)
    remaining = max_bytes
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = PurePosixPath(member.filename.replace("\\", "/"))
                if name.is_absolute() or ".." in name.parts or ":" in member.filename:
                    raise FormatError(
                        f"expected archive members inside the target folder, found {str(name)!r}",
                        path,
                    )
                if member.is_dir() or "__MACOSX" in name.parts:
                    continue
                if ARCHIVE_NAME.search(name.name):
                    raise FormatError(
                        f"expected runs in the archive, found a nested archive {str(name)!r}; "
                        "unpack both and pass the folder that contains the runs",
                        path,
                    )
                if member.flag_bits & 1:
                    raise FormatError(
                        "expected an archive without a password, found an encrypted one",
                        path,
                    )
                target = folder / name
                if target.is_file():
                    raise FormatError(
                        f"expected distinct members in the archive, found {str(name)!r} twice", path
                    )
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as out:
                    while chunk := source.read(_CHUNK):
                        remaining -= len(chunk)
                        if remaining < 0:
                            raise size_limit_error(path, max_bytes)
                        out.write(chunk)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
        raise FormatError(f"damaged zip archive: {error}", path) from error
    return folder
