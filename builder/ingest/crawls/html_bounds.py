"""Checks whether an HTML page can be parsed in reasonable time.

The parser compares every attribute of a tag with all its other attributes, and main-text extraction
walks up the tree from every node. On malicious pages, both steps take quadratic time.
"""

import re

MAX_ATTRIBUTES = 5000
"""Maximum number of attributes per tag; pages with more are rejected."""
LONG_TAG_CHARS = 2 * MAX_ATTRIBUTES
"""Minimum length in characters of a tag with too many attributes, at two characters per attribute.
Such a tag contains no `>` in these characters, except within quotes."""
MAX_DEPTH = 1500
"""Nesting depth above which the main text is not extracted; in 1,327 real pages, the depth was
below 750."""

OPTIONAL_END_TAGS = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr", "p", "li", "td", "tr", "th", "dt", "dd", "option", "optgroup"),
        *("tbody", "thead", "tfoot", "colgroup", "rp", "rt"),
    }
)
"""Elements whose end tag is optional or forbidden; they do not count toward the nesting depth."""

_TAG_START = re.compile(r"<[a-zA-Z]")
_QUOTED_ENDS = re.compile(r'=\s*"[^"]*>'), re.compile(r"=\s*'[^']*>")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_OPENING = re.compile(r"<(?:(!--)|([a-zA-Z][^\s/>]*))")
_ATTRIBUTE = re.compile(r"""[\s/]*[^\s/>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?|[\s/]*=+""")
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}


def has_too_many_attributes(html: str) -> bool:
    """Whether any tag of a page has more than `MAX_ATTRIBUTES` attributes."""
    if len(html) <= LONG_TAG_CHARS or not _has_long_tag(_mask_quoted_brackets(html)):
        return False
    position = 0
    while opening := _OPENING.search(html, position):
        position = opening.end()
        if opening[1]:
            position = _end_of_match(_COMMENT_END, html, opening.start() + 2)
            continue
        count = 0
        while attribute := _ATTRIBUTE.match(html, position):
            position, count = attribute.end(), count + 1
            if count > MAX_ATTRIBUTES:
                return True
        raw = _RAW_END.get(opening[2].lower())
        if raw is not None:
            position = _end_of_match(raw, html, position)
    return False


def _mask_quoted_brackets(html: str) -> str:
    """Replace each `>` within the quoted value of an attribute with a space."""
    for quoted in _QUOTED_ENDS:
        html = quoted.sub(lambda match: match[0].replace(">", " "), html)
    return html


def _has_long_tag(html: str) -> bool:
    """Whether a page seems to have a tag of at least `LONG_TAG_CHARS` characters without a `>`."""
    start = 0
    while start + LONG_TAG_CHARS <= len(html):
        end = html.rfind(">", start, start + LONG_TAG_CHARS)
        if end < 0:
            end = html.find(">", start + LONG_TAG_CHARS)
            end = len(html) if end < 0 else end
            tag = _TAG_START.search(html, start, end)
            if tag is not None and end - tag.start() >= LONG_TAG_CHARS:
                return True
        start = end + 1
    return False


def _end_of_match(pattern: re.Pattern[str], html: str, position: int) -> int:
    """Return the end of the first match at or after `position`, or the page length if none."""
    match = pattern.search(html, position)
    return match.end() if match else len(html)


def is_nested_too_deeply(html: str) -> bool:
    """Whether the elements of a page seem to be nested deeper than `MAX_DEPTH`."""
    opening_brackets = html.count("<")
    if opening_brackets <= MAX_DEPTH or opening_brackets - html.count("</") <= MAX_DEPTH:
        return False
    depth = 0
    for end, name in _TAG.findall(html):
        if name.lower() not in OPTIONAL_END_TAGS:
            depth += -1 if end else 1
            if depth > MAX_DEPTH:
                return True
    return False
