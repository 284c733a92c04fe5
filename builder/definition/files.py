"""Read and validate TOML definition files; errors name the file and the key."""

import difflib
import tomllib
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from builder.definition.wording import explained
from builder.errors import DefinitionError

M = TypeVar("M", bound=BaseModel)
ABSENT = "no such definition file"


def read_definition(path: Path, model: type[M], absent: str = ABSENT) -> M:
    """Read a whole definition file; `absent` is the error message if it does not exist.

    Raises:
        DefinitionError: the file is missing or not TOML, or has an unknown or invalid key.
    """
    return _checked(_read(path, absent), path, model, ())


def read_section(path: Path, model: type[M], name: str) -> M:
    """Read one section of a file, ignoring all others.

    Raises:
        DefinitionError: the file is missing or not TOML, or the section is missing or invalid.
    """
    data = _read(path)
    if name not in data:
        raise DefinitionError(f"expected a section [{name}], found none", path)
    return _checked(data[name], path, model, (name,))


def _read(path: Path, absent: str = ABSENT) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DefinitionError(absent, path) from None
    except IsADirectoryError:
        inside = next((p.name for p in sorted(path.glob("*.toml"))), None)
        hint = f"did you mean {path / inside}?" if inside else "there is none in it"
        raise DefinitionError(f"expected a definition file, found a folder; {hint}", path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"cannot be read as a UTF-8 text: {error}", path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DefinitionError(f"not valid TOML: {error}", path) from None


def _checked(data: Any, path: Path, model: type[M], within: tuple[str, ...]) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
        key = _dotted((*within, *first["loc"]))
        raise DefinitionError(_explain(first, model), path, key) from None


def _dotted(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _explain(error: Any, model: type[BaseModel]) -> str:
    """Message for one invalid key, with the nearest known key if it is misspelt."""
    if error["type"] == "missing":
        return "this key is required"
    if error["type"] != "extra_forbidden":
        return explained(error)
    known = _known_keys(error["loc"][:-1], model)
    near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key; {hint}"


def _known_keys(location: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Known keys of the section at a location; for a list, of its sections."""
    for part in location:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            kinds = [kind for kind in (annotation, *get_args(annotation)) if _is_section(kind)]
            if not kinds:
                return []
            model = kinds[0]
    return list(model.model_fields)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
