"""How times are read, in logs and in crawls."""

from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from builder.parameters.section import Section

SOME_TIME = datetime(2022, 6, 30, 23, 59, 58, tzinfo=UTC)


class TimeParameters(Section):
    """How times are written that are no ISO 8601 with an offset."""

    time_zone: str = Field(
        default="UTC", description="Zone of times without an offset, such as Europe/Paris"
    )
    time_unit: Literal["s", "ms"] = Field(
        default="s", description="Unit of times that are numbers, since 1970"
    )
    time_format: str | None = Field(
        default=None,
        description="Form of times that are texts, in the codes of strptime, such as "
        "%d/%m/%Y %H:%M:%S; absent: ISO 8601, or seconds written as text",
    )

    @field_validator("time_format")
    @classmethod
    def _form_is_one(cls, value: str | None) -> str | None:
        try:
            if value is not None:
                datetime.strptime(SOME_TIME.strftime(value), value)  # noqa: DTZ007 - a trial
        except ValueError:
            raise ValueError("expected codes of strptime such as %d/%m/%Y %H:%M:%S") from None
        return value

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ValueError, OSError, KeyError):
            raise ValueError("expected a time zone such as Europe/Paris") from None
        return value
