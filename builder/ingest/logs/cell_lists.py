"""Lists in a cell of CSV or TSV, in any of the usual notations.

JSON (`["a", "b"]`), the output of Python and NumPy (`['a', 'b']`, `['a' 'b']`, `[('a', 1)]`),
arrays of PostgreSQL (`{a,b}`), or items between separators. Nothing is evaluated: a list is parsed
item by item.
"""

import re
from contextlib import suppress
from typing import Any

import orjson

from builder.ingest.rejects import RejectError

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
WORDS = {"True": True, "False": False}
PLAIN = rf"{QUOTED}|(?:\d{{1,18}}|True|False|None)(?=[\s,\])])"
TUPLE = rf"\(\s*(?:{PLAIN})(?:\s*,\s*(?:{PLAIN}))*(?:\s*,)?\s*\)"
PRINTED = re.compile(rf"{PLAIN}|{TUPLE}", re.DOTALL)
WITHIN = re.compile(PLAIN, re.DOTALL)
ARRAY = re.compile(rf"{QUOTED}|[^\s,{{}}\"\\][^,{{}}\"\\]*", re.DOTALL)
SPACE = re.compile(r"\s*")
BETWEEN = re.compile(r"\s*,?\s*")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
KINDS = {"[": ("]", PRINTED), "{": ("}", ARRAY)}
"""Opening bracket of a list: its closing bracket, and the pattern of its items."""
ABSENT = frozenset({"NULL", "null", "\\N", "None", "NaN", "nan", "NA"})
"""How databases and programs write a missing value; none of these is an address or a rank."""


def split_list(cell: str, separator: str) -> list[Any]:
    """The items of a cell.

    Args:
        cell: Its text.
        separator: Between items, where the cell is not in another notation.

    Raises:
        RejectError: it begins as a list and cannot be parsed.
    """
    text = cell.strip()
    if text in ABSENT:
        return []
    if text[:1] not in KINDS:
        return [item for item in text.split(separator) if item]
    if text.startswith("["):
        with suppress(orjson.JSONDecodeError):
            return list(orjson.loads(text))
    return _bracketed(text)


def _bracketed(text: str) -> list[Any]:
    """The items of a bracketed list that is not JSON.

    Raises:
        RejectError: it is malformed, or has escapes of unknown meaning.
    """
    end, form = KINDS[text[0]]
    items: list[Any] = []
    at, is_apart = SPACE.match(text, 1).end(), True  # type: ignore[union-attr]
    while not text.startswith(end, at):
        found = form.match(text, at) if is_apart else None
        if found is None:
            raise RejectError("bad_list")
        items.append(_item(found[0]))
        at = BETWEEN.match(text, found.end()).end()  # type: ignore[union-attr]
        is_apart = at > found.end()
    if at != len(text) - 1:
        raise RejectError("bad_list")
    return items


def _item(written: str) -> object:
    """An item as text without quotes, number, boolean or None; a tuple as a list."""
    if written[0] == "(":
        return [_item(item[0]) for item in WITHIN.finditer(written)]
    if written[0] in "'\"":
        inner = written[1:-1]
        if any(escaped not in "\\'\"" for escaped in ESCAPE.findall(inner)):
            raise RejectError("bad_list")
        return ESCAPE.sub(r"\1", inner)
    if written.isascii() and written.isdigit():
        return int(written)
    if written in WORDS:
        return WORDS[written]
    return None if written in ABSENT else written.strip()
