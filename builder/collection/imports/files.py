"""The files of a released snapshot, and what names of files and folders say."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from builder.errors import UsageError

MONTH = r"\d{4}-(?:0[1-9]|1[0-2])(?:-\d{2})?"
"""A month or a day as snapshots are named."""
WRITTEN_MONTH = r"(?<!\d)\d{4}[-_](?:0[1-9]|1[0-2])(?:[-_]\d{2})?(?!\d)"
"""A month or a day as folders of releases are named: `2022-06`, `2023_01`."""
PACKED = r"(?:\.gz|\.zst)?"
LANGUAGES = {"french": "fr", "english": "en"}
NO_DOCUMENT = re.compile(r"(metadata\.json|docstore.*|.*\.pklz4|\..*)$")


@dataclass
class ReleasedSnapshot:
    """The files of one snapshot of a release.

    Args:
        name: Snapshot name such as `2022-06`.
        queries: Query files: path, language, split.
        qrels: Judgement files.
        documents: Files of documents by language.
        addresses: File of document ids and addresses.
        mapping: SQLite database of document numbers and addresses.
        texts: Texts of query ids of the whole release: a SQLite database, or a file of lines.
    """

    name: str
    queries: list[tuple[Path, str, str]] = field(default_factory=list)
    qrels: list[Path] = field(default_factory=list)
    documents: dict[str, list[Path]] = field(default_factory=dict)
    addresses: Path | None = None
    mapping: Path | None = None
    texts: Path | None = None

    @property
    def paths(self) -> list[Path]:
        """Every file, in order, once."""
        found = {path for path, _, _ in self.queries} | {*self.qrels}
        found.update(path for paths in self.documents.values() for path in paths)
        found.update(
            path for path in (self.addresses, self.mapping, self.texts) if path is not None
        )
        return sorted(found)


def unknown_month(home: Path, label: str, example: str, metadata: str) -> UsageError:
    """What is said where nothing tells the month of a folder."""
    return UsageError(
        f"{home}: which month is this? Rename {label!r} so that it holds one such as {example}, "
        f"or write it to {metadata} as snapshot"
    )


def month_in(text: str) -> str | None:
    """The last month or day that a name holds, as snapshots are named."""
    found = re.findall(WRITTEN_MONTH, text)
    return found[-1].replace("_", "-") if found else None


def month_said(metadata: Path) -> str | None:
    """The snapshot that a file of metadata names.

    Returns:
        None where there is no such file, or it names none; empty where what it names is none.
    """
    named = [said_in(metadata, key) for key in ("snapshot", "timestamp")]
    said = [str(name) for name in named if name]
    return next((name for name in said if re.fullmatch(MONTH, name)), "" if said else None)


def name_of(path: Path, root: Path) -> str:
    """Name of a file in rejects and manifests: its path relative to the release.

    A file of a prior dataset may lie outside: `../example/documents/a.jsonl`.
    """
    return Path(os.path.relpath(path, root)).as_posix()


def said_in(metadata: Path, key: str) -> object:
    """What a file of metadata says under a key; None where it says nothing, or is none."""
    try:
        described = orjson.loads(metadata.read_bytes())
        return described.get(key)
    except (OSError, ValueError, AttributeError):
        return None
