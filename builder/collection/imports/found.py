"""Which files of a published release are what.

In: the folder of a release, however deep its files are nested. Out: the files of each snapshot.
Names are those of the layouts (see `export`), of the releases of 2023 and 2025, and of a folder
with the query and judgement files of `longeval-web` alone, plain, `.gz` or `.zst`.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from builder.collection.export.longeval_2023 import JUDGEMENTS
from builder.errors import UsageError

MONTH = r"\d{4}-(?:0[1-9]|1[0-2])(?:-\d{2})?"
PACKED = r"(?:\.gz|\.zst)?"
KNOWN_LABELS = {"publish": "2022-06", "a-short-july": "2022-07", "b-long-september": "2022-09"}
"""Folders of the release of 2023 that do not say their month."""
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
    """

    name: str
    queries: list[tuple[Path, str, str]] = field(default_factory=list)
    qrels: list[Path] = field(default_factory=list)
    documents: dict[str, list[Path]] = field(default_factory=dict)
    addresses: Path | None = None
    mapping: Path | None = None


def find_snapshots(root: Path, layout: str) -> list[ReleasedSnapshot]:
    """The snapshots of a release, in order of time.

    Args:
        root: Its folder, or one above it.
        layout: `longeval-2023` or `longeval-web`.

    Raises:
        UsageError: no snapshot with queries and judgements is there, or its month is not said.
    """
    if not root.is_dir():
        raise UsageError(f"{root}: expected the folder of a release")
    files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    found = _find_2023(root, files) if layout == "longeval-2023" else _find_web(root, files)
    snapshots = [found[name] for name in sorted(found) if found[name].queries or found[name].qrels]
    if not snapshots:
        expected = {
            "longeval-web": "queries/<YYYY-MM>_queries.txt and qrels/<YYYY-MM>_fr/*.txt",
            "longeval-2023": "French/Queries/*.tsv and French/Qrels/*.txt",
        }[layout]
        raise UsageError(f"{root}: no snapshot in layout {layout} here; expected {expected}")
    return snapshots


def _find_web(root: Path, files: list[Path]) -> dict[str, ReleasedSnapshot]:
    found: dict[str, ReleasedSnapshot] = {}
    judged: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        parts = path.relative_to(root).parts
        if match := re.fullmatch(rf"({MONTH})_queries\.txt{PACKED}", path.name):
            split = "test" if any("test" in part.lower() for part in parts[:-1]) else "train"
            snapshot = found.setdefault(match[1], ReleasedSnapshot(match[1]))
            snapshot.queries.append((path, _language(parts), split))
        elif match := re.fullmatch(rf"({MONTH})_qrels\.txt{PACKED}", path.name):
            judged.setdefault((match[1], "fr"), []).append(path)
        elif (home := _month_folder(parts[:-1])) and home[2] == "qrels":
            judged.setdefault(home[:2], []).append(path)
    for (name, language), paths in sorted(judged.items(), reverse=True):
        if language == "fr" or (name, "fr") not in judged:
            found.setdefault(name, ReleasedSnapshot(name)).qrels = _main_qrels(paths)
    for (name, language), paths in _web_documents(root, files).items():
        found.setdefault(name, ReleasedSnapshot(name)).documents[language] = paths
    for snapshot in found.values():
        snapshot.mapping = next((p for p in files if p.name == "collection_db.db"), None)
    return found


def _web_documents(root: Path, files: list[Path]) -> dict[tuple[str, str], list[Path]]:
    """Files of documents by month and language; TREC where there is JSON as well."""
    pages: dict[tuple[str, str, str], list[Path]] = {}
    for path in files:
        home = _month_folder(path.relative_to(root).parts[:-1])
        if home and home[2] != "qrels" and not NO_DOCUMENT.fullmatch(path.name):
            pages.setdefault(home, []).append(path)
    return {(name, language): paths for (name, language, _), paths in sorted(pages.items())}


def _month_folder(parts: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Month, language and kind (`qrels`, `json`, `trec`) of files below such a folder."""
    for place, part in enumerate(parts):
        match = re.fullmatch(rf"({MONTH})_(fr|en)", part)
        kind = parts[place - 1].lower() if place else ""
        if match and kind in ("qrels", "json", "trec"):
            return match[1], match[2], kind
    return None


def _main_qrels(paths: list[Path]) -> list[Path]:
    processed = [path for path in paths if path.name.startswith("qrels_processed")]
    return processed or paths


def _language(parts: tuple[str, ...]) -> str:
    """The language that the innermost folder named after one says; French without."""
    return next((LANGUAGES[p.lower()] for p in reversed(parts) if p.lower() in LANGUAGES), "fr")


def _find_2023(root: Path, files: list[Path]) -> dict[str, ReleasedSnapshot]:
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
        _add_2023(snapshot, path, home)
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
    try:
        described = orjson.loads((home / "etc" / "metadata.json").read_text("utf-8"))
        name = str(described.get("snapshot") or described["timestamp"])
    except (OSError, ValueError, KeyError, AttributeError):
        match = re.search(MONTH, label)
        name = match[0] if match else KNOWN_LABELS.get(label.lower(), "")
    if not re.fullmatch(MONTH, name):
        raise UsageError(
            f"{home}: which month is this? Rename {label!r} so that it holds one such as 2022-06, "
            "or write it to etc/metadata.json as snapshot"
        )
    return name


def _add_2023(snapshot: ReleasedSnapshot, path: Path, home: Path) -> None:
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
