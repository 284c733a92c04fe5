"""Reads query files for audits, without changing the texts.

Input: a Parquet table (`candidates`, `queries` or `log_queries`), or tab-separated lines
`id<TAB>text`, the format of LongEval releases, optionally with a header such as
`query_id<TAB>query`, and optionally compressed with gzip or zstd.
"""

import re
from pathlib import Path

import polars as pl

from builder.errors import FormatError
from builder.io import parquet
from builder.io.sources import Source
from builder.trec.bounded import read_text

SCHEMA = {"id": pl.String, "text": pl.String, "count": pl.UInt32}
HEADER_LINE = re.compile(
    r"(?i)(?:q|query|topic)?[ _-]?id\t(?:query|topic|text|title)(?:[ _-]?text)?\s*(?:\t.*)?"
)
"""Pattern of the header line of a query file, which may name further columns."""


def read_query_texts(path: Path) -> pl.DataFrame:
    """Read a query file into the columns `id`, `text` and `count` (impressions; 1 if unknown).

    A carriage return at the end of a line is kept in the text, so that audits can report it.

    Raises:
        UsageError: the file does not exist.
        FormatError: the file is damaged, too large or not UTF-8, a line of a text file does not
            have exactly one tab, or a Parquet file has no texts.
    """
    if path.suffix == ".parquet":
        return _read_parquet(path)
    text = read_text(Source(path, str(path)))
    lines = text.removesuffix("\n").split("\n")
    first = 2 if HEADER_LINE.fullmatch(lines[0]) else 1
    rows = [line.split("\t") for line in lines[first - 1 :]]
    for number, row in enumerate(rows, first):
        if len(row) != 2:
            raise FormatError(f"expected id<TAB>text, found {len(row) - 1} tabs", path, number)
    frame = pl.DataFrame(rows, schema={"id": pl.String, "text": pl.String}, orient="row")
    return frame.with_columns(pl.lit(1, pl.UInt32).alias("count"))


def _read_parquet(path: Path) -> pl.DataFrame:
    """Read the columns `id`, `text` and `count` from a Parquet table of queries."""
    names = set(parquet.check_and_scan(path).collect_schema())
    id_column = next((name for name in ("query_id", "surface", "query") if name in names), None)
    if "text" not in names or id_column is None:
        raise FormatError(
            "expected a table with the columns text and query_id (or surface or query in place of "
            f"query_id), found {sorted(names)}",
            path,
        )
    wanted: dict[str, type[pl.DataType]] = {id_column: pl.String, "text": pl.String}
    if "impressions" in names:
        wanted["impressions"] = pl.UInt32
    table = parquet.read_columns(path, wanted, "queries")
    if table["text"].null_count():
        raise FormatError("text: expected a value in every row, found null", path)
    count = pl.col("impressions") if "impressions" in names else pl.lit(1, pl.UInt32)
    return table.select(pl.col(id_column).alias("id"), "text", count.alias("count"))
