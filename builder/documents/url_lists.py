"""Lists of hosts and URLs whose pages to exclude (denylists), and of exceptions (allowlists).

Input: text files with one entry per line. Output: whether a URL matches an entry. `example.fr`
matches the host and its subdomains, `example.fr/forum/` matches all URLs of the host with this
prefix, and `https://example.fr/page` matches a single page. `#` starts a comment. The files belong
to the definition: all snapshots use the same lists, and the manifest has the hashes of the files.

Hosts are compared in lowercase Punycode and without a trailing dot. The port is ignored unless the
entry has a port. `www.example.fr` is an ordinary subdomain: the entry `example.fr` matches it, but
the entry `www.example.fr` does not match `example.fr`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from builder.errors import FormatError
from builder.io.sources import Source
from builder.text.keys import url_key
from builder.trec.bounded import read_text_lines

_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
PORT_SUFFIX = re.compile(r":\d+$", re.ASCII)
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_NAMES = 10
"""Maximum number of entries that a note lists."""

_EntryKey = tuple[str | int | None, ...]
"""Key of an entry: (host, port), (host, port, path prefix) or (URL,)."""


class _UrlParts(NamedTuple):
    """Parts of a canonical URL: host in Punycode, port, and path with query."""

    host: str
    port: int | None
    path: str


class UrlList:
    """List of hosts, URL prefixes and single pages.

    Args:
        entries: Hosts, URL prefixes and URLs.

    Raises:
        ValueError: an entry is not a host, a URL prefix or a URL.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._hosts: set[tuple[str, int | None]] = set()
        self._prefixes: dict[tuple[str, int | None], list[str]] = {}
        self._pages: set[str] = set()
        self._unmatched: dict[_EntryKey, str] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: str) -> None:
        """Add a host, URL prefix or URL to the list.

        Raises:
            ValueError: the entry is not a host, a URL prefix or a URL; or it is a prefix from
                which canonicalization removes the query (such as tracking parameters) or
                everything but the host.
        """
        if "://" in entry:
            page = url_key(entry)
            self._pages.add(page)
            self._unmatched[page,] = entry
            return
        host = re.split("[/?]", entry)[0]
        parts = _split_url_key(url_key(f"http://{entry}"))
        is_host = _HOST.fullmatch(parts.host) and "@" not in host
        if not is_host or any(map(str.isspace, entry)):
            raise ValueError(f"expected a host, a URL prefix or a URL, found {entry!r}")
        port = parts.port if PORT_SUFFIX.search(host) else None
        if entry.rstrip("/") != host:
            if parts.path == "/" or ("?" in entry and "?" not in parts.path):
                raise ValueError(
                    "expected a URL prefix with a path or query that canonicalization keeps, found "
                    f"{entry!r}, which would match every page of the host"
                )
            self._prefixes.setdefault((parts.host, port), []).append(parts.path)
            self._unmatched[parts.host, port, parts.path] = entry
        else:
            self._hosts.add((parts.host, port))
            self._unmatched[parts.host, port] = entry

    def __bool__(self) -> bool:
        return bool(self._hosts or self._prefixes or self._pages)

    def matches(self, canonical_url: str) -> bool:
        """Return whether a canonical URL matches an entry of the list.

        Matching entries are marked as used, so that `note_unmatched_entries` omits them.
        """
        keys = list(self._find_entries(canonical_url))
        for key in keys:
            self._unmatched.pop(key, None)
        return bool(keys)

    def _find_entries(self, canonical_url: str) -> Iterator[_EntryKey]:
        """Yield the keys of all entries that a canonical URL matches."""
        if canonical_url in self._pages:
            yield (canonical_url,)
        parts = _split_url_key(canonical_url)
        labels = parts.host.split(".")
        domains = [".".join(labels[start:]) for start in range(len(labels))]
        for port in (None, parts.port):
            for path in self._prefixes.get((parts.host, port), ()):
                if parts.path.startswith(path):
                    yield parts.host, port, path
            yield from ((domain, port) for domain in domains if (domain, port) in self._hosts)

    def note_unmatched_entries(self, name: str) -> Iterator[str]:
        """Yield a note that lists the entries not yet matched by `matches`, if there are any.

        Args:
            name: Name of the list in the note.
        """
        count = len(self._unmatched)
        if count:
            entries = ", ".join(islice(self._unmatched.values(), MAX_NAMES))
            more = f" and {count - MAX_NAMES:,} more" if count > MAX_NAMES else ""
            yield (
                f"entries of {name} that match no page: {count:,} ({entries}{more}); if they "
                "should match pages, compare their scheme, path and query with the URLs of the "
                "crawl"
            )


def _split_url_key(key: str) -> _UrlParts:
    """Split a canonical URL into host, port, and path with query."""
    parts = urlsplit(key)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    port = DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port
    return _UrlParts((parts.hostname or "").rstrip("."), port, path)


def read_url_list(files: Sequence[Source]) -> UrlList:
    """Read the entries of text files into one list of hosts and URLs.

    Raises:
        FormatError: a file is not UTF-8 text, or a line is not a valid entry.
    """
    urls = UrlList()
    for file in files:
        for number, line in enumerate(read_text_lines(file), 1):
            if entry := line.partition("#")[0].strip():
                try:
                    urls.add(entry)
                except ValueError:
                    raise FormatError(
                        "expected a host (example.fr), a URL prefix without tracking parameters "
                        f"(example.fr/forum/) or a URL with a scheme, found {entry[:80]!r}",
                        file.name,
                        number,
                    ) from None
    return urls
