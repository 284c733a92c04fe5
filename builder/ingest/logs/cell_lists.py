"""Parses lists stored as strings, in CSV or TSV cells or in Parquet string columns.

Supported notations: JSON (`["a", "b"]`), Python and NumPy output (`['a', 'b']`, `['a' 'b']`,
`[('a', 1)]`), PostgreSQL arrays (`{a,b}`), and items joined by a separator. Strings are parsed,
never evaluated as code.
"""

import re
from contextlib import suppress
from typing import Any

import orjson

from builder.ingest.delimited import NULLS
from builder.ingest.logs.records import Record
from builder.ingest.logs.scalars import parse_integer
from builder.ingest.rejects import RejectError
from builder.parameters import LogParameters

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
BOOLEANS = {"True": True, "False": False}
SCALAR = rf"{QUOTED}|(?:\d{{1,18}}|True|False|None)(?=[\s,\])])"
TUPLE = rf"\(\s*(?:{SCALAR})(?:\s*,\s*(?:{SCALAR}))*(?:\s*,)?\s*\)"
PYTHON_ITEM = re.compile(rf"{SCALAR}|{TUPLE}", re.DOTALL)
TUPLE_ITEM = re.compile(SCALAR, re.DOTALL)
POSTGRES_ITEM = re.compile(rf"{QUOTED}|[^\s,{{}}\"\\][^,{{}}\"\\]*", re.DOTALL)
SPACE = re.compile(r"\s*")
ITEM_SEPARATOR = re.compile(r"\s*,?\s*")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
JOINED_ITEMS = re.compile(r"(?i)[|;,\s](?:https?://|www\.)|^[0-9]+\s*(?:[|;,]|\s[0-9])[|;,\s0-9]*$")
"""Matches an item that consists of several URLs or numbers, because the list has a different
separator than configured. The pattern is also valid in Polars."""
BRACKETS = {"[": ("]", PYTHON_ITEM), "(": (")", PYTHON_ITEM), "{": ("}", POSTGRES_ITEM)}
"""Maps each opening bracket to its closing bracket and the pattern of an item."""
BRACKETED_LIST = re.compile(r"[\[{]|\((?:\s*['\"(]|[\d\s,]*\)\Z)")
"""Matches the start of a bracketed list. A parenthesis may also start an id, such as `(DE-627)12`;
it starts a tuple if a quote or parenthesis follows, or if the tuple contains only numbers."""


def parse_lists_stored_as_text(record: Record, params: LogParameters) -> Record | str:
    """Parse the results and clicks of a record if they are strings, such as `"['a', 'b']"`.

    Args:
        record: Values by field name, with the field names of the log.
        params: Section `[log]` of the definition.

    Returns:
        The record with lists in place of strings; the reject reason if a list is malformed.
    """
    fields = params.fields
    parsed: Record = {}
    try:
        if isinstance(results := record.get(fields.results), str):
            parsed[fields.results] = parse_list_cell(results, params.list_separator)
        if isinstance(clicks := record.get(fields.clicks), str):
            items = parse_list_cell(clicks, params.list_separator)
            parsed[fields.clicks] = [_to_integer_if_possible(item) for item in items]
    except RejectError as reject:
        return str(reject)
    return record | parsed


def _to_integer_if_possible(item: object) -> object:
    """Convert an item of a click list, such as `"3"`, to an integer; keep all other items."""
    number = parse_integer(item) if isinstance(item, str) else None
    return item if number is None else number


def parse_list_cell(cell: str, separator: str) -> list[Any]:
    """Parse a list that is written as a string, and return its items.

    Args:
        cell: The string, such as the text of a CSV cell.
        separator: Item separator of lists without brackets.

    Raises:
        RejectError: the string starts with a bracket but is malformed, or an item contains several
            URLs or numbers, because the items are joined by a different separator.
    """
    text = cell.strip()
    if text in NULLS:
        return []
    if not BRACKETED_LIST.match(text):
        items = [item for part in text.split(separator) if (item := part.strip())]
        if any(map(JOINED_ITEMS.search, items)):
            raise RejectError("bad_list")
        return items
    if text.startswith("["):
        with suppress(orjson.JSONDecodeError):
            return list(orjson.loads(text))
    return _parse_bracketed_list(text)


def _parse_bracketed_list(text: str) -> list[Any]:
    """Parse a bracketed list that is not valid JSON.

    Raises:
        RejectError: the list is malformed or contains an unknown escape sequence.
    """
    end, form = BRACKETS[text[0]]
    items: list[Any] = []
    at, is_apart = SPACE.match(text, 1).end(), True  # type: ignore[union-attr]
    while not text.startswith(end, at):
        found = form.match(text, at) if is_apart else None
        if found is None:
            raise RejectError("bad_list")
        items.append(_parse_item(found[0]))
        at = ITEM_SEPARATOR.match(text, found.end()).end()  # type: ignore[union-attr]
        is_apart = at > found.end()
    if at != len(text) - 1:
        raise RejectError("bad_list")
    return items


def _parse_item(token: str) -> object:
    """Parse a list item: a string, integer, Boolean, None, or a tuple, which is returned as a list.

    Raises:
        RejectError: the item contains an unknown escape sequence.
    """
    if token[0] == "(":
        return [_parse_item(item[0]) for item in TUPLE_ITEM.finditer(token)]
    if token[0] in "'\"":
        inner = token[1:-1]
        if any(escaped not in "\\'\"" for escaped in ESCAPE.findall(inner)):
            raise RejectError("bad_list")
        return ESCAPE.sub(r"\1", inner)
    if token.isascii() and token.isdigit():
        return int(token)
    if token in BOOLEANS:
        return BOOLEANS[token]
    return None if token in NULLS else token.strip()
