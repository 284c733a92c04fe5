"""Section `[log]`: parameters for reading query logs."""

from datetime import datetime
from typing import Literal

from pydantic import Field, field_validator

from builder.errors import suggest
from builder.parameters.encodings import extends_ascii
from builder.parameters.raw import RawDataParameters
from builder.parameters.section import Positive, Section
from builder.plugins import find_plugins

LOG_FORMATS = ("auto", "jsonl", "parquet", "csv", "tsv")
LOG_READERS = {
    "yandex": "builder.ingest.logs.yandex:read_2011_log",
    "yandex-2014": "builder.ingest.logs.yandex:read_2014_log",
    "sogou": "builder.ingest.logs.sogou:read_impressions",
    "pyclick": "builder.ingest.logs.pyclick:read_result_pages",
}
"""Import path of the reader of each record format (`LogReader`)."""


class LogFields(Section):
    """Section `[log.fields]`: field names of an impression; `a.b` is field `b` of object `a`."""

    time: str = Field(
        default="time",
        description="Field with the time of the impression; in all "
        "fields, `a.b` is field `b` of object `a`",
    )
    user: str = Field(default="user", description="Field with the user or session identifier")
    query: str = Field(default="query", description="Field with the query text as typed")
    results: str = Field(
        default="results",
        description="Field with the results: a list of URLs in rank order, or a list of objects "
        "with the fields url, rank and clicked",
    )
    clicks: str = Field(
        default="clicks",
        description="Field with the list of clicks. Its elements are ranks, URLs, objects with "
        "the field rank or url, or lists that begin with a rank or URL; see `log.click_form`",
    )
    url: str = Field(
        default="url",
        description="Field with the URL of a result, in result objects and in files with one row "
        "per result",
    )
    rank: str = Field(
        default="rank",
        description="Field with the rank of a result; if the log has no such field, its results "
        "must be in rank order",
    )
    clicked: str = Field(
        default="clicked", description="Field that is 1 or true if the result was clicked"
    )
    click_time: str = Field(
        default="time", description="Field with the time of a click, in click objects"
    )

    @property
    def result_fields(self) -> dict[str, str]:
        """Names of result fields in the log, keyed by standard name (`url`, `rank`, `clicked`)."""
        return {"url": self.url, "rank": self.rank, "clicked": self.clicked}

    @property
    def click_fields(self) -> dict[str, str]:
        """Names of click fields in the log, keyed by standard name (`rank`, `url`, `time`)."""
        return {"rank": self.rank, "url": self.url, "time": self.click_time}


class LogParameters(RawDataParameters):
    """Section `[log]`: how query logs are read and filtered."""

    format_keys = RawDataParameters.format_keys | {
        *("format", "fields", "click_form", "encoding", "columns", "list_separator"),
        "session_start",
    }
    overridable = format_keys | {"undated"}

    format: str = Field(
        default="auto",
        description="File format: jsonl, parquet, csv, tsv, yandex, yandex-2014, sogou, pyclick, "
        "or the name of a plug-in. auto: detected from the first bytes of each file, "
        "except for sogou, pyclick and plug-ins",
    )
    fields: LogFields = LogFields()
    click_form: Literal["ranks", "ids", "flags", "rows"] = Field(
        default="ranks",
        description="How clicks are represented. ranks: 1-based ranks; ids: ids of clicked "
        "results; flags: one number per result, 0 if it was not clicked; rows: every row of the "
        "file is a clicked result",
    )
    encoding: str = Field(
        default="auto",
        description="Text encoding, such as windows-1252 or gb18030. auto: UTF-8, or a "
        "detected encoding if most lines with non-ASCII characters are not valid UTF-8",
    )
    undated: Literal["reject", "start"] = Field(
        default="reject",
        description="How to treat impressions without a time. reject: reject them; start: set "
        "their time to the start of the snapshot, and do not apply `repeats` and `bot_rate`, which "
        "need actual times",
    )
    empty: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="How to treat snapshots without impressions. refuse: stop with an error; "
        "allow: continue",
    )
    clickless: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="How to treat snapshots without clicks. refuse: stop with an error; allow: "
        "continue",
    )
    columns: tuple[str, ...] = Field(
        default=(), description="Column names of CSV or TSV files without a header, in order"
    )
    list_separator: str = Field(
        default=" ",
        min_length=1,
        description="Separator of the URLs or ranks in a list written as text: in a cell of a CSV "
        "or TSV file, or in a string column of a Parquet file",
    )
    session_start: datetime | None = Field(
        default=None,
        description="Time to which the relative times in yandex, yandex-2014 and sogou logs are "
        "added; default: the start of the snapshot",
    )
    repeats: Literal["drop", "keep"] = Field(
        default="drop",
        description="Whether to drop or keep repeated impressions of the same user and query "
        "within the same second",
    )
    bots: Literal["drop", "keep"] = Field(
        default="drop",
        description="Whether to drop or keep impressions of users that `bot_rate` or `bot_alike` "
        "classifies as bots",
    )
    bot_rate: Positive = Field(
        default=200,
        description="A user with at least this many impressions within a clock hour is classified "
        "as a bot",
    )
    bot_alike: int = Field(
        default=15,
        ge=2,
        description="A user with at least this many impressions is classified as a bot if every "
        "impression has at least two clicks, always at the same ranks in the same order",
    )
    max_query_chars: Positive = Field(
        default=500,
        description="Maximum number of characters in a query; longer queries are rejected",
    )
    max_results: Positive = Field(
        default=1000,
        description="Maximum number of results in an impression; longer lists are rejected",
    )
    max_line_bytes: Positive = Field(
        default=8 * 2**20,
        description="Maximum size of a line in bytes; longer lines are rejected",
    )

    @field_validator("encoding")
    @classmethod
    def _validate_encoding(cls, encoding: str) -> str:
        """Reject encodings that do not extend ASCII, since lines are split before decoding."""
        if encoding == "auto":
            return encoding
        try:
            if extends_ascii(encoding):
                return encoding
        except LookupError:
            raise ValueError(
                "no such text encoding; expected auto, utf-8, windows-1252, gb18030 or similar"
            ) from None
        raise ValueError(
            "this encoding does not extend ASCII; convert the files to UTF-8 with iconv"
        )

    @field_validator("format")
    @classmethod
    def _validate_log_format(cls, log_format: str) -> str:
        """Reject a name that is neither a built-in log format nor an installed plug-in."""
        if log_format not in (*LOG_FORMATS, *LOG_READERS):
            plugins = find_plugins("log_readers")
            if log_format not in plugins:
                formats = (*LOG_FORMATS, *LOG_READERS, *plugins)
                raise ValueError(f"no such format; {suggest(log_format, formats)}")
        return log_format
