"""Ids of documents -> addresses, where a log or a crawl names documents by ids of its own.

What has a scheme already is an address and stays as it is. In an address an id is escaped, so that
different ids have different addresses, and none leads out of its place.
"""

from urllib.parse import quote

import polars as pl

from builder.parameters.raw import PLACE
from builder.replacing import replaced

WITH_SCHEME = r"^\s*[A-Za-z][A-Za-z0-9+.-]*://"
DOTS = frozenset({".", ".."})
"""Steps within a path, which no escape makes names."""


def addresses_of(names: pl.Series, template: str | None) -> pl.Series:
    """The address of each document.

    Args:
        names: Ids or addresses; what is neither, as a blank, stays so.
        template: An address with `{id}` in it; None: all are addresses.
    """
    if template is None:
        return names
    others = names.str.strip_chars().is_in(["", *DOTS])
    ids = ~(others | names.str.contains(WITH_SCHEME))
    found = [template.replace(PLACE, _escaped(name)) for name in names.filter(ids).to_list()]
    return replaced(names, ids, pl.Series(found, dtype=pl.String))


def _escaped(name: str) -> str:
    text = name.strip()
    return quote(text, safe="" if DOTS & set(text.split("/")) else "/")
