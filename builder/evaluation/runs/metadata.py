"""Reads `ir-metadata.yml`: team, system and resources of a run.

Supports files in the format of https://www.ir-metadata.org and of TIRA; other fields are ignored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.errors import FormatError
from builder.extras import import_optional_module
from builder.trec.bounded import read_decompressed_bytes

NAMES = ("ir-metadata.yml", "ir-metadata.yaml", "ir_metadata.yml", "ir_metadata.yaml")
MAX_BYTES = 2**20
MAX_FOLDERS = 3
"""Number of folders searched for metadata, starting with the folder of the run."""
RESOURCES = ("resources", "platform")
MAX_CHARACTERS = 200
"""Maximum length of a field in characters; longer values are truncated."""


@dataclass(frozen=True)
class RunMetadata:
    """Metadata of a run.

    Args:
        path: Path of the metadata file.
        team: Name of the team or, if missing, of the person.
        system: Tag or name of the system.
        resources: Hardware, software and measured consumption as `key=value`, separated by `; `.
    """

    path: Path
    team: str | None
    system: str | None
    resources: str | None


def read_nearest_metadata(run: Path) -> RunMetadata | None:
    """Read the metadata file closest to a run; return None if there is none.

    Searches the folder of the run and the two folders above it.

    Raises:
        FormatError: The file is not a YAML mapping or is larger than 1 MiB.
        MissingExtraError: PyYAML is not installed.
    """
    for folder in list(run.absolute().parents)[:MAX_FOLDERS]:
        for name in NAMES:
            if (folder / name).is_file():
                return read_metadata(folder / name)
    return None


def read_metadata(path: Path) -> RunMetadata:
    """Read a metadata file in the format of ir-metadata.org."""
    yaml = import_optional_module("yaml", "ir-metadata.yml", "evaluation")
    try:
        data = yaml.safe_load(read_decompressed_bytes(path, MAX_BYTES).decode())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"invalid YAML: {error}", path) from error
    if not isinstance(data, dict):
        raise FormatError(
            f"expected a YAML mapping with a key such as `actor`, found {type(data).__name__}",
            path,
        )
    actor = data.get("actor")
    actor = actor if isinstance(actor, dict) else {}
    resources = [pair for key in RESOURCES for pair in _flatten_mapping(data.get(key), "", 0)]
    return RunMetadata(
        path,
        _truncate_field(actor.get("team") or actor.get("name")),
        _truncate_field(data.get("tag") or data.get("system")),
        _truncate_field("; ".join(resources)),
    )


def _flatten_mapping(node: Any, key_path: str, depth: int) -> Iterator[str]:
    """Yield the leaves of a nested mapping as strings such as `outer.inner=value`."""
    if isinstance(node, dict) and depth < 8:
        for key, child in node.items():
            path = f"{key_path}.{key}" if key_path else str(key)
            yield from _flatten_mapping(child, path, depth + 1)
    elif node is not None and key_path:
        yield f"{key_path}={node}"


def _truncate_field(field: object) -> str | None:
    return str(field)[:MAX_CHARACTERS] if field not in (None, "") else None
