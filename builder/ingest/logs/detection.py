"""What a log file is: its format and its text encoding, as defined or as detected.

In: a file, and `[log]`. Out: a `LogFile`, with a note for the user on what was detected.
"""

import re
from typing import NamedTuple

from builder.errors import FormatError
from builder.ingest.delimited import DELIMITERS
from builder.ingest.lines import read_blocks
from builder.ingest.logs import yandex
from builder.ingest.logs.encoding import UTF8, resolve_encoding
from builder.io.sources import Source
from builder.parameters import LogParameters

ANY = LogParameters()
PARQUET = b"PAR1"
JSON_START = re.compile(rb"\s*[\[{]")
TEXT_FORMATS = ("jsonl", *DELIMITERS)
"""Formats whose text encoding is `log.encoding`, or detected."""


class LogFile(NamedTuple):
    """A log file and how it is read.

    Args:
        source: The file.
        kind: Its format.
        encoding: Its text encoding.
        note: What the user should know about it, such as a detected encoding; empty if nothing.
    """

    source: Source
    kind: str
    encoding: str = UTF8
    note: str = ""


def inspect_log(source: Source, params: LogParameters) -> LogFile:
    """The format and the encoding of a file.

    Raises:
        FormatError: the file cannot be opened.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind not in TEXT_FORMATS:
        return LogFile(source, kind)
    encoding, note = resolve_encoding(source, params)
    return LogFile(source, kind, encoding, f"{source.name}: {note}" if note else "")


def detect_format(source: Source, params: LogParameters = ANY) -> str:
    """The format of a file, by its first bytes.

    Args:
        source: The file.
        params: `[log]`; with `log.columns`, a file that is not Parquet is a table.

    Raises:
        FormatError: the file cannot be opened.
    """
    try:
        with source.path.open("rb") as file:
            if file.read(len(PARQUET)) == PARQUET:
                return "parquet"
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None
    first = _first_lines(source, 2)
    if params.columns:
        return "tsv" if b"\t" in first[0] else "csv"
    if JSON_START.match(first[0]):
        return "jsonl"
    if (name := yandex.challenge_of(first)) is not None:
        return name
    for kind in ("tsv", "csv"):
        if any(delimiter.encode() in first[0] for delimiter in DELIMITERS[kind]):
            return kind
    return "jsonl"


def _first_lines(source: Source, count: int) -> list[bytes]:
    """The first lines that are not blank, padded with empty ones."""
    lines: list[bytes] = []
    for block in read_blocks(source, 2**20):
        lines += [line for line in block.lines if line and line.strip()]
        if len(lines) >= count or block.fault is not None:
            break
    return (lines + [b""] * count)[:count]
