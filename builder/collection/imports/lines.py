"""Reads the lines of query, qrels and URL files, and logs malformed lines.

Input: text files, plain or compressed. Output: rows with their line numbers. Lines that cannot be
read are rejected; lines that are accepted despite an irregularity are counted by file.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.own_exports import is_own_export
from builder.ingest.lines import BOM, read_line_chunks
from builder.io.sources import Source
from builder.queries.text_audit import FAULTS
from builder.queries.texts import HEADER_LINE
from schemas import GRADES

MAX_LINE_BYTES = 2**20
REPORTED_TEXT_FAULTS = (
    "leaked_quotes",
    "double_space",
    "outer_space",
    "control_character",
    "over_long",
    "nothing_left_after_folding",
    "search_operator",
)
"""Names of the faults in query texts that are logged as irregularities."""
_GRADE = re.compile(r"([+-]?\d{1,4})(?:\.0{1,4})?", re.ASCII)
"""Pattern of an integer grade; like trec_eval, it also accepts floats such as `1.0`."""
CONTROL_CHARACTER = r"\p{Cc}"


QUERY_COLUMNS = {
    "query_id": pl.String,
    "text": pl.String,
    "split": pl.String,
    "file": pl.String,
    "line": pl.UInt64,
}


def read_queries(path: Path, name: str, split: str, import_log: ImportLog) -> pl.DataFrame:
    """Read a query file with lines `id<TAB>text`, and log rejected and irregular lines.

    Quotes around a text are removed, except in exports of this package, which add none.

    Args:
        path: The query file.
        name: Name of the file in rejects and irregularities.
        split: Split of all queries in the file.
        import_log: Log to which rejects and irregularities are added.

    Returns:
        Frame with columns `query_id`, `text` (cleaned), `split`, `file`, `line`.
    """
    rows = []
    for number, line in _read_numbered_lines(path, name, import_log):
        query_id, tab, text = line.partition("\t")
        if number == 1 and HEADER_LINE.fullmatch(line):
            import_log.add_reject("header_line", name, number)
        elif not (tab and query_id.strip()):
            import_log.add_reject("no_tab", name, number)
        elif "\t" in text.strip():
            import_log.add_reject("extra_columns", name, number)
        else:
            rows.append((query_id.strip(), text, split, name, number))
    queries = pl.DataFrame(rows, schema=QUERY_COLUMNS, orient="row")
    _log_control_characters(queries, ("query_id",), import_log)
    for fault in REPORTED_TEXT_FAULTS:
        faulty = queries.filter(FAULTS[fault])
        if faulty.height:
            line, text = faulty.select("line", "text").row(0)
            import_log.add_irregularity(fault, name, line, text, faulty.height)
    unquoted = pl.col("text") if is_own_export(path) else _remove_quotes(pl.col("text"))
    cleaned = queries.with_columns(text=_normalize_spaces(unquoted))
    for line in cleaned.filter(text="")["line"]:
        import_log.add_reject("empty_query", name, line)
    return cleaned.filter(pl.col("text") != "")


def _remove_quotes(text: pl.Expr) -> pl.Expr:
    """Remove the quotes around a query text, as a CSV reader does."""
    quoted = text.str.contains(r'(?s)^".*"$') & (text.str.len_chars() > 1)
    inner = text.str.slice(1, text.str.len_chars() - 2).str.replace_all('""', '"', literal=True)
    return pl.when(quoted).then(inner).otherwise(text)


def _normalize_spaces(text: pl.Expr) -> pl.Expr:
    """Replace control characters and repeated spaces in a query text with one space."""
    return text.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


def read_qrels(path: Path, name: str, import_log: ImportLog) -> pl.DataFrame:
    """Read a qrels file with lines `query 0 document grade`, and log rejected lines.

    Returns:
        Frame with columns `query_id`, `doc_id`, `grade`, `file`, `line`.
    """
    rows = []
    for number, line in _read_numbered_lines(path, name, import_log):
        columns = line.split()
        if len(columns) != 4:
            import_log.add_reject("not_four_columns", name, number)
            continue
        query_id, _, doc_id, written = columns
        grade = _GRADE.fullmatch(written)
        if grade is not None and int(grade[1]) in GRADES:
            rows.append((query_id, doc_id, int(grade[1]), name, number))
        else:
            if number == 1 and written.isalpha():
                import_log.add_reject("header_line", name, number)
                continue
            import_log.queries_with_unknown_grades.add(query_id)
            key = f"{query_id} {doc_id} {written}"
            import_log.add_reject("grade_unknown", name, number, key)
    schema = {
        "query_id": pl.String,
        "doc_id": pl.String,
        "grade": pl.UInt8,
        "file": pl.String,
        "line": pl.UInt64,
    }
    qrels = pl.DataFrame(rows, schema=schema, orient="row")
    _log_control_characters(qrels, ("query_id", "doc_id"), import_log)
    return qrels


def _log_control_characters(
    rows: pl.DataFrame, id_columns: Sequence[str], import_log: ImportLog
) -> None:
    """Log the rows of a file that have a control character in one of the given id columns."""
    faulty = rows.filter(pl.any_horizontal(pl.col(id_columns).str.contains(CONTROL_CHARACTER)))
    if faulty.height:
        name, line, *found = faulty.select("file", "line", *id_columns).row(0)
        import_log.add_irregularity(
            "control_character_in_id", name, line, " ".join(found), faulty.height
        )


def read_url_list(path: Path, name: str, import_log: ImportLog) -> Iterator[tuple[str, str]]:
    """Yield (document id, URL) pairs from a file with lines `document<TAB>url`.

    Only the first URL of a document is used; lines with further URLs are rejected.
    """
    urls: dict[str, str] = {}
    for number, line in _read_numbered_lines(path, name, import_log):
        doc_id, _, url = (part.strip() for part in line.partition("\t"))
        if not (doc_id and url):
            import_log.add_reject("no_address", name, number)
        elif doc_id in urls:
            reason = "repeated_address" if urls[doc_id] == url else "contradicting_address"
            import_log.add_reject(reason, name, number, doc_id)
        else:
            urls[doc_id] = url
            yield doc_id, url


def _read_numbered_lines(path: Path, name: str, import_log: ImportLog) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of each valid line of a file; add the other lines to the log."""
    line_end_counts = [0, 0]
    for chunk in read_line_chunks(Source(path, name), MAX_LINE_BYTES):
        lines = [] if chunk.data is None else bytes(chunk.data).split(b"\n")
        for number, raw in enumerate(lines, chunk.first_line_number):
            import_log.records_read += 1
            if not chunk.is_unterminated:
                line_end_counts[raw.endswith(b"\r")] += 1
            if raw.endswith(b"\r"):
                import_log.add_irregularity(
                    "crlf", name, number, raw.decode("utf-8", "replace").strip()
                )
            is_too_long = len(raw) > MAX_LINE_BYTES or (
                chunk.starts_mid_line and number == chunk.first_line_number
            )
            line, reason = _decode_line(raw, number == 1, is_too_long)
            if reason is None:
                yield number, line
            else:
                import_log.add_reject(reason, name, number)
        if chunk.fault is not None:
            import_log.records_read += 1
            import_log.add_reject(chunk.fault, name, chunk.first_line_number + len(lines))
    if all(line_end_counts):
        import_log.add_irregularity(
            "mixed_line_ends",
            name,
            1,
            f"{line_end_counts[1]} of {sum(line_end_counts)} lines end with CRLF",
        )


def _decode_line(raw: bytes, is_first_line: bool, is_too_long: bool) -> tuple[str, str | None]:
    """Return (text, None) for a valid line, and ("", reject reason) for any other line."""
    if is_too_long:
        return "", "line_too_long"
    line = (raw.removeprefix(BOM) if is_first_line else raw).removesuffix(b"\r")
    if not line.strip():
        return "", "blank_line"
    if b"\r" in line.strip(b"\r"):
        return "", "carriage_return"
    try:
        return line.decode("utf-8"), None
    except UnicodeDecodeError:
        return "", "not_utf8"
