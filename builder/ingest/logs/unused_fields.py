"""Yields notes about names in `[log.fields]` that no record of a JSON Lines or Parquet log has.

In CSV and TSV logs, and for columns of Parquet logs, such names are errors (see `columns`). Fields
of JSON objects may be absent from some records, so a sample of the records is searched.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from builder.ingest.fields import get_nested_value
from builder.ingest.json_object import parse_json_object
from builder.ingest.lines import read_line_blocks
from builder.ingest.logs.detection import LogFile
from builder.ingest.logs.records import Record
from builder.ingest.parquet_rows import convert_parquet_errors, read_numbered_rows
from builder.ingest.rejects import RejectError
from builder.io.parquet import open_file
from builder.parameters import LogFields, LogParameters

SAMPLE_RECORDS = 1000
"""Number of leading records of each file that are searched."""
LISTS = {
    "user": (),
    "rank": ("results", "clicks"),
    "clicked": ("results",),
    "click_time": ("clicks",),
}
"""Maps the standard name of each optional field to the lists whose objects have this field. A log
without such a field is not rejected, but read differently."""


def note_unused_fields(files: Sequence[LogFile], params: LogParameters) -> Iterator[str]:
    """Yield a note for each optional field that the definition names but no sampled record has.

    Args:
        files: Log files of a snapshot.
        params: Section `[log]` of the definition.
    """
    found = dict.fromkeys((own for own in LISTS if own in params.fields.model_fields_set), False)
    is_sampled = dict.fromkeys(found, False)
    for file in files:
        if all(found.values()):
            return
        for record in islice(_read_records(file, params), SAMPLE_RECORDS):
            for own in found:
                for item in _parent_objects(record, own, params.fields):
                    is_sampled[own] = True
                    found[own] |= get_nested_value(item, getattr(params.fields, own)) is not None
    for own in found:
        if is_sampled[own] and not found[own]:
            yield (
                f"none of the first {SAMPLE_RECORDS:,} records of each file has the field "
                f"{getattr(params.fields, own)!r} (log.fields.{own}); correct or remove the name"
            )


def _read_records(file: LogFile, params: LogParameters) -> Iterator[Record]:
    """Yield the valid records of a JSON Lines or Parquet log, with the field names of the log."""
    source, user = file.source, params.fields.user
    if file.file_format == "parquet":
        names = [*dict.fromkeys(params.fields.model_dump().values())]
        size = source.path.stat().st_size
        with convert_parquet_errors(source), open_file(source.path) as opened:
            for _, row in read_numbered_rows(
                opened, size, names, SAMPLE_RECORDS, decoders={user: bytes.hex}
            ):
                if not isinstance(row, str):
                    yield row
    elif file.file_format == "jsonl":
        for block in read_line_blocks(source, params.max_line_bytes, file.encoding):
            for line in block.lines:
                with suppress(RejectError):
                    yield parse_json_object(line or b"")


def _parent_objects(
    record: Record, standard_name: str, fields: LogFields
) -> Iterator[dict[str, Any]]:
    """Yield the objects in a record that may have the field with the given standard name.

    The field `user`, and in long format the fields of a result, belong to the record itself. Other
    fields belong to the objects in the lists of results or clicks.
    """
    lists = [get_nested_value(record, getattr(fields, name)) for name in LISTS[standard_name]]
    if not lists or (lists[0] is None and standard_name != "click_time"):
        yield record
    for items in lists:
        if isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))
