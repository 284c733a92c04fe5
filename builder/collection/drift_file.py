"""Reads the drift statistics of a published version from `drift.json`."""

from pathlib import Path
from typing import Any

import orjson

from builder.collection.layout import DRIFT
from builder.errors import FormatError


def read_drift(version: Path) -> dict[str, Any] | None:
    """Return the content of `drift.json` in a version folder; None if there is no such file.

    Raises:
        FormatError: The file is not a JSON object.
    """
    path = version / DRIFT
    try:
        content = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise FormatError(f"invalid JSON ({error}); rebuild the collection", path) from None
    if not isinstance(content, dict):
        raise FormatError("expected a JSON object; rebuild the collection", path)
    return content
