"""Detects the format and text encoding of a log file, unless section `[log]` sets them."""

import re
from typing import NamedTuple

from builder.errors import FormatError
from builder.ingest.delimited import DELIMITERS
from builder.ingest.lines import read_line_blocks
from builder.ingest.logs import yandex
from builder.ingest.logs.encoding import UTF8, resolve_encoding
from builder.io.parquet import MAGIC
from builder.io.sources import Source
from builder.parameters import LogParameters

DEFAULT = LogParameters()
JSON_START = re.compile(rb"\s*[\[{]")
TEXT_FORMATS = ("jsonl", *DELIMITERS)
"""Text formats, to which `log.encoding` applies."""


class LogFile(NamedTuple):
    """Log file with its format and text encoding.

    Args:
        source: The file.
        file_format: Log format, such as `csv`.
        encoding: Python codec name of the text, or `lines.UTF8_OR_WINDOWS_1252`.
        note: Message to the user about a detected encoding; may be empty.
    """

    source: Source
    file_format: str
    encoding: str = UTF8
    note: str = ""


def determine_format_and_encoding(source: Source, params: LogParameters) -> LogFile:
    """Determine the format and text encoding of a log file, from section `[log]` or by detection.

    Raises:
        FormatError: the file cannot be opened.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind not in TEXT_FORMATS:
        return LogFile(source, kind)
    encoding, note = resolve_encoding(source, params)
    return LogFile(source, kind, encoding, f"{source.name}: {note}" if note else "")


def detect_format(source: Source, params: LogParameters = DEFAULT) -> str:
    """Detect the format of a log file from its first bytes.

    Args:
        source: The log file.
        params: Section `[log]` of the definition; if `columns` is set, any file other than Parquet
            is assumed to be CSV or TSV.

    Raises:
        FormatError: the file cannot be opened.
    """
    try:
        with source.path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return "parquet"
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None
    first_lines = _read_first_lines(source, 2)
    if params.columns:
        return "tsv" if b"\t" in first_lines[0] else "csv"
    if JSON_START.match(first_lines[0]):
        return "jsonl"
    if (name := yandex.detect_yandex_format(first_lines)) is not None:
        return name
    for kind in ("tsv", "csv"):
        if any(delimiter.encode() in first_lines[0] for delimiter in DELIMITERS[kind]):
            return kind
    return "jsonl"


def _read_first_lines(source: Source, count: int) -> list[bytes]:
    """Return the first `count` non-blank lines of a file, padded with empty lines."""
    lines: list[bytes] = []
    for block in read_line_blocks(source, 2**20):
        lines += [line for line in block.lines if line and line.strip()]
        if len(lines) >= count or block.fault is not None:
            break
    return (lines + [b""] * count)[:count]
