"""Extracts the title, main text, declared language and dates from HTML pages.

Input: the bytes of a page, and the charset in the HTTP header (see `charsets`). The main text is
extracted with resiliparse (Bevendorff et al. 2018). If it is only a tiny fraction of the visible
text, the visible text is used instead.
"""

import re
from typing import NamedTuple, cast

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import DocumentNode, ElementNode, HTMLTree

from builder.ingest.crawls.charsets import decode
from builder.ingest.crawls.dates import extract_dates
from builder.ingest.crawls.html_bounds import has_too_many_attributes, is_nested_too_deeply
from builder.ingest.rejects import RejectError

SHORT_MAIN_CHARS = 400
"""Length in characters below which the extracted main text may be wrong and is checked."""
NESTING_OF_LISTS = 3
"""Nesting depth from which resiliparse no longer takes every bulleted list for navigation."""
MIN_MAIN_SHARE = 0.1
"""Minimum length of a short main text, as a fraction of the length of the visible text."""
REPLACED_TAGS = {"time": "span", "summary": "div", "legend": "div"}
"""Maps tags that resiliparse recognizes neither as content nor as blocks to similar tags."""
SHORT_TEXT = re.compile(
    r">\s*(?:[^\W\x00-\u07ff\ue000-\uf8ff]|[A-Za-z0-9](?:[\x80-\u07ff]|&#?\w+;))(?=\s*(?:<|\Z))"
)
"""Matches a text between two tags that has three bytes and ends with a non-ASCII character: a
letter such as `水`, or a letter or digit before a character such as the `ù` of `où`."""
MARK = "\ufdd0"
"""Noncharacter that is added to a short text, and removed from the extracted text."""

_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|"
    rb"table|a|style|title|b|body|br|p)[\t\n\x0c\r >])",
    re.IGNORECASE,
)
"""Matches the start of an HTML page without a content type (WHATWG MIME Sniffing, section 7.1)."""
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
        # resiliparse takes such short texts for icons, and drops them
        tree = HTMLTree.parse(SHORT_TEXT.sub(rf"\g<0>{MARK}", html))
        page = tree.document
        if page is None:
            raise ValueError("no document")
        published, modified = extract_dates(page, fetched_at)
        text = extract_visible_text(tree) if is_nested_too_deeply(html) else extract_main_text(tree)
        title, text = (tree.title or "").replace(MARK, ""), text.replace(MARK, "")
        return HtmlPage(title, text, _declared_language(tree, page), published, modified)
    except RejectError:
        raise
    except (RuntimeError, ValueError):
        raise RejectError("not_html") from None


def extract_main_text(tree: HTMLTree) -> str:
    """Extract the main text of an HTML page, or all visible text if the main text is too short."""
    _nest_body(tree)
    _replace_tags(tree)
    main: str = extract_plain_text(tree, main_content=True, alt_texts=False)
    if len(main) >= SHORT_MAIN_CHARS:
        return main
    whole = extract_visible_text(tree)
    return whole if len(main) < MIN_MAIN_SHARE * len(whole) else main


def _nest_body(tree: HTMLTree) -> None:
    """Wrap the content of a page in `div` elements.

    resiliparse takes bulleted lists near the root of the tree for navigation. On a page with little
    nesting, it would therefore drop lists that belong to the main text.
    """
    body = tree.body
    if body is None:
        return
    content = body.child_nodes[:]  # iterating over the nodes takes quadratic time
    innermost = body
    for _ in range(NESTING_OF_LISTS):
        wrapper = cast("ElementNode", tree.create_element("div"))
        innermost.append_child(wrapper)
        innermost = wrapper
    for node in content:
        innermost.append_child(node)


def _replace_tags(tree: HTMLTree) -> None:
    """Rename elements of a page with a tag in `REPLACED_TAGS`.

    resiliparse drops the text of `time` elements, such as the date in `le <time>3 juin</time>`,
    and joins the text of a `summary` or `legend` with the next word.
    """
    body = tree.body
    if body is None:
        return
    for tag, equivalent in REPLACED_TAGS.items():
        for element in body.query_selector_all(tag)[:]:
            renamed = cast("ElementNode", tree.create_element(equivalent))
            for name in element.attrs:
                renamed[name] = element[name]
            cast("ElementNode", element.parent).replace_child(renamed, element)
            for node in element.child_nodes[:]:
                renamed.append_child(node)


def extract_visible_text(tree: HTMLTree) -> str:
    """Extract all visible text of an HTML page."""
    whole: str = extract_plain_text(tree, main_content=False, alt_texts=False)
    return whole


def _declared_language(tree: HTMLTree, page: DocumentNode) -> str | None:
    """Return the language code in `<html lang>` without the region; None if missing or invalid."""
    root = tree.body.parent if tree.body else page.query_selector("html")
    if not isinstance(root, ElementNode):
        return None
    declared = root.getattr("lang") or root.getattr("xml:lang") or ""
    code = declared.replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else None
