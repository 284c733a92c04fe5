"""Which files of a release in the layout `longeval-sci` are what.

A folder of `documents/*.jsonl`, with `queries.txt` and `qrels.txt` beside it, is a snapshot; files
whose names hold a month (`queries_2024-11_test.txt`, `qrels-longeval-sci-2025-01`) belong to it
wherever they lie.
"""

import re
from pathlib import Path

from builder.collection.imports.files import (
    NO_DOCUMENT,
    ReleasedSnapshot,
    month_in,
    month_said,
    unknown_month,
)

EXPECTED = "documents/*.jsonl, queries.txt and qrels.txt"
KNOWN_LABELS = {"longeval_sci_training_2025": "2024-11", "longeval_sci_testing_2025": "2025-01"}
"""How folders of the release of 2025 begin that do not say their month."""
DOCUMENTS = "documents"
LANGUAGE = "en"


def find_sci(root: Path, files: list[Path]) -> dict[str, ReleasedSnapshot]:
    """The snapshots of a release by name.

    Args:
        root: Its folder.
        files: What lies in it, in order.

    Raises:
        UsageError: nothing says the month of a file.
    """
    found: dict[str, ReleasedSnapshot] = {}
    for path in files:
        kind = _kind(path)
        if kind is None:
            continue
        name = _month_of(path, root)
        snapshot = found.setdefault(name, ReleasedSnapshot(name))
        if kind == "queries":
            split = "test" if "test" in path.name.lower() else "train"
            snapshot.queries.append((path, LANGUAGE, split))
        elif kind == "qrels":
            snapshot.qrels.append(path)
        else:
            snapshot.documents.setdefault(LANGUAGE, []).append(path)
    for snapshot in found.values():
        _name_splits(snapshot)
    return found


def _kind(path: Path) -> str | None:
    """What a file is, as its name and folder say."""
    if path.parent.name == DOCUMENTS:
        return None if NO_DOCUMENT.fullmatch(path.name) else DOCUMENTS
    match = re.match(r"(queries|qrels)(?![a-z])", path.name.lower())
    return match[1] if match else None


def _month_of(path: Path, root: Path) -> str:
    """The snapshot of a file: by its name, by what lies beside it, by the folders above it.

    Raises:
        UsageError: nothing says it.
    """
    home = path.parent.parent if path.parent.name == DOCUMENTS else path.parent
    name = None if path.parent.name == DOCUMENTS else month_in(path.name)
    name = name or month_said(home / "metadata.json")
    if name is None:
        folders = (home, *home.relative_to(root).parents)
        name = next(filter(None, (_month_of_folder(folder.name) for folder in folders)), None)
    if not name:
        raise unknown_month(home, home.name, "2024-11", "metadata.json there")
    return name


def _month_of_folder(label: str) -> str | None:
    known = (month for start, month in KNOWN_LABELS.items() if label.lower().startswith(start))
    return month_in(label) or next(known, None)


def _name_splits(snapshot: ReleasedSnapshot) -> None:
    """Test queries of a snapshot that also trains are held out of it."""
    if {split for _, _, split in snapshot.queries} == {"test", "train"}:
        renamed = {"test": "heldout", "train": "train"}
        snapshot.queries = [(path, of, renamed[split]) for path, of, split in snapshot.queries]
