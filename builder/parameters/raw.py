"""How documents are named and times are written, in logs and in crawls."""

from typing import Literal

from pydantic import Field, field_validator

from builder.parameters.times import TimeParameters
from builder.text.keys import url_key

PLACE = "{id}"
"""Placeholder of the id in `address`."""


class RawParameters(TimeParameters):
    """How documents are named and times are written."""

    describes_input = frozenset({"address", "scheme", "time_zone", "time_unit", "time_format"})

    address: str | None = Field(
        default=None,
        description="Address of a document of which an id is given, such as "
        "https://example.org/works/{id}; absent: addresses are given",
    )

    scheme: Literal["https", "http"] | None = Field(
        default="https",
        description="Scheme of addresses written without one, such as www.example.org/page; "
        "absent: they are rejected",
    )

    @field_validator("address")
    @classmethod
    def _ids_stay_apart(cls, value: str | None) -> str | None:
        """Ids that differ in case alone must give two addresses: not in a host, nor a fragment."""
        if value is None:
            return value
        if value.count(PLACE) != 1:
            raise ValueError("expected an address that contains the placeholder {id} once")
        try:
            keys = {url_key(value.replace(PLACE, example)) for example in ("a", "A")}
        except ValueError:
            keys = set()
        if len(keys) < 2:
            raise ValueError("expected an http or https address with {id} in its path or query")
        return value
