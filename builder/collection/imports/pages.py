"""Reads the documents of a release from TREC files, JSON arrays or JSON Lines.

Input: files, plain or compressed. Output: id, title and text of each document, and its position in
the file. The format is detected from the first byte.
"""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from builder.collection.export.markup import unescape_markup
from builder.collection.imports.import_log import ImportLog
from builder.ingest.lines import BOM, read_byte_chunks
from builder.io.sources import Source

MAX_DOCUMENT_BYTES = 64 * 2**20
"""Maximum size of a document in bytes."""
_DOCNO = re.compile(rb"<DOCNO>\s*([^<>\s]{1,200})\s*</DOCNO>")
_DOCID = re.compile(rb"<DOCID>\s*([^<>\s]{1,200})\s*</DOCID>")
_NEXT_DOCUMENT = re.compile(rb"\n<DOC>\s*<DOCNO>")
"""Start of a document; a `<DOC>` without a `<DOCNO>` may be part of a text."""
_JSON_SEPARATORS = re.compile(r"[\s,\[\]\ufeff]*")
"""Characters between values, including the brackets and commas of an array."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone surrogate; a byte that is not UTF-8 is decoded to one of U+DC80 to U+DCFF."""
_DOC_END = re.compile(rb"</DOC>[ \t\r]*$", re.MULTILINE)

SCIENTIFIC_TEXT_FIELDS = ("abstract", "fullText")
"""Fields that make up the text of a `longeval-sci` document, which has no field `contents`."""


class ReleaseDocument(NamedTuple):
    """Document read from a file of a release.

    Args:
        doc_id: Document id in the release.
        title: Title; empty if the document has no separate title.
        text: Text of the document.
        number: 1-based position of the document in the file.
    """

    doc_id: str
    title: str
    text: str
    number: int


def read_documents(
    path: Path, name: str, log: ImportLog, *, is_markup_escaped: bool
) -> Iterator[ReleaseDocument]:
    """Yield the documents in a file of a release.

    Args:
        path: The document file.
        name: Name of the file in the log.
        log: Log to which rejected documents are added.
        is_markup_escaped: Whether markup in texts is escaped, as in exports of this package.
    """
    chunks = _read_chunks(path, name, log)
    head = next(chunks, b"")
    start = head.removeprefix(BOM).lstrip()[:1]
    stream = chain((head.removeprefix(BOM),), chunks)
    if start in (b"[", b"{"):
        yield from _parse_json_documents(stream, name, log)
    else:
        yield from _parse_trec_documents(stream, name, log, is_markup_escaped=is_markup_escaped)


def _read_chunks(path: Path, name: str, log: ImportLog) -> Iterator[bytes]:
    for chunk, fault in read_byte_chunks(Source(path, name)):
        yield chunk
        if fault is not None:
            log.records_read += 1
            log.add_reject(fault, name, 1)


def _parse_trec_documents(
    chunks: Iterator[bytes], name: str, log: ImportLog, *, is_markup_escaped: bool
) -> Iterator[ReleaseDocument]:
    number, remainder, has_content = 0, b"", False
    for chunk in chunks:
        has_content = has_content or bool(chunk.strip())
        buffer = remainder + chunk
        start, scanned = 0, max(0, len(remainder) - len(b"</DOC>"))
        for end in _find_document_end_tags(buffer, scanned):
            *unfinished, record = _split_at_document_starts(buffer[start : end.start()])
            _reject_unfinished_documents(unfinished, name, number, log)
            number += len(unfinished) + 1
            log.records_read += 1
            document = _parse_trec_document(record, number, is_markup_escaped=is_markup_escaped)
            if isinstance(document, str):
                log.add_reject(document, name, number)
            else:
                yield document
            start = end.end()
        remainder = buffer[start:]
        if len(remainder) > MAX_DOCUMENT_BYTES:
            remainder = b""
            log.records_read += 1
            log.add_reject("document_too_long", name, number + 1)
    if b"<DOC>" in remainder:
        _reject_unfinished_documents(_split_at_document_starts(remainder), name, number, log)
    elif has_content and not number:
        log.records_read += 1
        log.add_reject("unknown_document_format", name, 1)


def _split_at_document_starts(record: bytes) -> list[bytes]:
    """Split the bytes before an end tag where a document starts before the previous one ended."""
    first = max(0, record.find(b"<DOC>"))
    starts = [match.start() for match in _NEXT_DOCUMENT.finditer(record, first)]
    return [record[start:end] for start, end in pairwise([0, *starts, len(record)])]


def _reject_unfinished_documents(
    unfinished: list[bytes], name: str, number: int, log: ImportLog
) -> None:
    """Reject documents without an end tag that follow document `number` of a file."""
    log.records_read += len(unfinished)
    for position in range(number + 1, number + 1 + len(unfinished)):
        log.add_reject("document_without_end", name, position)


def _find_document_end_tags(buffer: bytes, start: int) -> Iterator[re.Match[bytes]]:
    """Yield a match for each `</DOC>` tag that is alone on a line or directly after `</TEXT>`."""
    for end in _DOC_END.finditer(buffer, start):
        line_start = buffer.rfind(b"\n", 0, end.start()) + 1
        before = buffer[line_start : end.start()].rstrip(b" \t")
        if not before or before.endswith(b"</TEXT>"):
            yield end


def _parse_trec_document(
    record: bytes, number: int, *, is_markup_escaped: bool
) -> ReleaseDocument | str:
    """Parse a TREC `<DOC>` element; return the reject reason as a string if it is invalid."""
    body_start, body_end = record.find(b"<TEXT>"), record.rfind(b"</TEXT>")
    head = record if body_start < 0 else record[:body_start]
    match = _DOCNO.search(head) or _DOCID.search(head)
    if match is None:
        return "document_without_id"
    if body_start < 0 or body_end < body_start:
        return "document_without_text"
    try:
        text = record[body_start + len(b"<TEXT>") : body_end].decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    doc_id = match[1].decode("utf-8", "replace")
    return ReleaseDocument(doc_id, "", unescape_markup(text) if is_markup_escaped else text, number)


def _parse_json_documents(
    chunks: Iterator[bytes], name: str, log: ImportLog
) -> Iterator[ReleaseDocument]:
    for number, record in enumerate(_iter_json_values(chunks), 1):
        log.records_read += 1
        document = "not_json" if record is None else _parse_json_document(record, number)
        if isinstance(document, str):
            log.add_reject(document, name, number)
        else:
            yield document


def _iter_json_values(chunks: Iterator[bytes]) -> Iterator[Any]:
    """Yield each value of a JSON array or JSON Lines file; None for a damaged value."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    parse = json.JSONDecoder().raw_decode
    text, offset = "", 0
    for chunk in chain(chunks, (b"",)):
        is_last = not chunk
        text, offset = text[offset:] + decoder.decode(chunk, final=is_last), 0
        while (offset := _JSON_SEPARATORS.match(text, offset).end()) < len(text):  # type: ignore[union-attr]
            try:
                value, offset = parse(text, offset)
            except (ValueError, RecursionError):
                if not is_last and len(text) - offset < MAX_DOCUMENT_BYTES:
                    break
                value, offset = None, _next_line_start(text, offset)
            yield value


def _next_line_start(text: str, offset: int) -> int:
    line_end = text.find("\n", offset)
    return len(text) if line_end < 0 else line_end + 1


def _parse_json_document(record: object, number: int) -> ReleaseDocument | str:
    if not isinstance(record, dict):
        return "not_an_object"
    doc_id = record.get("id")
    if not isinstance(doc_id, str | int) or isinstance(doc_id, bool):
        return "document_without_id"
    texts = _extract_title_and_text(record)
    if texts is None:
        return "document_without_text"
    surrogates = _SURROGATE.findall(f"{doc_id}{''.join(texts)}")
    if surrogates:
        is_undecoded = any("\udc80" <= surrogate <= "\udcff" for surrogate in surrogates)
        return "not_utf8" if is_undecoded else "lone_surrogate"
    return ReleaseDocument(str(doc_id), *texts, number)


def _extract_title_and_text(record: dict[str, Any]) -> tuple[str, str] | None:
    """Return (title, text) of a JSON document; if there is only a title, it becomes the text.

    Returns:
        None if all fields are missing, or a field is neither a string nor a list of strings.
    """
    groups = (("contents",), SCIENTIFIC_TEXT_FIELDS, ("text",))
    texts = next((group for group in groups if record.keys() & {*group}), SCIENTIFIC_TEXT_FIELDS)
    names = ("title", *texts)
    found = [_join_texts(record.get(name)) for name in names]
    if None in found or all(record.get(name) is None for name in names):
        return None
    title, *parts = map(str, found)
    text = "\n".join(part for part in parts if part.strip())
    return (title, text) if text else ("", title)


def _join_texts(value: object) -> str | None:
    """Convert the value of a JSON field to one string; None if the value has another type.

    A list of strings is joined with LF; null becomes an empty string.
    """
    if value is None or isinstance(value, str):
        return value or ""
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return "\n".join(value) if is_list else None  # type: ignore[arg-type]
