"""HTML -> title, main text, language and dates.

In: the bytes of a page and the charset of the HTTP header, see `charsets`. Main content is
resiliparse's (Bevendorff et al. 2018); where its rules find next to nothing on a long page, the
whole visible text stands instead.
"""

import re
from typing import NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import DocumentNode, ElementNode, HTMLTree

from builder.ingest.crawls.charsets import decode
from builder.ingest.crawls.dates import page_dates
from builder.ingest.crawls.html_bounds import has_too_many_attributes, is_too_deep
from builder.ingest.rejects import RejectError

SHORT_MAIN = 400
"""Characters below which main text is suspected to have missed the page."""
LEAST_SHARE = 0.1
"""Part of the visible text that a short main text must be."""


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
