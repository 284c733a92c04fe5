"""Creates a commented definition file that lists every parameter: `longeval new`."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from builder.definition.model import CollectionDefinition
from builder.errors import UsageError
from builder.parameters import Section, StageParameters
from builder.text.names import ENGLISH, FRENCH, NAME_PATTERN

WORKFLOW = "workflow.toml"
TOPICS = "topics.tsv"

_HEAD = """\
# Definition of a test collection. Build it with:  longeval build {file}
# Paths are relative to this file; folders and globs are expanded to files.
# Every parameter is listed with its default; uncomment a line to change it.

[collection]
"""
_SNAPSHOT = """
[[snapshots]]
name = "{name}"
start = {start}  # midnight in UTC; in another time zone: {start}T00:00:00+02:00
end = {end}    # exclusive
log = ["logs/{name}*"]      # JSON lines, Parquet, CSV, TSV, Yandex; plain, .gz or .zst
crawl = ["crawls/{name}*"]  # JSON lines, Parquet, CSV, TSV or WARC
"""
_TOPICS = """\
topic_id\tlabel\tlanguage\taliases\tsource
eau\teau\tfr\t\tan example; replace it with your own topics
"""


def create_definition(
    folder: Path | str, name: str, snapshots: Sequence[str], *, translate: bool = True
) -> tuple[Path, ...]:
    """Create a definition file, a topic table and empty folders for logs and crawls.

    Args:
        folder: Output folder; created if it does not exist.
        name: Name of the collection.
        snapshots: Months such as `2022-06`, in chronological order.
        translate: Whether to enable translation with the bundled model.

    Returns:
        Paths of the created files.

    Raises:
        UsageError: A file already exists or cannot be written, or an argument is invalid.
    """
    home = Path(folder)
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(
            f"--name: expected lowercase letters, digits, '.', '_' and '-', found {name!r}"
        )
    if not snapshots:
        raise UsageError("--snapshot: expected at least one month such as 2022-06")
    intervals = [_month_interval(snapshot) for snapshot in snapshots]
    if any(a >= b for a, b in pairwise(snapshots)):
        raise UsageError(
            f"--snapshot: expected months in chronological order, found {', '.join(snapshots)}"
        )
    texts = {
        home / WORKFLOW: _definition_text(home / WORKFLOW, name, snapshots, intervals, translate),
        home / TOPICS: _TOPICS,
    }
    for path in texts:
        if path.exists():
            raise UsageError(f"{path} already exists; choose another folder")
    try:
        for subfolder in ("logs", "crawls"):
            (home / subfolder).mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{error.filename or home}: cannot be written ({error.strerror}); "
            "choose a writable folder"
        ) from None
    return tuple(texts)


def default_collection_name(folder: Path) -> str:
    """Return a valid collection name derived from a folder name: `My Data` becomes `my-data`."""
    plain = unicodedata.normalize("NFKD", folder.resolve().name.lower())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("-._")[:64] or "collection"


def _month_interval(month: str) -> tuple[date, date]:
    try:
        start = date.fromisoformat(f"{month}-01")
        end = date(start.year + start.month // 12, start.month % 12 + 1, 1)
    except ValueError:
        raise UsageError(f"--snapshot: expected a month such as 2022-06, found {month!r}") from None
    return start, end


def _definition_text(
    file: Path,
    name: str,
    snapshots: Sequence[str],
    intervals: Sequence[tuple[date, date]],
    translate: bool,
) -> str:
    text = _HEAD.format(file=file)
    collection = {
        "name": name,
        "version": "0.1.0",
        "languages": (FRENCH, ENGLISH) if translate else (FRENCH,),
        "topics": TOPICS,
    }
    text += "".join(_toml_lines(CollectionDefinition, "", collection))
    for snapshot, (start, end) in zip(snapshots, intervals, strict=True):
        text += _SNAPSHOT.format(name=snapshot, start=start, end=end)
    for section, field in StageParameters.model_fields.items():
        kind: Any = field.annotation
        summary = (kind.__doc__ or "").partition(": ")[2].strip()
        text += f"\n[{section}]  # {summary}\n"
        text += "".join(_toml_lines(kind, "", {}))
    return text


def _toml_lines(section: type[Section], prefix: str, values: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of a section as TOML lines, each below a comment with its description.

    Keys in `values` are set; all others are commented out and show their default.
    """
    for name, field in section.model_fields.items():
        if isinstance(field.default, Section):
            yield from _toml_lines(type(field.default), f"{prefix}{name}.", {})
        elif name in values:
            yield f"# {field.description or name}\n{prefix}{name} = {to_toml(values[name])}\n"
        elif field.default is None or field.is_required():
            yield f"# {field.description or name}\n# {prefix}{name} =\n"
        else:
            yield f"# {field.description or name}\n# {prefix}{name} = {to_toml(field.default)}\n"


def to_toml(value: Any) -> str:
    """Format a value in TOML syntax."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(to_toml(item) for item in value) + "]"
    if isinstance(value, int | float):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
