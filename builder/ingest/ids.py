"""Ids of documents -> addresses, where a log or a crawl names documents by ids of its own.

What has a scheme already is an address and stays as it is. In an address an id is escaped, so that
different ids have different addresses, and none leads out of its place.
"""

from urllib.parse import quote

import polars as pl

from builder.parameters.raw import PLACE
from builder.text.replacement import replaced

WITH_SCHEME = r"^\s*[A-Za-z][A-Za-z0-9+.-]*://"
STEPS = frozenset({".", ".."})
"""Steps within a path, which no escape makes names."""

BARE = (
    r"^\s*(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?::[0-9]{1,5})?(?:[/?#]|\s*$)"
)
"""An address without a scheme: a host with a top-level domain, then a path or nothing."""


def with_scheme(urls: pl.Series, scheme: str | None) -> pl.Series:
    """Addresses, those without a scheme with this one; None: as they are."""
    if scheme is None:
        return urls
    bare = lacks_scheme(urls)
    return replaced(urls, bare, f"{scheme}://" + urls.filter(bare).str.strip_chars())


def lacks_scheme(urls: pl.Series) -> pl.Series:
    """Whether each address is written without a scheme."""
    return urls.str.contains(BARE).fill_null(value=False)


def addresses_of(names: pl.Series, template: str | None, scheme: str | None = None) -> pl.Series:
    """The address of each document.

    Args:
        names: Ids or addresses; what is neither, as a blank, stays so.
        template: An address with `{id}` in it; None: all are addresses.
        scheme: Scheme of addresses written without one; None: they stay without.
    """
    if template is None:
        return with_scheme(names, scheme)
    ids = ~names.str.contains(WITH_SCHEME)
    found = [_address(name, template) for name in names.filter(ids).to_list()]
    return replaced(names, ids, pl.Series(found, dtype=pl.String))


def _address(name: str, template: str) -> str:
    text = name.strip()
    if not text or text in STEPS:
        return name
    escaped = quote(text, safe="" if STEPS & set(text.split("/")) else "/")
    return template.replace(PLACE, escaped)
