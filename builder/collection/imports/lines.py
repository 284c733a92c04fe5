"""Lines of query and judgement files as releases have them, and what is wrong with them.

In: text files, plain or packed. Out: rows with the number of their line; lines that cannot be read
as rejects; and, counted by file, lines that were read in spite of an irregularity.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from builder.collection.imports.notes import Notes
from builder.ingest.lines import BOM, read_chunks
from builder.sources import Source
from schemas import GRADES

LONGEST_LINE = 2**20
LONGEST_QUERY = 500
"""Characters beyond which a text is no query that a person typed."""
_GRADE = re.compile(r"[+-]?\d{1,4}", re.ASCII)


@dataclass
class QueryRows:
    """Queries of a file: id in the release, text, split, file, line."""

    rows: list[tuple[str, str, str, str, int]] = field(default_factory=list)

    def frame(self) -> pl.DataFrame:
        """As a frame with the columns `alias`, `text`, `split`, `file`, `line`."""
        names = ("alias", "text", "split", "file")
        schema = {**dict.fromkeys(names, pl.String), "line": pl.UInt64}
        return pl.DataFrame(self.rows, schema=schema, orient="row")


def read_queries(path: Path, name: str, split: str, notes: Notes) -> QueryRows:
    """The queries of a file of `id<TAB>text` lines.

    Args:
        path: The file.
        name: How rejects and irregularities name it.
        split: Of all its queries.
        notes: Where rejects and irregularities go.
    """
    found = QueryRows()
    for number, line in _lines(path, name, notes):
        alias, tab, raw = line.partition("\t")
        text = _clean(raw, name, number, notes)
        if not tab or not alias.strip():
            notes.reject("no_tab", name, number)
        elif not text:
            notes.reject("empty_query", name, number)
        else:
            found.rows.append((alias.strip(), text, split, name, number))
    return found


def _clean(raw: str, name: str, number: int, notes: Notes) -> str:
    """The text of a query without what the export left in it."""
    text = raw
    if len(text) >= 2 and text[0] == text[-1] == '"':
        notes.irregular("leaked_quotes", name, number, text)
        text = text[1:-1].replace('""', '"')
    elif '"' in text:
        notes.irregular("quotes_in_text", name, number, text)
    single = " ".join(text.split())
    if single != text:
        notes.irregular("extra_spaces", name, number, text)
    if len(single) > LONGEST_QUERY:
        notes.irregular("overlong_query", name, number, text)
    if any(ord(character) < 32 or character == "\ufffd" for character in single):
        notes.irregular("control_characters", name, number, text)
    return "".join(character for character in single if ord(character) >= 32)


def read_qrels(path: Path, name: str, notes: Notes) -> pl.DataFrame:
    """The judgements of a file of `query 0 document grade` lines.

    Returns:
        Columns `query_alias`, `doc_alias`, `grade`, `file`, `line`.
    """
    rows = []
    for number, line in _lines(path, name, notes):
        columns = line.split()
        if len(columns) != 4:
            notes.reject("not_four_columns", name, number)
        elif not _GRADE.fullmatch(columns[3]) or int(columns[3]) not in GRADES:
            notes.reject("grade_unknown", name, number)
        else:
            rows.append((columns[0], columns[2], int(columns[3]), name, number))
    schema = {
        "query_alias": pl.String,
        "doc_alias": pl.String,
        "grade": pl.UInt8,
        "file": pl.String,
        "line": pl.UInt64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def read_addresses(path: Path, name: str, notes: Notes) -> Iterator[tuple[str, str]]:
    """Document ids and addresses of `document<TAB>address` lines."""
    for number, line in _lines(path, name, notes):
        alias, tab, url = line.partition("\t")
        if tab and alias.strip() and url.strip():
            yield alias.strip(), url.strip()
        else:
            notes.reject("no_address", name, number)


def _lines(path: Path, name: str, notes: Notes) -> Iterator[tuple[int, str]]:
    """Lines of a file by number, without their ends; each is offered to the account."""
    ends = [0, 0]
    for chunk in read_chunks(Source(path, name), LONGEST_LINE):
        pieces = [] if chunk.data is None else chunk.data.split(b"\n")
        for number, raw in enumerate(pieces, chunk.first):
            notes.offered += 1
            ends[raw.endswith(b"\r")] += 1
            if raw.endswith(b"\r"):
                notes.irregular("crlf", name, number, raw.decode("utf-8", "replace").strip())
            is_long = len(raw) > LONGEST_LINE or (chunk.is_cut and number == chunk.first)
            line, reason = _decoded(raw, number == 1, is_long)
            if reason is None:
                yield number, line
            else:
                notes.reject(reason, name, number)
        if chunk.fault is not None:
            notes.offered += 1
            notes.reject(chunk.fault, name, chunk.first + len(pieces))
    if all(ends):
        notes.irregular("mixed_line_ends", name, 1, f"{ends[1]} of {sum(ends)} lines end in CRLF")


def _decoded(raw: bytes, is_first: bool, is_long: bool) -> tuple[str, str | None]:
    """A line, and why it is none."""
    if is_long:
        return "", "line_too_long"
    line = raw.removeprefix(BOM) if is_first else raw
    if not line.strip():
        return "", "blank_line"
    try:
        return line.removesuffix(b"\r").decode("utf-8"), None
    except UnicodeDecodeError:
        return "", "not_utf8"
