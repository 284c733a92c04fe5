"""Validates URL parameters: choices from a list, short texts and page numbers.

Invalid values raise a `UsageError`, which the application shows as an error page.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from builder.errors import UsageError, suggest

MAX_TEXT_LENGTH = 200
"""Maximum length of a text parameter, in characters."""
MAX_PAGE_NUMBER = 100_000
PAGE_SIZE = 50
"""Number of rows per page of a paged table."""
ID = re.compile(r"\S{1,200}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class PageRequest:
    """Path and query parameters of the URL that a browser requested.

    Args:
        path: Path of the URL.
        parameters: Query parameters of the URL, by name.
    """

    def __init__(self, path: str, parameters: Mapping[str, str]) -> None:
        self.path = path
        self.parameters = dict(parameters)

    def choice_parameter(self, name: str, options: Sequence[str], default: str = "") -> str:
        """Return the value of a parameter with fixed options; `default` if it is missing or empty.

        Raises:
            UsageError: The value is not one of the options.
        """
        value = self.parameters.get(name, "") or default
        if value != default and value not in options:
            known = suggest(value[:40], options)
            raise UsageError(f"{name}: unknown value {value[:40]!r}; {known}")
        return value

    def text_parameter(self, name: str) -> str:
        """Return the stripped value of a text parameter; empty if the parameter is missing.

        Raises:
            UsageError: The text is longer than `MAX_TEXT_LENGTH` or has control characters.
        """
        value = self.parameters.get(name, "").strip()
        if len(value) > MAX_TEXT_LENGTH:
            limit = f"expected at most {MAX_TEXT_LENGTH} characters"
            raise UsageError(f"{name}: {limit}, found {len(value):,}")
        if _CONTROL.search(value):
            raise UsageError(f"{name}: expected text without control characters, found {value!r}")
        return value

    def integer_parameter(self, name: str, default: int = 1) -> int:
        """Return the value of an integer parameter; `default` if it is missing or empty.

        Raises:
            UsageError: The value is not an integer from 1 to `MAX_PAGE_NUMBER`.
        """
        value = self.parameters.get(name, "") or str(default)
        if not re.fullmatch(r"[0-9]{1,6}", value) or not 1 <= int(value) <= MAX_PAGE_NUMBER:
            raise UsageError(
                f"{name}: expected an integer from 1 to {MAX_PAGE_NUMBER:,}, found {value[:40]!r}"
            )
        return int(value)

    def url_with_parameters(self, **changes: str | int | None) -> str:
        """Return the URL of this request with some parameters changed; None removes a parameter."""
        return page_url(self.path, **{**self.parameters, **changes})


def page_url(path: str, **parameters: str | int | None) -> str:
    """Return a relative URL with query parameters; None and empty parameters are omitted."""
    present = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(present)}" if present else path
