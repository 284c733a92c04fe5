"""Converts document ids in logs and crawls to URLs, using a URL template.

Values with a scheme, such as `https://`, are URLs already and remain unchanged. Ids are
percent-encoded, so that distinct ids have distinct URLs and no id changes the path of the template.
"""

from urllib.parse import quote

import polars as pl

from builder.parameters.raw import ID_PLACEHOLDER
from builder.text.replacement import replace_where

HAS_SCHEME = r"^\s*[A-Za-z][A-Za-z0-9+.-]*://"
DOT_SEGMENTS = frozenset({".", ".."})
"""Path segments that URL normalization removes, even if they are percent-encoded."""

URL_WITHOUT_SCHEME = (
    r"^\s*(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?::[0-9]{1,5})?(?:[/?#]|\s*$)"
)
"""Matches URLs without a scheme: a host name with a top-level domain, optionally a port, then a
path, query, fragment or the end."""


def add_scheme(urls: pl.Series, scheme: str | None) -> pl.Series:
    """Prepend a scheme such as `https` to URLs without one; if `scheme` is None, change nothing."""
    if scheme is None:
        return urls
    bare = lacks_scheme(urls)
    return replace_where(urls, bare, f"{scheme}://" + urls.filter(bare).str.strip_chars())


def lacks_scheme(urls: pl.Series) -> pl.Series:
    """Return a Boolean mask of the values that look like URLs without a scheme."""
    return urls.str.contains(URL_WITHOUT_SCHEME).fill_null(value=False)


def to_urls(ids_or_urls: pl.Series, template: str | None, scheme: str | None = None) -> pl.Series:
    """Convert document ids to URLs; leave values that are already URLs unchanged.

    Args:
        ids_or_urls: Document ids or URLs.
        template: URL with the placeholder `{id}`; None if all values are URLs.
        scheme: Scheme to prepend to URLs without one, used only if `template` is None; if `scheme`
            is None, nothing is prepended.
    """
    if template is None:
        return add_scheme(ids_or_urls, scheme)
    ids = ~ids_or_urls.str.contains(HAS_SCHEME)
    expanded = [_expand_template(name, template) for name in ids_or_urls.filter(ids).to_list()]
    return replace_where(ids_or_urls, ids, pl.Series(expanded, dtype=pl.String))


def _expand_template(doc_id: str, template: str) -> str:
    """Insert a percent-encoded id into the URL template; return `.`, `..` and blank ids as is."""
    text = doc_id.strip()
    if not text or text in DOT_SEGMENTS:
        return doc_id
    escaped = quote(text, safe="" if DOT_SEGMENTS & set(text.split("/")) else "/")
    return template.replace(ID_PLACEHOLDER, escaped)
