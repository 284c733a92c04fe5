"""What an address asks for: parameters with known values and bounded lengths.

In: the parameters of a request. Out: values that are one of a list, a short text, or a small
number; anything else is a `UsageError`, which becomes a page.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from builder.errors import UsageError, suggest

MOST_TEXT = 200
MOST_PAGE = 100_000
SIZE = 50
"""Rows of a page of a list."""
ID = re.compile(r"\S{1,200}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Asked:
    """The parameters of an address.

    Args:
        path: The path of the address.
        given: Its parameters.
    """

    def __init__(self, path: str, given: Mapping[str, str]) -> None:
        self.path = path
        self.given = dict(given)

    def choice(self, name: str, known: Sequence[str], default: str = "") -> str:
        """One of the known values; `default` where absent or empty.

        Raises:
            UsageError: another value.
        """
        value = self.given.get(name, "") or default
        if value != default and value not in known:
            raise UsageError(f"{name}: no {value[:40]!r} here; {suggest(value[:40], known)}")
        return value

    def text(self, name: str) -> str:
        """A short text; empty where absent.

        Raises:
            UsageError: it is longer than `MOST_TEXT`, or has control characters.
        """
        value = self.given.get(name, "").strip()
        if len(value) > MOST_TEXT:
            raise UsageError(f"{name}: at most {MOST_TEXT} characters, found {len(value):,}")
        if _CONTROL.search(value):
            raise UsageError(f"{name}: expected text, found control characters")
        return value

    def number(self, name: str, default: int = 1) -> int:
        """A number from 1 to `MOST_PAGE`.

        Raises:
            UsageError: not such a number.
        """
        value = self.given.get(name, "") or str(default)
        if not re.fullmatch(r"[0-9]{1,6}", value) or not 1 <= int(value) <= MOST_PAGE:
            raise UsageError(f"{name}: expected a number from 1 to {MOST_PAGE:,}")
        return int(value)

    def address(self, **changes: str | int | None) -> str:
        """This address with other values of parameters; empty ones are left out."""
        return address(self.path, **{**self.given, **changes})


def address(path: str, **values: str | int | None) -> str:
    """An address with its parameters; those that are empty are left out."""
    kept = {name: value for name, value in values.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path
