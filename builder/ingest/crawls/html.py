"""HTML -> title, main text, language and dates.

In: the bytes of a page and what the HTTP header says of their charset. The charset is told by a
byte order mark, then the header, then the page itself: meta, then whether it is UTF-8 (which text
in another charset hardly is by chance), then statistics, which err on short texts. Main content is
resiliparse's (Bevendorff et al. 2018); where its rules find next to nothing on a long page, the
whole visible text stands instead.
"""

import codecs
import re
from typing import NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import DocumentNode, ElementNode, HTMLTree

from builder.ingest.crawls.dates import page_dates
from builder.ingest.crawls.html_bounds import has_too_many_attributes, is_too_deep
from builder.ingest.rejects import RejectError

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SHORT_MAIN = 400
"""Characters below which main text is suspected to have missed the page."""
LEAST_SHARE = 0.1
"""Part of the visible text that a short main text must be."""


UTF8 = "utf-8"
_DECLARED = re.compile(rb"charset|encoding", re.IGNORECASE)
DECLARED_WITHIN = 2048
"""Bytes in which a page may declare its charset."""
_BEYOND_ASCII, _ESCAPED = re.compile(r"[^\x00-\x7f]"), re.compile(r"[\udc80-\udcff]")
_UNESCAPED = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(128, 256)
}
"""What Python makes of a byte that is no UTF-8, to the character that it is in windows-1252."""

_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|"
    rb"table|a|style|title|b|body|br|p)[\t\n\x0c\r >])",
    re.IGNORECASE,
)
"""How a page begins whose type nobody gave (WHATWG MIME Sniffing, section 7.1)."""


class HtmlPage(NamedTuple):
    """What an HTML page says."""

    title: str
    text: str
    language: str | None
    published_at: int | None
    modified_at: int | None


def looks_like_html(body: bytes) -> bool:
    """Whether bytes of no given type are taken for HTML, as browsers do."""
    return _BEGINNING.match(body) is not None


def read_html(body: bytes, charset: str | None, fetched_at: int) -> HtmlPage:
    """The contents of an HTML page.

    Args:
        body: The page's bytes.
        charset: What the HTTP header says, if anything.
        fetched_at: Unix seconds; the page's own dates cannot lie after it.

    Raises:
        RejectError: the page cannot be parsed.
    """
    try:
        html = decode(body, charset)
        if has_too_many_attributes(html):
            raise RejectError("too_many_attributes")
        tree = HTMLTree.parse(html)
        page = tree.document
        if page is None:
            raise ValueError("no document")
        published, modified = page_dates(page, fetched_at)
        text = visible_text(tree) if is_too_deep(html) else main_text(tree)
        return HtmlPage(tree.title or "", text, _language(tree, page), published, modified)
    except RejectError:
        raise
    except (RuntimeError, ValueError):
        raise RejectError("not_html") from None


def decode(body: bytes, charset: str | None) -> str:
    """The text of a page's bytes; bytes that are wrong in its charset are tried in others."""
    mark, encoding = next(((m, e) for m, e in MARKS if body.startswith(m)), (b"", None))
    data = body[len(mark) :]
    encoding = encoding or _known(charset)
    if encoding is None and _DECLARED.search(body[:DECLARED_WITHIN]):
        encoding = _detected(body)
    text = _from_utf8(data) if encoding in (None, UTF8) else None
    return bytes_to_str(data, encoding or _detected(body)) if text is None else text


def _detected(body: bytes) -> str:
    """The charset that a page declares, or that its bytes look like."""
    return detect_encoding(body, from_html_meta=True) or UTF8


def _from_utf8(data: bytes) -> str | None:
    """Text that is UTF-8, by all characters beyond ASCII or most of them; None where it is not.

    Other bytes among them, as templates leave them that mix charsets, are windows-1252. Of a last
    character that is cut nothing is left.
    """
    if data.isascii():
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        text, _ = codecs.utf_8_decode(data, "surrogateescape", False)
    wrong, beyond = (len(pattern.findall(text)) for pattern in (_ESCAPED, _BEYOND_ASCII))
    return text.translate(_UNESCAPED) if beyond > 2 * wrong else None


def main_text(tree: HTMLTree) -> str:
    """Main text of a page, or all its visible text where next to nothing was taken for main."""
    main: str = extract_plain_text(tree, main_content=True, alt_texts=False)
    if len(main) >= SHORT_MAIN:
        return main
    whole = visible_text(tree)
    return whole if len(main) < LEAST_SHARE * len(whole) else main


def visible_text(tree: HTMLTree) -> str:
    """All text of a page."""
    whole: str = extract_plain_text(tree, main_content=False, alt_texts=False)
    return whole


def _language(tree: HTMLTree, page: DocumentNode) -> str | None:
    """The language that the page declares: the first subtag of `<html lang>`."""
    root = tree.body.parent if tree.body else page.query_selector("html")
    if not isinstance(root, ElementNode):
        return None
    declared = root.getattr("lang") or root.getattr("xml:lang") or ""
    code = declared.replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else None


def _known(charset: str | None) -> str | None:
    """A charset that Python knows, or None."""
    try:
        return codecs.lookup(charset).name if charset else None
    except (LookupError, ValueError):
        return None
