"""`[log]`: how query logs are read."""

from datetime import datetime
from typing import Literal

from pydantic import Field, field_validator

from builder.errors import suggest
from builder.parameters.encodings import extends_ascii
from builder.parameters.raw import RawParameters
from builder.parameters.section import Positive, Section
from builder.plugins import find_plugins

LOG_FORMATS = ("auto", "jsonl", "parquet", "csv", "tsv")
LOG_READERS = {
    "yandex": "builder.ingest.logs.yandex:read_2011",
    "yandex-2014": "builder.ingest.logs.yandex:read_2014",
    "sogou": "builder.ingest.logs.sogou:read_clicks",
    "pyclick": "builder.ingest.logs.pyclick:read_pages",
}
"""Formats that are read record by record, each with its `builder.ingest.logs.formats.Reader`."""


class LogFields(Section):
    """`[log.fields]`: what the fields of an impression are called; dots lead into objects."""

    time: str = Field(default="time", description="When the page was shown")
    user: str = Field(default="user", description="Who searched: a user or a session")
    query: str = Field(default="query", description="What was typed")
    results: str = Field(
        default="results", description="URLs in rank order, or objects with url, rank, clicked"
    )
    clicks: str = Field(
        default="clicks",
        description="Ranks or URLs, or objects with rank or url, or lists that begin with one; "
        "see log.click_form",
    )
    url: str = Field(
        default="url", description="URL of a result, in an object or in a row of the long form"
    )
    rank: str = Field(default="rank", description="Its rank; absent: the order of results")
    clicked: str = Field(default="clicked", description="1 or true where it was clicked")
    click_time: str = Field(default="time", description="When, in a click that is an object")

    @property
    def of_results(self) -> dict[str, str]:
        """Our names of what is in a result that is an object, with those of the log."""
        return {"url": self.url, "rank": self.rank, "clicked": self.clicked}

    @property
    def of_clicks(self) -> dict[str, str]:
        """Our names of what is in a click that is an object, with those of the log."""
        return {"rank": self.rank, "url": self.url, "time": self.click_time}


class LogParameters(RawParameters):
    """`[log]`: how query logs become impressions."""

    describes_input = RawParameters.describes_input | {
        *("format", "fields", "click_form", "encoding", "columns", "list_separator"),
        "session_start",
    }
    overridable = describes_input | {"undated"}

    format: str = Field(
        default="auto",
        description="Format of the files: jsonl, parquet, csv, tsv, yandex, yandex-2014, sogou, "
        "pyclick, or the name of a plug-in; auto detects one of the first six by its first bytes",
    )
    fields: LogFields = LogFields()
    click_form: Literal["ranks", "ids", "flags", "rows"] = Field(
        default="ranks",
        description="What clicks are: 1-based ranks, ids of results, flags (one number for each "
        "result, 0 if it was not clicked), or the rows of a log of clicks, each of them a clicked "
        "result",
    )
    encoding: str = Field(
        default="auto",
        description="Text encoding, such as windows-1252 or gb18030; auto: UTF-8, or detected if "
        "most lines with non-ASCII characters are not valid UTF-8",
    )
    undated: Literal["reject", "start"] = Field(
        default="reject",
        description="Logs without times: rejected, or all impressions at the snapshot's start, "
        "which turns off the rules that need times",
    )
    empty: Literal["refuse", "allow"] = Field(
        default="refuse", description="A snapshot whose log has no impression"
    )
    clickless: Literal["refuse", "allow"] = Field(
        default="refuse", description="A snapshot whose log has no click"
    )
    columns: tuple[str, ...] = Field(
        default=(), description="Names of the columns of CSV or TSV without a header, in order"
    )
    list_separator: str = Field(
        default=" ", min_length=1, description="Between URLs or ranks in a cell of CSV or TSV"
    )
    session_start: datetime | None = Field(
        default=None,
        description="Moment from which yandex, yandex-2014 and sogou count times; absent: the "
        "snapshot's start",
    )
    repeats: Literal["drop", "keep"] = Field(
        default="drop",
        description="Further impressions of the same user, query and second",
    )
    bots: Literal["drop", "keep"] = Field(
        default="drop",
        description="Impressions of users that one of the two rules below considers programs",
    )
    bot_rate: Positive = Field(
        default=200,
        description="Impressions of one user within an hour from which on it is a program",
    )
    bot_alike: int = Field(
        default=15,
        ge=2,
        description="Impressions of one user, from which on it is a program if all have the same "
        "two or more clicked ranks",
    )
    max_query_chars: Positive = Field(
        default=500, description="Longer queries are rejected (a published one had 3,947)"
    )
    max_results: Positive = Field(default=1000, description="Longer result lists are rejected")
    max_line_bytes: Positive = Field(
        default=8 * 2**20, description="Longer lines are rejected unread"
    )

    @field_validator("encoding")
    @classmethod
    def _encoding_is_known(cls, value: str) -> str:
        """Only encodings that extend ASCII: lines are split before they are decoded."""
        if value == "auto":
            return value
        try:
            if extends_ascii(value):
                return value
        except LookupError:
            raise ValueError(
                "no such text encoding; expected auto, utf-8, windows-1252, gb18030 or the like"
            ) from None
        raise ValueError(
            "this encoding does not extend ASCII; convert the files to UTF-8 with iconv"
        )

    @field_validator("format")
    @classmethod
    def _format_is_known(cls, value: str) -> str:
        if value not in (*LOG_FORMATS, *LOG_READERS):
            others = find_plugins("log_readers")
            if value not in others:
                known = (*LOG_FORMATS, *LOG_READERS, *others)
                raise ValueError(f"no such format; {suggest(value, known)}")
        return value
