"""Lists of hosts and addresses that are left out, or never are.

In: text files, one entry a line. Out: which pages they cover. `example.fr` covers the host and its
subdomains, `example.fr/forum/` every address of that host that begins so, and
`https://example.fr/page` that one page. `#` begins a comment. The files belong to the definition,
so every snapshot is held to the same ones, and the manifest has their hashes.
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from builder.errors import FormatError
from builder.io.sources import Source
from builder.text.keys import url_key
from builder.trec.bounded import read_text_lines

_HOST = re.compile(r"[\w.-]+(:\d+)?", re.ASCII)


class AddressList:
    """Hosts, beginnings of addresses, and pages.

    Args:
        entries: Lines without comments.

    Raises:
        ValueError: an entry is none of the three; the message is the entry.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._beginnings: dict[str, list[str]] = {}
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
        parts = urlsplit(url_key(f"http://{entry}"))
        if not _HOST.fullmatch(parts.netloc) or any(c.isspace() for c in entry):
            raise ValueError(f"not a host: {entry!r}")
        if "/" in entry.rstrip("/"):
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            self._beginnings.setdefault(parts.netloc, []).append(path)
        else:
            self._hosts.add(parts.netloc)

    def __bool__(self) -> bool:
        return bool(self._hosts or self._beginnings or self._pages)

    def covers(self, address: str) -> bool:
        """Whether a URL key is on the list."""
        if address in self._pages:
            return True
        _, _, rest = address.partition("://")
        host, slash, path = rest.partition("/")
        if any(map((slash + path).startswith, self._beginnings.get(host, ()))):
            return True
        while host:
            if host in self._hosts:
                return True
            _, _, host = host.partition(".")
        return False


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
