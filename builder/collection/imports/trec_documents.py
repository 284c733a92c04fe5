"""Reads the documents of a TREC file, even if end tags or line breaks are missing.

Input: bytes of the file. Output: a document for each `<DOC>` element. Damaged elements are
rejected, and documents with content outside the imported fields are logged as irregular.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from builder.collection.export.markup import unescape_markup
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.release_document import MAX_DOCUMENT_BYTES, ReleaseDocument

_MAX_BOUNDARY_BYTES = 256
"""Maximum size in bytes of the tags and spaces that separate two documents."""
_BOUNDARY = re.compile(rb"<(?:(/)DOC>[ \t\r]{0,200}\n|DOC>\s{0,200}<DOC(?:NO|ID)>)")
"""Pattern of the end tag of a document at the end of a line, or of the start of a document.

A start tag must be followed by the document id, because `<DOC>` alone may be part of a text.
"""
_ANY_DOC_TAG = re.compile(rb"</?DOC(?:NO|ID)?\b")
_DOCNO = re.compile(rb"<DOCNO>\s*([^<>\s]{1,200})\s*</DOCNO>")
_DOCID = re.compile(rb"<DOCID>\s*([^<>\s]{1,200})\s*</DOCID>")
_FIELD = re.compile(rb"<(DOCNO|DOCID|TITLE|URL)>([^<]*)</\1>")
"""Pattern of the imported fields other than `<TEXT>`."""
_TAG = re.compile(rb"<[^<>]*>")
_BETWEEN_TEXTS = re.compile(rb"</TEXT>\s*<TEXT>")


def parse_trec_documents(
    chunks: Iterable[bytes], name: str, import_log: ImportLog, *, is_markup_escaped: bool
) -> Iterator[ReleaseDocument]:
    """Yield the documents in a TREC file.

    Args:
        chunks: Bytes of the file.
        name: Name of the file in the log.
        import_log: Log to which rejected documents and unread fields are added.
        is_markup_escaped: Whether markup in texts is escaped, as in exports of this package.
    """
    number, has_content = 0, False
    for record in _split_at_documents(chunks):
        has_content = has_content or bool(record.strip())
        if not _ANY_DOC_TAG.search(record):
            continue
        number += 1
        import_log.records_read += 1
        document = _parse_trec_document(
            record, number, name, import_log, is_markup_escaped=is_markup_escaped
        )
        if isinstance(document, str):
            import_log.add_reject(document, name, number)
        else:
            yield document
    if has_content and not number:
        import_log.records_read += 1
        import_log.add_reject("unknown_document_format", name, 1)


def _split_at_documents(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of a file, split before the start and after the end of each document."""
    remainder = b""
    for chunk in chain(chunks, (b"\n",)):
        buffer = remainder + chunk
        start, scanned = 0, max(0, len(remainder) - _MAX_BOUNDARY_BYTES)
        for boundary in _BOUNDARY.finditer(buffer, scanned):
            is_end = boundary[1] is not None
            context = max(start, boundary.start() - _MAX_BOUNDARY_BYTES)
            if is_end and not _is_end_of_document(buffer[context : boundary.start()]):
                continue
            stop = boundary.end() if is_end else boundary.start()
            yield buffer[start:stop]
            start = stop
        remainder = buffer[start:]
        if len(remainder) > MAX_DOCUMENT_BYTES:
            yield remainder
            remainder = b""
    yield remainder


def _is_end_of_document(preceding_bytes: bytes) -> bool:
    """Whether a `</DOC>` after the given bytes is alone on its line or directly after `</TEXT>`."""
    preceding = preceding_bytes.rstrip(b" \t")
    return not preceding or preceding.endswith((b"\n", b"</TEXT>"))


def _parse_trec_document(
    record: bytes, number: int, name: str, import_log: ImportLog, *, is_markup_escaped: bool
) -> ReleaseDocument | str:
    """Parse a TREC `<DOC>` element; return the reject reason as a string if it is invalid."""
    if len(record) > MAX_DOCUMENT_BYTES:
        return "document_too_long"
    if not record.rstrip().endswith(b"</DOC>"):
        return "document_without_end"
    if max(len(pattern.findall(record)) for pattern in (_DOCNO, _DOCID)) > 1:
        return "document_with_several_ids"
    body_start, body_end = record.find(b"<TEXT>"), record.rfind(b"</TEXT>")
    head = record if body_start < 0 else record[:body_start]
    match = _DOCNO.search(head) or _DOCID.search(head)
    if match is None:
        return "document_without_id"
    if body_start < 0 or body_end < body_start:
        return "document_without_text"
    fields, unread = _parse_fields_around_text(head + record[body_end + len(b"</TEXT>") :])
    body = _BETWEEN_TEXTS.sub(b"\n", record[body_start + len(b"<TEXT>") : body_end])
    try:
        texts = [part.decode("utf-8") for part in (fields.get(b"TITLE", b""), body)]
    except UnicodeDecodeError:
        return "not_utf8"
    if unread:
        import_log.add_irregularity("unread_fields", name, number, unread)
    title, text = map(unescape_markup, texts) if is_markup_escaped else texts
    titled = (title, text) if text.strip() else ("", title)
    doc_id, url = (
        value.decode("utf-8", "replace") for value in (match[1], fields.get(b"URL", b""))
    )
    return ReleaseDocument(doc_id, *titled, number, url)


def _parse_fields_around_text(around_text: bytes) -> tuple[dict[bytes, bytes], str]:
    """Return the fields of a document except `<TEXT>`, and any content that is not imported."""
    fields: dict[bytes, bytes] = {}

    def take_first(field: re.Match[bytes]) -> bytes:
        value = field[2].strip()
        return b"" if fields.setdefault(field[1], value) == value else field[0]

    rest = _FIELD.sub(take_first, around_text)
    is_read = not _TAG.sub(b"", rest).strip()
    unread = b"" if is_read else re.sub(rb"</?DOC>|\s+", b" ", rest).strip()
    return fields, unread.decode("utf-8", "replace")
