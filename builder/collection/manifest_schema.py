"""Reads and validates `manifest.json`.

Names of snapshots and files are used as paths, so a name that points outside the version folder is
rejected.
"""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from builder.errors import FormatError
from builder.io.git import describe_checkout_fault
from builder.text.names import LANGUAGE_PATTERN
from schemas import SNAPSHOT_PATTERN


def _validate_relative_path(name: str) -> str:
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in name.split("/"):
        raise ValueError(f"expected a path inside the version folder, found {name!r}")
    return name


RelativePath = Annotated[str, AfterValidator(_validate_relative_path)]


class _ManifestModel(BaseModel):
    model_config = ConfigDict(extra="allow")


class _CollectionModel(_ManifestModel):
    languages: list[Annotated[str, Field(pattern=LANGUAGE_PATTERN)]] = []


class _SnapshotModel(_ManifestModel):
    name: str = Field(pattern=SNAPSHOT_PATTERN)
    start: str
    end: str
    number: int | None = None


class _ImportModel(_ManifestModel):
    layout: str
    documents: bool = True


class _DefinitionModel(_ManifestModel):
    collection: _CollectionModel = _CollectionModel()
    snapshots: list[_SnapshotModel]
    parameters: dict[str, dict[str, Any]]
    imported: _ImportModel | None = None


class _FileModel(_ManifestModel):
    sha256: str
    bytes: int = 0


class _TableModel(_ManifestModel):
    rows: int
    content: str = ""


class _StepModel(_ManifestModel):
    parameters: Any = None


class _Manifest(_ManifestModel):
    name: str
    version: str
    signature: str
    definition: _DefinitionModel
    files: dict[RelativePath, _FileModel]
    tables: dict[RelativePath, _TableModel]
    units: dict[str, _StepModel]
    tools: dict[str, str]


def read_manifest(path: Path) -> dict[str, Any]:
    """Read and validate a manifest file, and return its content.

    Raises:
        FormatError: The file is not valid JSON, a key is missing, a value has the wrong type, or a
            path points outside the version folder.
    """
    try:
        manifest: Any = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FormatError(f"cannot read the manifest: {error.strerror}", path) from None
    except (ValueError, RecursionError) as error:
        fault = describe_checkout_fault(path)
        found = f"{fault[0]}; {fault[1]}" if fault else error
        raise FormatError(f"cannot read the manifest: {found}", path) from None
    if not isinstance(manifest, dict):
        raise FormatError(
            f"invalid manifest: expected a JSON object, found {type(manifest).__name__}", path
        )
    try:
        _Manifest.model_validate(manifest)
    except (ValidationError, RecursionError) as error:
        raise FormatError(f"invalid manifest: {_format_first_error(error)}", path) from None
    return manifest


def _format_first_error(error: ValidationError | RecursionError) -> str:
    """Return the first validation error as `<key>: <message>`."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    return f"{key}: {first['msg'].removeprefix('Value error, ')}"
