"""What a manifest claims, checked before any of it is believed.

Names of snapshots and files become paths: a name that would lead out of the version is refused.
"""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from builder.errors import FormatError
from builder.text.names import LANGUAGE_PATTERN
from schemas import SNAPSHOT_PATTERN


def _inside(name: str) -> str:
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in name.split("/"):
        raise ValueError(f"expected the name of a file within the version, found {name!r}")
    return name


FileName = Annotated[str, AfterValidator(_inside)]


class _Claim(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Collected(_Claim):
    languages: list[Annotated[str, Field(pattern=LANGUAGE_PATTERN)]] = []


class _Snapshot(_Claim):
    name: str = Field(pattern=SNAPSHOT_PATTERN)
    start: str
    end: str


class _Imported(_Claim):
    layout: str
    documents: bool = True


class _Definition(_Claim):
    collection: _Collected = _Collected()
    snapshots: list[_Snapshot]
    parameters: dict[str, dict[str, Any]]
    imported: _Imported | None = None


class _File(_Claim):
    sha256: str
    bytes: int = 0


class _Table(_Claim):
    rows: int
    content: str = ""


class _Unit(_Claim):
    parameters: Any = None


class _Manifest(_Claim):
    name: str
    version: str
    signature: str
    definition: _Definition
    files: dict[FileName, _File]
    tables: dict[FileName, _Table]
    units: dict[str, _Unit]
    tools: dict[str, str]


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest as it is written, once it is what a manifest is.

    Raises:
        FormatError: it is not readable JSON, or a key is missing, has another type, or names what
            is outside the version.
    """
    try:
        manifest: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"not a readable manifest: {error}", path) from None
    try:
        _Manifest.model_validate(manifest)
    except (ValidationError, RecursionError) as error:
        raise FormatError(f"not the manifest of a collection: {_first(error)}", path) from None
    return dict(manifest)


def _first(error: ValidationError | RecursionError) -> str:
    """The first thing that is wrong."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg'].removeprefix('Value error, ')}"
