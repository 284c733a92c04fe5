"""Which files of a release in the layout `longeval-2023` are what.

Of 2023 and 2024: a folder for each snapshot, with `French` and `English` in it, each with
`Documents`, `Queries` and perhaps `Qrels`. Judgements of tests may lie in a folder of their own.
"""

import re
from pathlib import Path

from builder.collection.export.longeval_2023 import JUDGEMENTS
from builder.collection.imports.files import (
    LANGUAGES,
    NO_DOCUMENT,
    PACKED,
    ReleasedSnapshot,
    month_in,
    month_said,
    unknown_month,
)

EXPECTED = "French/Queries/*.tsv and French/Qrels/*.txt"
KNOWN_LABELS = {"publish": "2022-06", "a-short-july": "2022-07", "b-long-september": "2022-09"}
"""Folders of the release of 2023 that do not say their month."""


def find_2023(root: Path, files: list[Path]) -> dict[str, ReleasedSnapshot]:
    """The snapshots of a release by name.

    Args:
        root: Its folder.
        files: What lies in it, in order.

    Raises:
        UsageError: nothing says the month of a snapshot.
    """
    found: dict[str, ReleasedSnapshot] = {}
    homes: dict[Path, str] = {}
    for path in files:
        home = next((p for p in path.parents if p.name.lower() in LANGUAGES), None)
        if home is None or not path.is_relative_to(root) or home == root.parent:
            continue
        if home.parent not in homes:
            homes[home.parent] = _month_of(home)
        name = homes[home.parent]
        snapshot = found.setdefault(name, ReleasedSnapshot(name))
        _add(snapshot, path, home)
    labels = {home.name.lower(): name for home, name in homes.items()}
    for path in files:
        if path.parent.name == JUDGEMENTS:
            label = path.name.partition(".")[0].lower()
            month = labels.get("publish" if label == "heldout-test" else label)
            if month is not None:
                found[month].qrels.append(path)
    for snapshot in found.values():
        _drop_unions(snapshot)
    return found


def _month_of(home: Path) -> str:
    """The snapshot of a language's folder.

    Raises:
        UsageError: nothing says it.
    """
    label = home.parent.name
    name = month_said(home / "etc" / "metadata.json")
    if name is None:
        name = month_in(label) or KNOWN_LABELS.get(label.lower())
    if not name:
        raise unknown_month(home, label, "2022-06", "etc/metadata.json")
    return name


def _add(snapshot: ReleasedSnapshot, path: Path, home: Path) -> None:
    language = LANGUAGES[home.name.lower()]
    parts = [part.lower() for part in path.relative_to(home).parts]
    if parts[0] == "queries" and re.search(rf"\.tsv{PACKED}$", parts[-1]):
        stem = parts[-1].partition(".")[0]
        split = stem if stem in ("train", "heldout") else "test"
        snapshot.queries.append((path, language, split))
    elif parts[0] == "qrels":
        snapshot.qrels.append(path)
    elif parts[-1].partition(".")[0] == "urls":
        snapshot.addresses = path
    elif parts[0] == "documents" and not NO_DOCUMENT.fullmatch(parts[-1]):
        is_json = "json" in parts[:-1]
        held = snapshot.documents.get(language, [])
        if not is_json and any("/json/" in p.as_posix().lower() for p in held):
            held = []
        if not is_json or not any("/json/" not in p.as_posix().lower() for p in held):
            snapshot.documents[language] = [*held, path]


def _drop_unions(snapshot: ReleasedSnapshot) -> None:
    """Leave out the files that repeat what the files of train and held-out queries hold."""
    splits = {split for _, _, split in snapshot.queries}
    if splits & {"train", "heldout"}:
        snapshot.queries = [q for q in snapshot.queries if q[2] in ("train", "heldout")]
    specific = [p for p in snapshot.qrels if p.name.partition(".")[0].lower() != "qrels"]
    snapshot.qrels = specific or snapshot.qrels
