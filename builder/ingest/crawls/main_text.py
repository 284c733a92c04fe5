"""Extracts the main text of HTML pages with resiliparse (Bevendorff et al. 2018).

Input: the markup or the tree of a page. Output: its main text, or all visible text if the main text
is only a tiny fraction of it. Before the extraction, some elements are renamed and some short texts
are marked, so that resiliparse neither drops them nor joins them with the next word.
"""

import re
import unicodedata
from html import unescape
from typing import cast

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import ElementNode, HTMLTree

SHORT_MAIN_CHARS = 400
"""Main texts with fewer characters than this may be wrong, and are therefore checked."""
NESTING_OF_LISTS = 3
"""Nesting depth from which resiliparse no longer mistakes every bulleted list for navigation."""
MIN_MAIN_SHARE = 0.1
"""Minimum length of a short main text, as a fraction of the length of the visible text. If the main
text is shorter, all visible text is used instead."""
REPLACED_TAGS = {
    "time": "span",
    "button": "span",
    "summary": "div",
    "legend": "div",
    "figure": "div",
    "figcaption": "div",
    "dialog": "div",
    "search": "div",
    "menu": "ul",
    "dir": "ul",
}
"""Maps tags to similar tags that resiliparse, unlike the original ones, treats as content, as
blocks or as lists."""
REPLACED_SELECTOR = ",".join(
    [
        *(tag for tag in REPLACED_TAGS if tag != "button"),
        *(f"h{level} button" for level in range(1, 7)),
    ]
)
"""CSS selector of the elements to rename. Buttons are renamed only in headings, where their text
is the title of a section that can be expanded."""
SKIPPED_ELEMENTS = ["noframes", "noembed"]
"""Elements whose content is markup that browsers neither parse nor show."""
SHORT_TEXT = re.compile(r">\s*([A-Za-z0-9]?(?:[^\x00-\x7f]|&#?\w+;))(?=\s*(?:<|\Z))")
"""Matches a text between two tags that consists of a non-ASCII character or an entity, such as `水`
or `&euro;`, possibly after a letter or digit, as in `où`."""
DROPPED_BYTES = 3
"""UTF-8 length of a text between two tags that resiliparse mistakes for an icon and drops."""
ICON_CATEGORIES = frozenset({"So", "Co", "Cn", "Cf"})
"""Unicode categories of icons and invisible characters. Compatibility characters in these
categories, such as `℃`, are not considered icons."""
MARK = "\ufdd0"
"""Unicode noncharacter that is appended to short texts that resiliparse would otherwise drop, and
removed from the extracted text."""


def mark_short_texts(html: str) -> str:
    """Add `MARK` to each short text that resiliparse would otherwise drop as an icon."""
    return SHORT_TEXT.sub(_mark_short_text, html)


def _mark_short_text(match: re.Match[str]) -> str:
    """Return a match of `SHORT_TEXT`, with `MARK` appended if resiliparse would drop the text."""
    text = unescape(match[1]).strip()
    is_dropped = len(text.encode()) == DROPPED_BYTES
    return match[0] + MARK if is_dropped and not _is_icon(text) else match[0]


def _is_icon(text: str) -> bool:
    """Whether a text is a single symbol, private-use character or invisible character."""
    if len(text) > 1 or unicodedata.normalize("NFKC", text) != text:
        return False
    return unicodedata.category(text) in ICON_CATEGORIES


def extract_main_text(tree: HTMLTree) -> str:
    """Extract the main text of an HTML page, or all visible text if the main text is too short."""
    _wrap_body_content(tree)
    _replace_tags(tree)
    main = _extract_text(tree, main_content=True)
    if len(main) >= SHORT_MAIN_CHARS:
        return main
    whole = extract_visible_text(tree)
    return whole if len(main) < MIN_MAIN_SHARE * len(whole) else main


def _wrap_body_content(tree: HTMLTree) -> None:
    """Wrap the content of a page in `div` elements.

    resiliparse mistakes bulleted lists near the root of the tree for navigation. On a page with
    little nesting, it would therefore drop lists that belong to the main text.
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
    """Rename the elements of a page that `REPLACED_SELECTOR` selects.

    resiliparse drops the text of `time` and `button` elements, such as the date in
    `le <time>3 juin</time>`, and whole figures with their tables and captions. It joins the text of
    a `summary`, `legend`, `dialog` or `search` with the next word, and adds a bullet to the
    paragraph after a `menu` or `dir`.
    """
    body = tree.body
    if body is None:
        return
    for element in body.query_selector_all(REPLACED_SELECTOR)[:]:
        renamed = cast("ElementNode", tree.create_element(REPLACED_TAGS[str(element.tag)]))
        for name in element.attrs:
            renamed[name] = element[name]
        cast("ElementNode", element.parent).replace_child(renamed, element)
        for node in element.child_nodes[:]:
            renamed.append_child(node)


def extract_visible_text(tree: HTMLTree) -> str:
    """Extract all visible text of an HTML page."""
    return _extract_text(tree, main_content=False)


def _extract_text(tree: HTMLTree, *, main_content: bool) -> str:
    """Extract the main text or all visible text of an HTML page."""
    text: str = extract_plain_text(
        tree, main_content=main_content, alt_texts=False, skip_elements=SKIPPED_ELEMENTS
    )
    return text
