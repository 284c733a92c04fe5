"""`ir-metadata.yml`: who made a run, with which system and which resources.

In: the folder of a run (https://www.ir-metadata.org, also as written by TIRA). Out: team, system
and resources as text; whatever else the file says is left alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import FormatError
from builder.extras import import_optional
from builder.trec.bounded import read_bounded

NAMES = ("ir-metadata.yml", "ir-metadata.yaml", "ir_metadata.yml", "ir_metadata.yaml")
MAX_BYTES = 2**20
NEAR = 3
"""The run's folder and those above it in which the file is looked for."""
RESOURCES = ("resources", "platform")
SHOWN = 200
"""Characters shown of a field."""


@dataclass(frozen=True)
class RunMetadata:
    """What a metadata file says about a run.

    Args:
        path: The file.
        team: Team, or else the person.
        system: Tag or name of the system.
        resources: Hardware, software and measured consumption, as `key=value`, separated by `; `.
    """

    path: Path
    team: str | None
    system: str | None
    resources: str | None


def find_metadata(run: Path) -> RunMetadata | None:
    """Read the metadata file next to a run or in the nearest folder above; None without one.

    Raises:
        FormatError: the file is not a YAML mapping, or larger than 1 MiB.
        MissingExtraError: PyYAML is not installed.
    """
    for folder in list(run.absolute().parents)[:NEAR]:
        for name in NAMES:
            if (folder / name).is_file():
                return read_metadata(folder / name)
    return None


def read_metadata(path: Path) -> RunMetadata:
    """Read a metadata file; see `find_metadata`."""
    yaml = import_optional("yaml", "ir-metadata.yml", "evaluation")
    try:
        data = yaml.safe_load(read_bounded(path, MAX_BYTES).decode())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"expected YAML ({error})", path) from error
    if not isinstance(data, dict):
        raise FormatError("expected a YAML mapping, such as `actor:` with `team:`", path)
    actor = data.get("actor")
    actor = actor if isinstance(actor, dict) else {}
    resources = [pair for key in RESOURCES for pair in _pairs(data.get(key), "", 0)]
    return RunMetadata(
        path,
        _text(actor.get("team") or actor.get("name")),
        _text(data.get("tag") or data.get("system")),
        _text("; ".join(resources)),
    )


def _pairs(value: Any, key: str, depth: int) -> Iterator[str]:
    """Leaves of a mapping as `key.key=value`."""
    if isinstance(value, dict) and depth < 8:
        for name, part in value.items():
            yield from _pairs(part, f"{key}.{name}" if key else str(name), depth + 1)
    elif value is not None and key:
        yield f"{key}={value}"


def _text(value: object) -> str | None:
    return str(value)[:SHOWN] if value not in (None, "") else None
