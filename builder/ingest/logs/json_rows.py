"""Reads JSON Lines logs in long format, in which each line is one result."""

from collections.abc import Iterator

from builder.ingest.fields import get_nested_value
from builder.ingest.json_object import parse_json_object
from builder.ingest.lines import read_line_blocks
from builder.ingest.logs.records import NumberedRecord, Record
from builder.ingest.rejects import LINE_TOO_LONG, RejectError
from builder.io.sources import Source
from builder.parameters import LogFields, LogParameters

FORBIDDEN_TYPES = {
    "time": (dict, list, bool),
    "user": (dict, list, bool, float),
    "query": (dict, list, bool, float),
    "url": (dict, list, bool, float),
}
"""Python types that are rejected for each field; `impression` rejects the same types."""


def read_result_rows(
    source: Source, params: LogParameters, encoding: str
) -> Iterator[NumberedRecord]:
    """Yield each line as its number and either the values of its fields or its reject reason."""
    names = dict.fromkeys(params.fields.model_dump().values())
    for block in read_line_blocks(source, params.max_line_bytes, encoding):
        for number, line in enumerate(block.lines, block.first_line_number):
            try:
                yield number, _parse_row(line, names, params.fields)
            except RejectError as reject:
                yield number, str(reject)
        if block.fault is not None:
            yield block.first_line_number + len(block.lines), block.fault


def _parse_row(line: bytes | None, field_names: dict[str, None], fields: LogFields) -> Record:
    """Parse a JSON line, and return the values of the given fields that are not null.

    Raises:
        RejectError: the line is too long or is not a JSON object, or the time, user, query or URL
            has the wrong type.
    """
    if line is None:
        raise RejectError(LINE_TOO_LONG)
    record = parse_json_object(line)
    found = {
        name: value for name in field_names if (value := get_nested_value(record, name)) is not None
    }
    for own, wrong in FORBIDDEN_TYPES.items():
        if isinstance(found.get(getattr(fields, own)), wrong):
            raise RejectError("bad_results" if own == "url" else f"bad_{own}")
    return found
