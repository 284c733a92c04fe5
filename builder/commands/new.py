"""Write a commented definition with every parameter: `longeval new`."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from builder.errors import UsageError
from builder.parameters import Parameters, Section
from builder.text.names import NAME_PATTERN

WORKFLOW = "workflow.toml"
TOPICS = "topics.tsv"

_HEAD = """\
# What a collection is made from. Build it with:  longeval build {file}
# Paths are relative to this file; a folder or a glob stands for its files.
# Every parameter is listed with its default; remove the # to change it.

[collection]
name = "{name}"
version = "0.1.0"        # 0.x is a draft that a build may replace; 1.0.0 never changes
topics = "{topics}"
licence = "not stated"
"""
_SNAPSHOT = """
[[snapshots]]
name = "{name}"
start = {start}
end = {end}         # the day after the last one
log = ["logs/{name}*"]      # JSON lines, Parquet, CSV, TSV, Yandex; plain, .gz or .zst
crawl = ["crawls/{name}*"]  # JSON lines, Parquet or WARC
"""
_TOPICS = """\
topic_id\tlabel\tlanguage\taliases\tsource
eau\teau\tfr\t\tan example: replace it by your own topics
"""


def new(
    folder: Path | str, name: str, snapshots: Sequence[str], *, translate: bool = True
) -> tuple[Path, ...]:
    """Write a definition, a topic table and empty folders for logs and crawls.

    Args:
        folder: Output folder; created if needed.
        name: Name of the collection.
        snapshots: Months such as `2022-06`, in chronological order.
        translate: Whether to translate with the embedded model.

    Returns:
        The files that were written.

    Raises:
        UsageError: a file already exists, or a name is invalid.
    """
    home = Path(folder)
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"--name: expected lower-case letters, digits, . _ -, found {name!r}")
    if not snapshots:
        raise UsageError("--snapshot: at least one month such as 2022-06 is needed")
    intervals = [_interval(snapshot) for snapshot in snapshots]
    if any(a >= b for a, b in pairwise(snapshots)):
        raise UsageError(f"--snapshot: expected months in order of time, found {list(snapshots)}")
    written = {
        home / WORKFLOW: _definition(home / WORKFLOW, name, snapshots, intervals, translate),
        home / TOPICS: _TOPICS,
    }
    for path in written:
        if path.exists():
            raise UsageError(f"{path} exists; nothing was written")
    try:
        for part in ("logs", "crawls"):
            (home / part).mkdir(parents=True, exist_ok=True)
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{error.filename or home}: cannot be written ({error.strerror}); give a folder that "
            "is yours, or a new one"
        ) from None
    return tuple(written)


def name_for(folder: Path) -> str:
    """Collection name derived from a folder name: `My Data` gives `my-data`."""
    plain = unicodedata.normalize("NFKD", folder.resolve().name.lower())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("-._")[:64] or "collection"


def _interval(snapshot: str) -> tuple[date, date]:
    try:
        start = date.fromisoformat(f"{snapshot}-01")
        end = date(start.year + start.month // 12, start.month % 12 + 1, 1)
    except ValueError:
        raise UsageError(
            f"--snapshot: expected a month such as 2022-06, found {snapshot!r}"
        ) from None
    return start, end


def _definition(
    file: Path,
    name: str,
    snapshots: Sequence[str],
    intervals: Sequence[tuple[date, date]],
    translate: bool,
) -> str:
    text = _HEAD.format(file=file, name=name, topics=TOPICS)
    for snapshot, (start, end) in zip(snapshots, intervals, strict=True):
        text += _SNAPSHOT.format(name=snapshot, start=start, end=end)
    for section, field in Parameters.model_fields.items():
        kind: Any = field.annotation
        summary = (kind.__doc__ or "").partition(": ")[2].strip()
        text += f"\n[{section}]  # {summary}\n"
        given = {"model": "embedded"} if section == "translate" and translate else {}
        text += "".join(_keys(kind, "", given))
    return text


def _keys(section: type[Section], prefix: str, given: dict[str, Any]) -> Iterator[str]:
    """The keys of a section as TOML comments: description, then key and default."""
    for name, field in section.model_fields.items():
        if isinstance(field.default, Section):
            yield from _keys(type(field.default), f"{prefix}{name}.", {})
        elif name in given:
            yield f"# {field.description or name}\n{prefix}{name} = {as_toml(given[name])}\n"
        elif field.default is None or field.is_required():
            yield f"# {field.description or name}\n# {prefix}{name} =\n"
        else:
            yield f"# {field.description or name}\n# {prefix}{name} = {as_toml(field.default)}\n"


def as_toml(value: Any) -> str:
    """A value in TOML syntax."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    if isinstance(value, int | float):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
