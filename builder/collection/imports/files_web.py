"""Which files of a release in the layout `longeval-web` are what.

Queries in `<month>_queries.txt`; judgements in `<month>_qrels.txt`, `<month>_qrels_processed.txt`,
`<month>_fr_qrels_processed.txt`, or below `qrels/<month>_fr/`; documents below `Trec/<month>_fr/`
or `Json/<month>_fr/`; addresses in `collection_db.db`, texts of queries without a month in
`queries_db.db` or `queries.txt`; however deep they are nested.
"""

import re
from pathlib import Path

from builder.collection.imports.files import (
    LANGUAGES,
    MONTH,
    NO_DOCUMENT,
    PACKED,
    ReleasedSnapshot,
    month_said,
    name_of,
)

EXPECTED = "queries/<YYYY-MM>_queries.txt and qrels/<YYYY-MM>_fr/*.txt"
MAPPING = "collection_db.db"
TEXTS = ("queries_db.db", "queries.txt")
"""Where the texts of all query ids of a release are; the first that there is counts."""
LABEL = r"[\w.-]+?"
"""What a snapshot may be called: its month, or a name whose metadata say the month."""
LISTED = re.compile(rf"({LABEL})_queries\.txt{PACKED}")
JUDGED = re.compile(rf"({MONTH})_(?:(fr|en)_)?qrels(?:_processed)?\.txt{PACKED}")
HOME = re.compile(rf"({LABEL})_(fr|en)")
KINDS = ("qrels", "json", "trec")


def find_web(root: Path, files: list[Path]) -> dict[str, ReleasedSnapshot]:
    """The snapshots of a release by name.

    Args:
        root: Its folder.
        files: What lies in it, in order.
    """
    found: dict[str, ReleasedSnapshot] = {}
    judged: dict[tuple[str, str], list[Path]] = {}
    months = _months(root, files)
    for path in files:
        parts = Path(name_of(path, root)).parts
        listed = LISTED.fullmatch(path.name)
        if listed and (month := months.get(listed[1])):
            split = "test" if any("test" in part.lower() for part in parts[:-1]) else "train"
            snapshot = found.setdefault(month, ReleasedSnapshot(month))
            snapshot.queries.append((path, _language(parts), split))
        elif match := JUDGED.fullmatch(path.name):
            judged.setdefault((match[1], match[2] or "fr"), []).append(path)
        elif (home := _home(parts[:-1])) and home[2] == "qrels" and home[0] in months:
            judged.setdefault((months[home[0]], home[1]), []).append(path)
    for (name, language), paths in sorted(judged.items(), reverse=True):
        if language == "fr" or (name, "fr") not in judged:
            found.setdefault(name, ReleasedSnapshot(name)).qrels = _main_qrels(paths)
    for (name, language), paths in _documents(root, files, months).items():
        found.setdefault(name, ReleasedSnapshot(name)).documents[language] = paths
    for snapshot in found.values():
        snapshot.mapping = next((p for p in files if p.name == MAPPING), None)
        everywhere = (p for name in TEXTS for p in files if p.name == name)
        snapshot.texts = next(everywhere, None)
    return found


def _months(root: Path, files: list[Path]) -> dict[str, str]:
    """The month of each label of files and folders: the label itself, or what its metadata say."""
    months: dict[str, str] = {}
    for path in files:
        home = _home(Path(name_of(path, root)).parts[:-1])
        listed = LISTED.fullmatch(path.name)
        labels = [home[0]] if home else [listed[1]] if listed else []
        months |= {label: label for label in labels if re.fullmatch(MONTH, label)}
        if home and path.name == "metadata.json" and home[0] not in months:
            said = month_said(path)
            months |= {home[0]: said} if said else {}
    return months


def _documents(
    root: Path, files: list[Path], months: dict[str, str]
) -> dict[tuple[str, str], list[Path]]:
    """Files of documents by month and language; TREC where there is JSON as well."""
    pages: dict[tuple[str, str, str], list[Path]] = {}
    for path in files:
        home = _home(Path(name_of(path, root)).parts[:-1])
        is_document = not any(map(NO_DOCUMENT.fullmatch, (path.name, path.parent.name)))
        if home and home[2] != "qrels" and home[0] in months and is_document:
            pages.setdefault((months[home[0]], *home[1:]), []).append(path)
    return {(name, language): paths for (name, language, _), paths in sorted(pages.items())}


def _home(parts: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Label, language and kind (of `KINDS`) of files below such a folder."""
    for place, part in enumerate(parts):
        match = HOME.fullmatch(part)
        kind = parts[place - 1].lower() if place else ""
        if match and kind in KINDS:
            return match[1], match[2], kind
    return None


def _main_qrels(paths: list[Path]) -> list[Path]:
    """Of several editions the processed one, and that which is named without a language."""
    processed = [path for path in paths if "qrels_processed" in path.name] or paths
    return [path for path in processed if not re.search("_(fr|en)_qrels", path.name)] or processed


def _language(parts: tuple[str, ...]) -> str:
    """The language that the innermost folder named after one says; French without."""
    return next((LANGUAGES[p.lower()] for p in reversed(parts) if p.lower() in LANGUAGES), "fr")
