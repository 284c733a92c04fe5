"""Lines of query and judgement files as releases have them, and what is wrong with them.

In: text files, plain or packed. Out: rows with the number of their line; lines that cannot be read
as rejects; and, counted by file, lines that were read in spite of an irregularity.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from builder.collection.imports.notes import Notes
from builder.ingest.lines import BOM, read_chunks
from builder.io.sources import Source
from builder.queries.text_audit import FAULTS
from schemas import GRADES

LONGEST_LINE = 2**20
FAULTS_OF_TEXTS = (
    "leaked_quotes",
    "double_space",
    "outer_space",
    "control_character",
    "over_long",
    "nothing_left_after_folding",
    "search_operator",
)
"""Faults of query texts that are noted."""
_GRADE = re.compile(r"[+-]?\d{1,4}", re.ASCII)


QUERY_COLUMNS = {
    "alias": pl.String,
    "text": pl.String,
    "split": pl.String,
    "file": pl.String,
    "line": pl.UInt64,
}


def read_queries(path: Path, name: str, split: str, notes: Notes) -> pl.DataFrame:
    """The queries of a file of `id<TAB>text` lines.

    Args:
        path: The file.
        name: How rejects and irregularities name it.
        split: Of all its queries.
        notes: Where rejects and irregularities go.

    Returns:
        Columns `alias`, `text`, `split`, `file`, `line`; texts without what the export left there.
    """
    rows = []
    for number, line in _lines(path, name, notes):
        alias, tab, text = line.partition("\t")
        if tab and alias.strip():
            rows.append((alias.strip(), text, split, name, number))
        else:
            notes.reject("no_tab", name, number)
    found = pl.DataFrame(rows, schema=QUERY_COLUMNS, orient="row")
    for fault in FAULTS_OF_TEXTS:
        faulty = found.filter(FAULTS[fault])
        if faulty.height:
            line, text = faulty.select("line", "text").row(0)
            notes.irregular(fault, name, line, text, faulty.height)
    cleaned = found.with_columns(text=_clean(pl.col("text")))
    for line in cleaned.filter(text="")["line"]:
        notes.reject("empty_query", name, line)
    return cleaned.filter(pl.col("text") != "")


def _clean(text: pl.Expr) -> pl.Expr:
    """Texts without leaked quotes, control characters and extra spaces."""
    quoted = text.str.contains(r'(?s)^".*"$') & (text.str.len_chars() > 1)
    inner = text.str.slice(1, text.str.len_chars() - 2).str.replace_all('""', '"', literal=True)
    plain = pl.when(quoted).then(inner).otherwise(text)
    return plain.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


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
        pieces = [] if chunk.data is None else bytes(chunk.data).split(b"\n")
        for number, raw in enumerate(pieces, chunk.first):
            notes.offered += 1
            ends[raw.endswith(b"\r")] += 1
            if raw.endswith(b"\r"):
                notes.irregular("crlf", name, number, raw.decode("utf-8", "replace").strip())
            is_long = len(raw) > LONGEST_LINE or (chunk.starts_mid_line and number == chunk.first)
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
