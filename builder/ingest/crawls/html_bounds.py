"""What is looked at before a page is parsed: that neither parsing nor reading it takes for ever.

The parser compares every attribute of a tag with all others, and the search for the main text goes
back up at every step: both take time with the square of something that a stranger chooses.
"""

import re

import polars as pl

MOST_ATTRIBUTES = 5000
"""Attributes of one tag beyond which a page is not parsed."""
LONG = 2 * MOST_ATTRIBUTES
"""Characters of a tag with more attributes, at least: each has one, and one before the next. Such a
tag goes on for as long without `>`, or has it within quotes."""
QUOTED_END = r"""=\s*(?:"[^"]*>|'[^']*>)"""
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
SUSPICIOUS_TAG = (
    r"<[a-zA-Z][^\s/>]*(?:"
    rf"[\s/]+[^\s/>][^\s/>=]*(?:\s*=\s*(?:{_QUOTED}|[^\s>\"'][^\s>]*)?)?"
    rf"|[^\s/>=]+\s*=\s*{_QUOTED}"
    r"){100}"
)
"""What has a hundred attributes, or looks so: after a space, or a value in quotes with none before.
One of two attributes may be missed, none of the tags with many. The automaton of the engine takes
linear time, whatever it is given."""
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

_BEGIN, _QUOTED_END = re.compile(r"<[a-zA-Z]"), re.compile(QUOTED_END)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_OPENING = re.compile(r"<(?:(!--)|([a-zA-Z][^\s/>]*))")
_ATTRIBUTE = re.compile(r"""[\s/]*[^\s/>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?|[\s/]*=+""")
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}


def has_too_many_attributes(html: str) -> bool:
    """Whether a tag has more than `MOST_ATTRIBUTES`."""
    if len(html) <= LONG or not (_has_long_tag(html) or _QUOTED_END.search(html)):
        return False
    if not pl.Series([html]).str.contains(SUSPICIOUS_TAG)[0]:
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


def _has_long_tag(html: str) -> bool:
    """Whether what looks like a tag goes on for `LONG` characters without `>`."""
    start = 0
    while start + LONG <= len(html):
        end = html.rfind(">", start, start + LONG)
        if end < 0:
            end = html.find(">", start + LONG)
            end = len(html) if end < 0 else end
            tag = _BEGIN.search(html, start, end)
            if tag is not None and end - tag.start() >= LONG:
                return True
        start = end + 1
    return False


def _after(pattern: re.Pattern[str], html: str, place: int) -> int:
    found = pattern.search(html, place)
    return found.end() if found else len(html)


def is_too_deep(html: str) -> bool:
    """Whether tags lie in one another deeper than `DEEPEST`."""
    begun = html.count("<")
    if begun <= DEEPEST or begun - html.count("</") <= DEEPEST:
        return False
    depth = 0
    for end, name in _TAG.findall(html):
        if name.lower() not in CLOSED_BY_OTHERS:
            depth += -1 if end else 1
            if depth > DEEPEST:
                return True
    return False
