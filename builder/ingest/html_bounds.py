"""What is looked at before a page is parsed: that neither parsing nor reading it takes for ever.

The parser compares every attribute of a tag with all others, and the search for the main text goes
back up at every step: both take time with the square of something that a stranger chooses.
"""

import re

MOST_ATTRIBUTES = 5000
"""Attributes of one tag beyond which a page is not parsed."""
SUSPICIOUS_CHARS = 20_000
"""Fewer characters hold no tag with so many attributes."""
DEEPEST = 1500
"""Tags within tags beyond which no main text is looked for; of 1,327 real pages none passes 750."""

CLOSED_BY_OTHERS = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr", "p", "li", "td", "tr", "th", "dt", "dd", "option", "optgroup"),
        *("tbody", "thead", "tfoot", "colgroup", "rp", "rt"),
    }
)
"""Tags that need no end: they nest only within others."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_OPENING = re.compile(r"<(?:(!--)|([a-zA-Z][^\s/>]*))")
_ATTRIBUTE = re.compile(r"""[\s/]*[^\s/>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?|[\s/]*=+""")
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}


def has_too_many_attributes(html: str) -> bool:
    """Whether a tag has more than `MOST_ATTRIBUTES`."""
    if all(len(piece) < SUSPICIOUS_CHARS for piece in html.split("<")):
        return False
    place = 0
    while opening := _OPENING.search(html, place):
        place = opening.end()
        if opening[1]:
            place = _after(_COMMENT_END, html, opening.start() + 2)
            continue
        count = 0
        while attribute := _ATTRIBUTE.match(html, place):
            place, count = attribute.end(), count + 1
            if count > MOST_ATTRIBUTES:
                return True
        raw = _RAW_END.get(opening[2].lower())
        if raw is not None:
            place = _after(raw, html, place)
    return False


def _after(pattern: re.Pattern[str], html: str, place: int) -> int:
    found = pattern.search(html, place)
    return found.end() if found else len(html)


def is_too_deep(html: str) -> bool:
    """Whether tags lie in one another deeper than `DEEPEST`."""
    if html.count("<") <= DEEPEST:
        return False
    depth = 0
    for end, name in _TAG.findall(html):
        if name.lower() not in CLOSED_BY_OTHERS:
            depth += -1 if end else 1
            if depth > DEEPEST:
                return True
    return False
