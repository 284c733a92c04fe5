"""Parameters shared by query logs and crawls: document URLs and time formats."""

from typing import Literal

from pydantic import Field, field_validator

from builder.parameters.times import TimeParameters
from builder.text.keys import url_key

ID_PLACEHOLDER = "{id}"
"""Placeholder for the document id in the URL template of the parameter `address`."""


class RawDataParameters(TimeParameters):
    """Parameters shared by `[log]` and `[crawl]`: document URLs and time formats."""

    format_keys = frozenset({"address", "scheme", "time_zone", "time_unit", "time_format"})

    address: str | None = Field(
        default=None,
        description="Template that turns document ids into URLs, such as "
        "https://example.org/works/{id}; for input that has ids instead of URLs. Default: the "
        "input contains URLs",
    )

    scheme: Literal["https", "http"] | None = Field(
        default="https",
        description="Scheme for URLs that have no scheme, such as www.example.org/page; `none` "
        "rejects such URLs",
    )

    @field_validator("scheme", mode="before")
    @classmethod
    def _convert_none_string(cls, scheme: object) -> object:
        """Convert the string `none` to None, because TOML has no null value."""
        return None if scheme == "none" else scheme

    @field_validator("address")
    @classmethod
    def _validate_address(cls, address: str | None) -> str | None:
        """Reject a URL template unless it contains the id exactly once, in its path or query.

        An id in the host, which is case-insensitive, or in the fragment, which is ignored, would
        not be unique.
        """
        if address is None:
            return address
        if address.count(ID_PLACEHOLDER) != 1:
            raise ValueError("expected a URL that contains the placeholder {id} once")
        try:
            keys = {url_key(address.replace(ID_PLACEHOLDER, example)) for example in ("a", "A")}
        except ValueError:
            keys = set()
        if len(keys) < 2:
            raise ValueError("expected an http or https URL with {id} in its path or query")
        return address
