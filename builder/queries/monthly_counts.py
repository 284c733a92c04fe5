"""Reads a monthly count for each topic candidate, such as its page views or its queries."""

import csv
import io
from pathlib import Path

import polars as pl

from builder.errors import FormatError, UsageError
from builder.io import parquet
from builder.io.cells import raise_csv_field_size_limit
from builder.io.sources import Source
from builder.trec.bounded import read_text

COLUMNS = {"label": pl.String, "month": pl.String, "count": pl.Float64}
SEPARATORS = {".tsv": "\t", ".csv": ","}
MAX_COUNT = 1e15
"""Maximum count, so that sums of counts are still exact in 64-bit floats."""


def read_monthly_counts(path: Path) -> pl.DataFrame:
    """Read monthly counts: columns `label`, `month` (YYYY-MM), `count` and, optionally, `total`.

    Spaces around labels are removed.

    Args:
        path: Parquet file, or TSV or CSV file with a header, optionally compressed with gzip or
            zstd.

    Raises:
        FormatError: the file is damaged, a column is missing, or a value is invalid.
        UsageError: the file does not exist, or its suffix is not supported.
    """
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".zst")).suffix
    if suffix == ".parquet":
        frame = parquet.read_unless_too_many_rows(path).with_row_index("line", 1)
    elif suffix in SEPARATORS:
        frame = _read_delimited_file(path, SEPARATORS[suffix])
    else:
        raise UsageError(f"expected a file ending in .parquet, .tsv or .csv, found {path.name}")
    missing = sorted(set(COLUMNS) - set(frame.columns))
    if missing:
        raise FormatError(
            f"expected the columns {', '.join(COLUMNS)}; missing: {', '.join(missing)}", path
        )
    dtypes = {**COLUMNS, **({"total": pl.Float64} if "total" in frame.columns else {})}
    try:
        cast = frame.select("line", *(pl.col(n).cast(k, strict=False) for n, k in dtypes.items()))
    except pl.exceptions.PolarsError as error:
        raise FormatError(
            f"expected columns of text and numbers, found other types ({error})", path
        ) from None
    cast = cast.with_columns(pl.col("label").str.strip_chars())
    invalid = cast.filter(
        pl.any_horizontal(pl.col(dtypes).is_null())
        | (pl.col("label") == "")
        | ~pl.col("count").is_between(0, MAX_COUNT)
        | ~pl.col("total" if "total" in dtypes else "count").is_between(pl.col("count"), MAX_COUNT)
        | ~pl.col("month").str.contains(r"^\d{4}-(0[1-9]|1[0-2])$")
    )
    if invalid.height:
        limit = f"{MAX_COUNT:.0g}"
        total = f", and a total between the count and {limit}," if "total" in dtypes else ""
        raise FormatError(
            f"expected a label, a month YYYY-MM and a count from 0 to {limit}{total} in every row, "
            f"found {invalid.height} invalid rows",
            path,
            invalid["line"][0],
        )
    if "total" in dtypes:
        _check_totals(cast, path)
    return cast.drop("line")


def _check_totals(counts: pl.DataFrame, path: Path) -> None:
    """Raise a FormatError if a total is 0, or if a month has two different totals."""
    first = pl.col("total").first().over("month")
    wrong = counts.with_columns(first=first).filter((pl.col("total") != first) | (first == 0))
    if wrong.height:
        month, total, other, line = wrong.select("month", "total", "first", "line").row(0)
        raise FormatError(
            "total: expected the same total, greater than 0, in all rows of a month, found "
            f"{total:g}{f' and {other:g}' if total != other else ''} in {month}",
            path,
            line,
        )


def _read_delimited_file(path: Path, separator: str) -> pl.DataFrame:
    """Read a CSV or TSV file as strings, with the line number of each row in column `line`."""
    lines = io.StringIO(read_text(Source(path, str(path))), newline="")
    raise_csv_field_size_limit()
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows = []
    try:
        names = next(reader, [])
        for row in reader:
            if row and len(row) != len(names):
                raise FormatError(
                    f"expected {len(names)} cells, found {len(row)}", path, reader.line_num
                )
            if row:
                rows.append((reader.line_num, *row))
    except csv.Error as error:
        raise FormatError(
            f"expected a CSV or TSV table, found malformed cells ({error})", path, reader.line_num
        ) from None
    if len({"line", *names}) <= len(names):
        raise FormatError(
            f"expected distinct column names other than 'line', found {names}", path, 1
        )
    schema = {"line": pl.Int64, **dict.fromkeys(names, pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")
