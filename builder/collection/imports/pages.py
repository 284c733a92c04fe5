"""Documents of a release: TREC files, arrays of JSON objects, or JSON lines, whatever their names.

In: files, plain or packed. Out: id in the release and text of each document, with its number in the
file. What a file is, its first bytes say.
"""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from builder.collection.export.markup import unescape_markup
from builder.collection.imports.notes import Notes
from builder.ingest.lines import BOM, read_byte_chunks
from builder.io.sources import Source

LONGEST = 64 * 2**20
"""Bytes of the longest document that is read."""
_NUMBER = re.compile(rb"<DOCNO>\s*([^<>\s]{1,200})\s*</DOCNO>")
_ID = re.compile(rb"<DOCID>\s*([^<>\s]{1,200})\s*</DOCID>")
_SPACE = re.compile(r"[\s,\[\]\ufeff]*")
"""What may stand between values: an array's brackets and commas too."""
_END = re.compile(rb"^[ \t]*</DOC>[ \t\r]*$", re.MULTILINE)

SCIENTIFIC = ("abstract", "fullText")
"""Texts of a document of `longeval-sci`, which has no `contents`."""


class Page(NamedTuple):
    """A document of a release.

    Args:
        alias: Its id there.
        title: Its title; empty where it has none of its own.
        text: Its text.
        number: 1-based number in the file.
    """

    alias: str
    title: str
    text: str
    number: int


def read_pages(path: Path, name: str, notes: Notes, *, is_escaped: bool) -> Iterator[Page]:
    """The documents of a file.

    Args:
        path: The file.
        name: How rejects name it.
        notes: Where rejects go.
        is_escaped: Whether markup in texts is escaped, as our exports do.
    """
    data = _pieces(path, name, notes)
    head = next(data, b"")
    start = head.removeprefix(BOM).lstrip()[:1]
    stream = _again(head.removeprefix(BOM), data)
    if start in (b"[", b"{"):
        yield from _json_pages(stream, name, notes)
    else:
        yield from _trec_pages(stream, name, notes, is_escaped=is_escaped)


def _again(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from rest


def _pieces(path: Path, name: str, notes: Notes) -> Iterator[bytes]:
    for piece, fault in read_byte_chunks(Source(path, name)):
        yield piece
        if fault is not None:
            notes.offered += 1
            notes.reject(fault, name, 1)


def _trec_pages(
    data: Iterator[bytes], name: str, notes: Notes, *, is_escaped: bool
) -> Iterator[Page]:
    number, rest = 0, b""
    for piece in data:
        whole = rest + piece
        start = 0
        for end in _END.finditer(whole):
            number += 1
            notes.offered += 1
            page = _trec_page(whole[start : end.start()], number, is_escaped=is_escaped)
            if isinstance(page, str):
                notes.reject(page, name, number)
            else:
                yield page
            start = end.end()
        rest = whole[start:]
        if len(rest) > LONGEST:
            rest = b""
            notes.offered += 1
            notes.reject("document_too_long", name, number + 1)
    if b"<DOC>" in rest:
        notes.offered += 1
        notes.reject("document_without_end", name, number + 1)


def _trec_page(record: bytes, number: int, *, is_escaped: bool) -> Page | str:
    """A document, or why it is none."""
    body_start, body_end = record.find(b"<TEXT>"), record.rfind(b"</TEXT>")
    head = record if body_start < 0 else record[:body_start]
    found = _NUMBER.search(head) or _ID.search(head)
    if found is None:
        return "document_without_id"
    if body_start < 0 or body_end < body_start:
        return "document_without_text"
    try:
        text = record[body_start + len(b"<TEXT>") : body_end].decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    alias = found[1].decode("utf-8", "replace")
    return Page(alias, "", unescape_markup(text) if is_escaped else text, number)


def _json_pages(data: Iterator[bytes], name: str, notes: Notes) -> Iterator[Page]:
    for number, found in enumerate(_values(data), 1):
        notes.offered += 1
        page = "not_json" if found is None else _json_page(found, number)
        if isinstance(page, str):
            notes.reject(page, name, number)
        else:
            yield page


def _values(data: Iterator[bytes]) -> Iterator[Any]:
    """The values of an array, or of lines, however they are broken; None where one is damaged."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    parse = json.JSONDecoder().raw_decode
    text, at = "", 0
    for piece in chain(data, (b"",)):
        is_last = not piece
        text, at = text[at:] + decoder.decode(piece, final=is_last), 0
        while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            try:
                value, at = parse(text, at)
            except (ValueError, RecursionError):
                if not is_last and len(text) - at < LONGEST:
                    break
                value, at = None, _next_line(text, at)
            yield value


def _next_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _json_page(found: object, number: int) -> Page | str:
    if not isinstance(found, dict):
        return "not_an_object"
    alias = found.get("id")
    if not isinstance(alias, str | int) or isinstance(alias, bool):
        return "document_without_id"
    texts = _texts(found)
    if texts is None:
        return "document_without_text"
    is_unicode = _is_unicode(f"{alias}{''.join(texts)}")
    return Page(str(alias), *texts, number) if is_unicode else "lone_surrogate"


def _texts(found: dict[str, Any]) -> tuple[str, str] | None:
    """Title and text of a document; a title alone is its text."""
    if "contents" in found:
        return ("", found["contents"]) if isinstance(found["contents"], str) else None
    title, *parts = (found.get(name) for name in ("title", *SCIENTIFIC))
    if not any(isinstance(part, str) for part in (title, *parts)):
        return None
    text = "\n".join(part for part in parts if isinstance(part, str) and part.strip())
    title = title if isinstance(title, str) else ""
    return (title, text) if text else ("", title)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
