"""Lists of hosts and addresses that are left out, or never are.

In: text files, one entry per line. Out: which pages they cover. `example.fr` covers the host and
its subdomains, `example.fr/forum/` every address of that host that begins so, and
`https://example.fr/page` that one page. `#` begins a comment. The files belong to the definition,
so every snapshot is held to the same ones, and the manifest has their hashes.

A host is a host however it is written: in capitals, in Unicode or Punycode, with a dot at its end,
at any port unless the entry names one. `www.example.fr` is a subdomain like any other: covered by
`example.fr`, and not the other way round.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from builder.errors import FormatError
from builder.io.sources import Source
from builder.text.keys import url_key
from builder.trec.bounded import read_text_lines

_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
PORT = re.compile(r":\d+$", re.ASCII)
PORTS = {"http": 80, "https": 443}


class _Address(NamedTuple):
    """A URL key by its parts: the host in Punycode, the port, and path with query."""

    host: str
    port: int | None
    rest: str


class AddressList:
    """Hosts, beginnings of addresses, and pages.

    Args:
        entries: Lines without comments.

    Raises:
        ValueError: an entry is none of the three; the message is the entry.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._hosts: set[tuple[str, int | None]] = set()
        self._beginnings: dict[tuple[str, int | None], list[str]] = {}
        self._pages: set[str] = set()
        for entry in entries:
            self.add(entry)

    def add(self, entry: str) -> None:
        """Add an entry.

        Raises:
            ValueError: it is none.
        """
        if "://" in entry:
            self._pages.add(url_key(entry))
            return
        written, _, _ = entry.partition("/")
        address = _parts(url_key(f"http://{entry}"))
        is_host = _HOST.fullmatch(address.host) and "@" not in written
        if not is_host or any(map(str.isspace, entry)):
            raise ValueError(f"not a host: {entry!r}")
        port = address.port if PORT.search(written) else None
        if "/" in entry.rstrip("/"):
            self._beginnings.setdefault((address.host, port), []).append(address.rest)
        else:
            self._hosts.add((address.host, port))

    def __bool__(self) -> bool:
        return bool(self._hosts or self._beginnings or self._pages)

    def covers(self, address: str) -> bool:
        """Whether a URL key is on the list."""
        if address in self._pages:
            return True
        found = _parts(address)
        labels = found.host.split(".")
        domains = [".".join(labels[place:]) for place in range(len(labels))]
        for port in (None, found.port):
            if any(map(found.rest.startswith, self._beginnings.get((found.host, port), ()))):
                return True
            if any((domain, port) in self._hosts for domain in domains):
                return True
        return False


def _parts(address: str) -> _Address:
    found = urlsplit(address)
    rest = found.path + (f"?{found.query}" if found.query else "")
    port = PORTS.get(found.scheme) if found.port is None else found.port
    return _Address((found.hostname or "").rstrip("."), port, rest)


def read_address_list(files: Sequence[Source]) -> AddressList:
    """One list of all entries of some files.

    Raises:
        FormatError: a file is not UTF-8 text, or a line is no entry.
    """
    found = AddressList()
    for file in files:
        for number, line in enumerate(read_text_lines(file), 1):
            if entry := line.partition("#")[0].strip():
                try:
                    found.add(entry)
                except ValueError:
                    raise FormatError(
                        "expected a host (example.fr), the beginning of addresses "
                        f"(example.fr/forum/) or one address with its scheme, found {entry[:80]!r}",
                        file.name,
                        number,
                    ) from None
    return found
