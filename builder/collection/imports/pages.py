"""Reads the documents of a release from TREC files, JSON arrays or JSON Lines.

Input: files, plain or compressed. Output: id, title, text and URL of each document, and its
position in the file. The format is detected from the first byte.
"""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.release_document import MAX_DOCUMENT_BYTES, ReleaseDocument
from builder.collection.imports.trec_documents import parse_trec_documents
from builder.ingest.lines import BOM, read_byte_chunks
from builder.io.sources import Source

_JSON_SEPARATORS = re.compile(r"[\s,\[\]\ufeff]*")
"""Pattern of the characters between JSON values, including brackets and commas of an array."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Pattern of a lone surrogate; bytes that are not UTF-8 are decoded to U+DC80 to U+DCFF."""

_WORDS = re.compile(r"[^\W\d_]\s+\S")
"""Pattern of whitespace after a word, which identifiers and times do not contain."""

SCIENTIFIC_TEXT_FIELDS = ("abstract", "fullText")
"""Fields that make up the text of a `longeval-sci` document, which has no field `contents`."""


def read_documents(
    path: Path, name: str, import_log: ImportLog, *, is_markup_escaped: bool
) -> Iterator[ReleaseDocument]:
    """Yield the documents in a file of a release.

    Args:
        path: The document file.
        name: Name of the file in the log.
        import_log: Log to which rejected documents are added.
        is_markup_escaped: Whether markup in texts is escaped, as in exports of this package.
    """
    chunks = _read_chunks(path, name, import_log)
    head = next(chunks, b"")
    start = head.removeprefix(BOM).lstrip()[:1]
    stream = chain((head.removeprefix(BOM),), chunks)
    if start in (b"[", b"{"):
        yield from _parse_json_documents(stream, name, import_log)
    else:
        yield from parse_trec_documents(
            stream, name, import_log, is_markup_escaped=is_markup_escaped
        )


def _read_chunks(path: Path, name: str, import_log: ImportLog) -> Iterator[bytes]:
    for chunk, fault in read_byte_chunks(Source(path, name)):
        yield chunk
        if fault is not None:
            import_log.records_read += 1
            import_log.add_reject(fault, name, 1)


def _parse_json_documents(
    chunks: Iterator[bytes], name: str, import_log: ImportLog
) -> Iterator[ReleaseDocument]:
    for number, record in enumerate(_iter_json_values(chunks), 1):
        import_log.records_read += 1
        document = "not_json" if record is None else _parse_json_document(record, number)
        if isinstance(document, str):
            import_log.add_reject(document, name, number)
            continue
        if unread := _find_unread_text(record):
            import_log.add_irregularity("unread_fields", name, number, unread)
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
    url = record["url"] if isinstance(record.get("url"), str) else ""
    surrogates = _SURROGATE.findall(f"{doc_id}{''.join(texts)}{url}")
    if surrogates:
        is_undecoded = any("\udc80" <= surrogate <= "\udcff" for surrogate in surrogates)
        return "not_utf8" if is_undecoded else "lone_surrogate"
    return ReleaseDocument(str(doc_id), *texts, number, url)


def _extract_title_and_text(record: dict[str, Any]) -> tuple[str, str] | None:
    """Return (title, text) of a JSON document; if there is only a title, it becomes the text.

    Returns:
        None if all fields are missing, or a field is neither a string nor a list of strings.
    """
    names = ("title", *_text_fields(record))
    found = [_join_texts(record.get(name)) for name in names]
    if None in found or all(record.get(name) is None for name in names):
        return None
    title, *parts = map(str, found)
    text = "\n".join(part for part in parts if part.strip())
    return (title, text) if text else ("", title)


def _text_fields(record: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the fields that make up the text of a JSON document."""
    groups = (("contents",), SCIENTIFIC_TEXT_FIELDS, ("text",))
    return next((group for group in groups if record.keys() & {*group}), SCIENTIFIC_TEXT_FIELDS)


def _find_unread_text(record: dict[str, Any]) -> str:
    """Return `name: text` for the first unimported field whose text has several words, or ""."""
    read = {"id", "url", "title", *_text_fields(record)}
    texts = ((key, _join_texts(value)) for key, value in record.items() if key not in read)
    found = next((f"{key}: {text}" for key, text in texts if text and _WORDS.search(text)), "")
    return found.encode("utf-8", "replace").decode()


def _join_texts(field_value: object) -> str | None:
    """Convert the value of a JSON field to one string; return None for other types.

    A list of strings is joined with LF; null becomes an empty string.
    """
    if field_value is None or isinstance(field_value, str):
        return field_value or ""
    is_list = isinstance(field_value, list) and all(isinstance(item, str) for item in field_value)
    return "\n".join(field_value) if is_list else None  # type: ignore[arg-type]
