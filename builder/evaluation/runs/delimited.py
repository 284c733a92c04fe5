"""Reads small CSV and TSV tables with a header line, such as tables of scores."""

import csv
import io
import math
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.trec.bounded import read_text


def read_delimited_table(
    path: Path, schema: Mapping[str, pl.DataType], *, separator: str = ",", quoted: bool = True
) -> pl.DataFrame:
    """Read selected columns of a delimited text file, plain or compressed.

    Args:
        path: UTF-8 text file with a header line. Blank lines and spaces around fields are ignored.
        schema: Columns to read, `String` or `Float64`; other columns are ignored.
        separator: Character between fields.
        quoted: Whether fields can be quoted with `"`.

    Returns:
        Columns that are in both the schema and the file, in the order of the schema. Empty fields
        are null.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: The file is empty, not UTF-8 or separated by another character; a column is
            repeated or differs from one of the schema only in case; a line and the header have
            different numbers of fields; or a number is malformed or not finite.
    """
    text = io.StringIO(read_text(Source(path, str(path))), newline="")
    reader = csv.reader(
        text,
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
        skipinitialspace=True,
    )
    rows = []
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, schema, separator, path)
        kept = {name: kind for name, kind in schema.items() if name in header}
        for row in filter(None, reader):
            if len(row) != len(header):
                message = f"expected {len(header)} fields, found {len(row)}"
                raise FormatError(message, path, reader.line_num)
            fields = dict(zip(header, map(str.strip, row), strict=True))
            rows.append([_parse_field(fields[name], name, kind) for name, kind in kept.items()])
    except (csv.Error, _FieldError) as error:
        raise FormatError(str(error), path, reader.line_num) from None
    return pl.DataFrame(rows, schema=kept, orient="row")


class _FieldError(ValueError):
    """Error raised for a malformed field of the current line."""


def _check_header(
    header: list[str], schema: Mapping[str, pl.DataType], separator: str, path: Path
) -> None:
    if not header:
        raise FormatError("expected a header line, found an empty file", path)
    if len(header) == 1 and re.search(r"[,;\t]", header[0]):
        expected = f"expected columns separated by {separator!r}"
        raise FormatError(f"{expected}, found the header {header[0][:80]!r}", path, 1)
    for name in header:
        if name not in schema and name.lower() in schema:
            raise FormatError(f"expected the column {name.lower()!r}, found {name!r}", path, 1)
    if repeated := [name for name in header if header.count(name) > 1]:
        raise FormatError(f"column {repeated[0]!r} occurs more than once", path, 1)


def _parse_field(field: str, column: str, dtype: pl.DataType) -> str | float | None:
    if not field or dtype == pl.String():
        return field or None
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        found = f"found {field[:40]!r}"
        raise _FieldError(f"expected a finite number in column {column!r}, {found}")
    return value
