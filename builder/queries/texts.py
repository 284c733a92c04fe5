"""Read the query texts of a file as it is, for audits: nothing is cleaned on the way.

In: a Parquet table of ours (`candidates`, `queries`, `log_queries`), or tab-separated lines
`id<TAB>text` without a header (what LongEval publishes), plain, gzip or zstd. Out: id, text as
found and how often it was asked, where the file says so.
"""

from pathlib import Path

import polars as pl

from builder.errors import FormatError
from builder.io import parquet
from builder.io.sources import Source
from builder.trec.bounded import read_text

SCHEMA = {"id": pl.String, "text": pl.String, "count": pl.UInt32}


def read_texts(path: Path) -> pl.DataFrame:
    """The queries of a file: columns `id`, `text`, `count` (1 where the file has none).

    A carriage return before a line feed stays in the text: an audit has to see it.

    Raises:
        UsageError: no such file.
        FormatError: damaged, too large or not UTF-8, a line without exactly one tab, or a table
            without texts.
    """
    if path.suffix == ".parquet":
        return _of_table(path)
    text = read_text(Source(path, str(path)))
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != 2), None)
    if wrong is not None:
        raise FormatError(
            f"expected id<TAB>text, found {len(rows[wrong - 1]) - 1} tabs", path, wrong
        )
    frame = pl.DataFrame(rows, schema={"id": pl.String, "text": pl.String}, orient="row")
    return frame.with_columns(pl.lit(1, pl.UInt32).alias("count"))


def _of_table(path: Path) -> pl.DataFrame:
    names = set(parquet.scan_checked(path).collect_schema())
    id_column = next((name for name in ("query_id", "surface", "query") if name in names), None)
    if "text" not in names or id_column is None:
        raise FormatError("expected a table with columns query_id or query, and text", path)
    wanted: dict[str, type[pl.DataType]] = {id_column: pl.String, "text": pl.String}
    if "impressions" in names:
        wanted["impressions"] = pl.UInt32
    table = parquet.read_columns(path, wanted, "queries")
    if table["text"].null_count():
        raise FormatError("expected a text in every row", path)
    count = pl.col("impressions") if "impressions" in names else pl.lit(1, pl.UInt32)
    return table.select(pl.col(id_column).alias("id"), "text", count.alias("count"))
