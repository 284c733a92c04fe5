"""One line of JSON to an object, by the JSON standard."""

from typing import Any

import orjson

from builder.ingest.rejects import RejectError


def parse_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        RejectError: blank, not JSON in UTF-8, or not an object.
    """
    if not line.strip():
        raise RejectError("blank_line")
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise RejectError("not_json" if _is_utf8(line) else "not_utf8") from None
    if not isinstance(record, dict):
        raise RejectError("not_an_object")
    return record


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
