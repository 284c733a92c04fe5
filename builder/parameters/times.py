"""Parameters for parsing times in query logs and crawls."""

import re
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from builder.parameters.section import Section

SAMPLE_TIME = datetime(2022, 6, 30, 23, 59, 58, tzinfo=UTC)


class TimeParameters(Section):
    """Parameters for parsing times that are not in ISO 8601 format with a UTC offset."""

    time_zone: str = Field(
        default="UTC", description="Time zone of times without an offset, such as Europe/Paris"
    )
    time_unit: Literal["s", "ms", "us", "ns"] = Field(
        default="s",
        description="Unit of numeric times since 1970: s (seconds), ms (milliseconds), us "
        "(microseconds) or ns (nanoseconds)",
    )
    time_format: str | None = Field(
        default=None,
        description="Format of times, in the notation of strptime: %d/%m/%Y %H:%M:%S for text "
        "such as 03/06/2022 14:05:00, %d%m%Y for numbers such as 3062022; default: ISO 8601, a "
        "date such as 20220603, or a number (see `time_unit`)",
    )

    @field_validator("time_format")
    @classmethod
    def _validate_time_format(cls, time_format: str | None) -> str | None:
        """Reject a time format that cannot parse the text of a time in that format."""
        try:
            if time_format is not None:
                text = SAMPLE_TIME.strftime(time_format)
                datetime.strptime(text, time_format)  # noqa: DTZ007 - a trial
        except (ValueError, re.error):  # re.error: the same directive twice
            raise ValueError("expected a strptime format such as %d/%m/%Y %H:%M:%S") from None
        return time_format

    @field_validator("time_zone")
    @classmethod
    def _validate_time_zone(cls, time_zone: str) -> str:
        """Reject an unknown time zone."""
        try:
            ZoneInfo(time_zone)
        except (ValueError, OSError, KeyError):
            raise ValueError("expected a time zone such as Europe/Paris") from None
        return time_zone
