"""Reads and validates TOML definition files; errors name the file and the key."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from builder.definition.wording import rephrase_error
from builder.errors import DefinitionError

M = TypeVar("M", bound=BaseModel)
UNION_TYPE = re.compile(r"str|(?:literal|constrained-str|tuple|list)\[.*")
"""Matches a type name that Pydantic adds to the location of an error in a union-typed value."""
FILE_NOT_FOUND = "definition file not found"


def read_definition(path: Path, model: type[M], not_found_message: str = FILE_NOT_FOUND) -> M:
    """Read a definition file and validate it with a Pydantic model.

    Args:
        path: Path of the TOML file.
        model: Pydantic model of the whole file.
        not_found_message: Error message if the file does not exist.

    Raises:
        DefinitionError: The file is missing or not TOML, or has an unknown or invalid key.
    """
    return _validate_toml(_read_toml(path, not_found_message), path, model, ())


def read_section(path: Path, model: type[M], name: str) -> M:
    """Read one top-level section of a definition file and ignore all other sections.

    Raises:
        DefinitionError: The file is missing or not TOML, or the section is missing or invalid.
    """
    data = _read_toml(path)
    if name not in data:
        raise DefinitionError(f"missing section [{name}]", path)
    return _validate_toml(data[name], path, model, (name,))


def _read_toml(path: Path, not_found_message: str = FILE_NOT_FOUND) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DefinitionError(not_found_message, path) from None
    except IsADirectoryError:
        names = sorted(p.name for p in path.glob("*.toml"))
        usual = [name for name in names if name == "workflow.toml"]
        inside = next(iter(usual or names), None)
        hint = f"did you mean {path / inside}?" if inside else "the folder contains no TOML file"
        raise DefinitionError(f"expected a definition file, found a folder; {hint}", path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(
            f"cannot be read as UTF-8 text: {error}; check the encoding and permissions", path
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DefinitionError(f"not valid TOML: {error}", path) from None


def _validate_toml(data: Any, path: Path, model: type[M], prefix: tuple[str, ...]) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = min(error.errors(), key=_error_sort_key)
        key = _dotted_key((*prefix, *first["loc"]))
        raise DefinitionError(_error_message(first, model), path, key) from None


def _error_sort_key(error: Any) -> tuple[bool, bool]:
    """Return a sort key that puts errors about unknown keys first and wrong types of lists last.

    For a key of a union type, such as `str | tuple[str, ...]`, Pydantic also reports every type
    that the value does not have. If the value is a list, an error in one of its items is more
    helpful.
    """
    is_other_type = isinstance(error["input"], list) and UNION_TYPE.fullmatch(str(error["loc"][-1]))
    return error["type"] != "extra_forbidden", bool(is_other_type)


def _dotted_key(location: tuple[int | str, ...]) -> str:
    """Return the dotted key at which an error occurred, without types such as `tuple[str, ...]`."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not UNION_TYPE.fullmatch(part):
            text += f".{part}"
    return text.lstrip(".")


def _error_message(error: Any, model: type[BaseModel]) -> str:
    """Return the message for one Pydantic error; for an unknown key, suggest the closest key."""
    if error["type"] == "missing":
        is_item = isinstance(error["loc"][-1], int)
        return "expected more values in the list" if is_item else "required key is missing"
    if error["type"] != "extra_forbidden":
        return rephrase_error(error)
    known = _known_keys(error["loc"][:-1], model)
    near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key; {hint}"


def _known_keys(location: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Return the keys that a Pydantic model permits at a location in a definition file."""
    for part in location:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            kinds = [
                kind for kind in (annotation, *get_args(annotation)) if _is_pydantic_model(kind)
            ]
            if not kinds:
                return []
            model = kinds[0]
    return list(model.model_fields)


def _is_pydantic_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
