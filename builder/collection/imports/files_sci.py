"""Which files of a release in the layout `longeval-sci` are what.

A folder of `documents/*.jsonl`, with `queries.txt` and `qrels.txt` beside it, is a snapshot; files
whose names hold a month (`queries_2024-11_test.txt`, `qrels-longeval-sci-2025-01`) belong to it
wherever they lie. In the release of 2026 snapshots have numbers, one file has the queries that
test in all of them, judgements have several editions (`raw`, `dctr`), and papers may be there
twice: with their full texts, which are read then, and without.
"""

import re
from pathlib import Path

from builder.collection.imports.files import (
    NO_DOCUMENT,
    ReleasedSnapshot,
    month_in,
    month_said,
    name_of,
    unknown_month,
)

EXPECTED = "documents/*.jsonl, queries.txt and qrels.txt"
KNOWN_LABELS = {
    "longeval_sci_training_2025": "2024-11",
    "longeval_sci_testing_2025": "2025-01",
    "longeval_sci_training_2026": "2025-03",
    "longeval_sci_test-06-08_2026": "2025-06",
    "longeval_sci_06_08_2026": "2025-06",
    "longeval_sci_test-09-11_2026": "2025-09",
    "longeval_sci_09_11_2026": "2025-09",
}
"""How folders of releases begin that do not say their month."""
YEAR = re.compile(r"longeval_sci_[\w-]*?(20\d\d)")
"""What says the year of a release."""
NUMBERED = {"1": "2025-03", "train": "2025-03", "2": "2025-06", "3": "2025-09"}
"""The snapshots of 2026: three months each, which begin with these."""
ADHOC = "longeval_adhoc-"
BEFORE = rf"(?:task1_)?(?:{ADHOC})?"
NUMBER = re.compile(BEFORE + r"(?:queries|qrels)-snapshot-(\d|train|test)\b")
FOLDER = re.compile(r"snapshot[-_]?(\d)")
KIND = re.compile(BEFORE + r"(queries|qrels)(?![a-z])")
EDITIONS = ("dctr", "raw", "llm")
"""Of judgements: graded by click-through, every click, by a language model."""
JUDGED = re.compile(rf"-({'|'.join(EDITIONS)})(?=\.|$)")
DOCUMENTS, FULL_TEXT = "documents", "fulltext"
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
    numbered = NUMBERED if _is_of_2026(root, files) else {}
    everywhere: list[Path] = []
    for path in files:
        kind = _kind(path)
        if kind is None:
            continue
        name = _month_of(path, root, numbered)
        if name is None:
            everywhere.append(path)
            continue
        snapshot = found.setdefault(name, ReleasedSnapshot(name))
        if kind == "queries":
            split = "test" if "test" in path.name.lower() else "train"
            snapshot.queries.append((path, LANGUAGE, split))
        elif kind == "qrels":
            snapshot.qrels.append(path)
        else:
            snapshot.documents.setdefault(LANGUAGE, []).append(path)
    for snapshot in found.values():
        snapshot.queries += [(path, LANGUAGE, "test") for path in everywhere]
        snapshot.qrels = _one_edition(snapshot.qrels)
        snapshot.documents = {k: _fullest(p, root) for k, p in snapshot.documents.items()}
        _name_splits(snapshot)
    return found


def _is_of_2026(root: Path, files: list[Path]) -> bool:
    """Whether the latest release is that of 2026, as folders of papers or other names say."""
    names = [root.resolve().name, *(name_of(path, root) for path in files)]
    years = {year for name in names for year in YEAR.findall(name)}
    return max(years) == "2026" if years else any(ADHOC in path.name for path in files)


def _kind(path: Path) -> str | None:
    """What a file is, as its name and folder say."""
    match = KIND.match(path.name.lower())
    if match or path.parent.name != DOCUMENTS:
        return match[1] if match else None
    return None if NO_DOCUMENT.fullmatch(path.name) else DOCUMENTS


def _month_of(path: Path, root: Path, numbered: dict[str, str]) -> str | None:
    """The snapshot of a file: by its name, by what lies beside it, by the folders above it.

    Returns:
        None where it is of all snapshots.

    Raises:
        UsageError: nothing says it.
    """
    is_document = _kind(path) == DOCUMENTS
    home = path.parent.parent if is_document else path.parent
    number = None if is_document else NUMBER.match(path.name.lower())
    name = None if is_document else month_in(path.name)
    if name is None and number and numbered:
        if number[1] == "test":
            return None
        name = numbered.get(number[1])
    name = name or month_said(home / "metadata.json")
    if name is None:
        above = home.relative_to(root).parents if home.is_relative_to(root) else ()
        folders = (home, *above)
        named = (_month_of_folder(folder.name, numbered) for folder in folders)
        name = next(filter(None, named), None)
    if not name:
        raise unknown_month(home, home.name, "2024-11", "metadata.json there")
    return name


def _month_of_folder(label: str, numbered: dict[str, str]) -> str | None:
    known = (month for start, month in KNOWN_LABELS.items() if label.lower().startswith(start))
    number = FOLDER.fullmatch(label.lower())
    return month_in(label) or next(known, None) or (numbered.get(number[1]) if number else None)


def edition_of(path: Path) -> str | None:
    """Which edition of judgements a file is; None where it is none, or there is only one."""
    found = JUDGED.search(path.name.lower()) if _kind(path) == "qrels" else None
    return found[1] if found else None


def _one_edition(paths: list[Path]) -> list[Path]:
    """Of files of judgements those of the first of `EDITIONS` that there is; others are of none."""
    there = {edition_of(path) for path in paths}
    wanted = next((edition for edition in EDITIONS if edition in there), None)
    return [path for path in paths if edition_of(path) in (None, wanted)]


def _fullest(paths: list[Path], root: Path) -> list[Path]:
    """Files of papers with their full texts, where they are there with and without them."""
    full = [path for path in paths if FULL_TEXT in name_of(path, root).lower()]
    return full or paths


def _name_splits(snapshot: ReleasedSnapshot) -> None:
    """Test queries of a snapshot that also trains are held out of it."""
    if {split for _, _, split in snapshot.queries} == {"test", "train"}:
        renamed = {"test": "heldout", "train": "train"}
        snapshot.queries = [(path, of, renamed[split]) for path, of, split in snapshot.queries]
