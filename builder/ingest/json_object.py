"""Parses a line as a JSON object, strictly according to the JSON standard."""

from typing import Any

import orjson

from builder.ingest.rejects import RejectError
from builder.text.text_bytes import is_utf8


def parse_json_object(line: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object.

    Raises:
        RejectError: the line is blank, not UTF-8, not JSON, or not an object.
    """
    if not line.strip():
        raise RejectError("blank_line")
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise RejectError("not_json" if is_utf8(line) else "not_utf8") from None
    if not isinstance(record, dict):
        raise RejectError("not_an_object")
    return record
