"""Extracts the title, main text, declared language and dates from HTML pages.

Input: the bytes of a page, and the charset in the HTTP header (see `charsets`). The text and the
dates are extracted by `main_text` and `dates`.
"""

import re
from typing import NamedTuple

from resiliparse.parse.html import DocumentNode, ElementNode, HTMLTree

from builder.ingest.crawls.charsets import decode
from builder.ingest.crawls.dates import extract_dates
from builder.ingest.crawls.html_bounds import has_too_many_attributes, is_nested_too_deeply
from builder.ingest.crawls.main_text import (
    MARK,
    extract_main_text,
    extract_visible_text,
    mark_short_texts,
)
from builder.ingest.rejects import RejectError

_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|"
    rb"table|a|style|title|b|body|br|p)[\t\n\x0c\r >])",
    re.IGNORECASE,
)
"""Matches the start of a body that is HTML according to WHATWG MIME Sniffing, section 7.1."""
BINARY_SIGNATURES = (
    *(b"%PDF-", b"%!PS-Adobe-", b"PK\x03\x04", b"Rar!\x1a\x07", b"7z\xbc\xaf\x27\x1c"),
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"),
)
"""Magic numbers of PDF files, archives and images, which some servers send as `text/html`."""


class HtmlPage(NamedTuple):
    """Title, text, declared language and dates (Unix seconds) extracted from an HTML page."""

    title: str
    text: str
    language: str | None
    published_at: int | None
    modified_at: int | None


def looks_like_html(body: bytes) -> bool:
    """Whether a body without a content type is HTML, according to the MIME sniffing standard."""
    return _HTML_START.match(body) is not None


def has_binary_signature(body: bytes) -> bool:
    """Whether a body starts with the magic number of a PDF, an archive or an image."""
    return body.startswith(BINARY_SIGNATURES)


def parse_html(body: bytes, charset: str | None, fetched_at: int) -> HtmlPage:
    """Extract the title, text, language and dates of an HTML page.

    Args:
        body: Bytes of the page.
        charset: Charset in the HTTP header, if any.
        fetched_at: Fetch time in Unix seconds; dates more than a day later are ignored.

    Raises:
        RejectError: the page cannot be parsed, or a tag has too many attributes.
    """
    try:
        html = decode(body, charset)
        if has_too_many_attributes(html):
            raise RejectError("too_many_attributes")
        tree = HTMLTree.parse(mark_short_texts(html))
        page = tree.document
        if page is None:
            raise ValueError("no document")
        published, modified = extract_dates(page, fetched_at)
        text = extract_visible_text(tree) if is_nested_too_deeply(html) else extract_main_text(tree)
        title, text = (tree.title or "").replace(MARK, ""), text.replace(MARK, "")
        return HtmlPage(title, text, _declared_language(page), published, modified)
    except RejectError:
        raise
    except (RuntimeError, ValueError):
        raise RejectError("not_html") from None


def _declared_language(page: DocumentNode) -> str | None:
    """Return the language code in `<html lang>` without the region; None if missing or invalid."""
    root = page.query_selector("html")
    if not isinstance(root, ElementNode):
        return None
    declared = root.getattr("lang") or root.getattr("xml:lang") or ""
    code = declared.replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else None
