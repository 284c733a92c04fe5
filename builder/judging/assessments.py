"""Reads and validates manual judgements from TSV sheets and Parquet tables.

A sheet is a tab-separated file with a header. The columns `query_id`, `doc_id`, `assessor` and
`grade` are read; all other columns are ignored. A byte order mark, quotes and CRLF line endings, as
written by spreadsheet programs, are accepted, and rows of empty cells are skipped. A quoted cell
may contain line breaks or tabs, but not both: a cell with both is taken for several rows that a
stray quote has merged. An empty grade marks a query-document pair that is not judged yet.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.errors import FormatError, UsageError
from builder.io import parquet
from builder.io.cells import raise_csv_field_size_limit
from builder.io.sources import Source
from builder.io.tables import write_frame
from schemas import GRADES, RELEASE_ID_PATTERN, Judgements

COLUMNS = ("query_id", "doc_id", "assessor", "grade")
ASSESSOR_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
PATTERNS = {
    "query_id": (RELEASE_ID_PATTERN, "an id without spaces"),
    "doc_id": (RELEASE_ID_PATTERN, "an id without spaces"),
    "assessor": (ASSESSOR_PATTERN, "a name of letters, digits, '.', '_' and '-'"),
    "grade": (rf"^([{''.join(map(str, GRADES))}]|)$", "0, 1, 2 or an empty cell"),
}


@dataclass(frozen=True)
class ImportReport:
    """Result of `longeval assess import`: counts of written judgements and skipped pairs.

    Args:
        judgements: Number of judgements written.
        unjudged: Number of query-document pairs skipped because they have no grade.
        assessors: Number of judgements written for each assessor, by name.
    """

    judgements: int
    unjudged: int
    assessors: dict[str, int]


def import_assessments(files: Sequence[Path], out: Path) -> ImportReport:
    """Validate judging sheets and write their judgements to one table.

    Args:
        files: Judging sheets (TSV) or Parquet tables (schema `Judgements`).
        out: Parquet file to write (schema `Judgements`).

    Raises:
        FormatError: A file has invalid judgements, or an assessor judged a pair more than once.
        UsageError: `out` does not end in .parquet, or a file does not exist.
    """
    if out.suffix != ".parquet":
        raise UsageError(f"--out: expected a file name ending in .parquet, found {out}")
    sources = [Source(path, str(path)) for path in files]
    judgements = read_assessments(sources)
    rows = sum(_count_rows(source) for source in sources)
    write_frame(judgements, out, Judgements)
    counts = judgements["assessor"].value_counts(sort=True).sort("assessor")
    return ImportReport(
        judgements=judgements.height,
        unjudged=rows - judgements.height,
        assessors=dict(counts.iter_rows()),
    )


def check_assessor_name(name: str) -> None:
    """Raise a UsageError if the name of an assessor is invalid."""
    if re.fullmatch(ASSESSOR_PATTERN, name) is None:
        raise UsageError(f"assessor: expected {PATTERNS['assessor'][1]}, found {name!r}")


def read_assessments(files: Sequence[Source]) -> pl.DataFrame:
    """Read the judgements of several files into one table with the schema `Judgements`.

    Raises:
        UsageError: A file does not exist.
        FormatError: A file has invalid judgements, or an assessor judged a pair more than once.
    """
    for source in files:
        if not source.path.is_file():
            raise UsageError(
                f"{source.name}: file not found; expected a judging sheet (TSV) or a Parquet "
                "table of judgements"
            )
    frames = [_read_judgements(source) for source in files]
    rows = pl.concat([pl.DataFrame(schema=Judgements.dtypes()), *frames])
    key = Judgements.primary_key()
    repeated = rows.filter(pl.struct(key).is_duplicated()).sort(key)
    if repeated.height:
        query, doc, assessor = repeated.row(0)[:3]
        names = ", ".join(source.name for source in files)
        raise FormatError(
            f"expected one judgement per assessor and pair, found several by {assessor} for "
            f"query {query} and document {doc} ({repeated.height} such rows in total); keep one",
            names,
        )
    return rows


def _read_judgements(source: Source) -> pl.DataFrame:
    """Read the graded rows of one sheet or table."""
    if source.path.suffix == ".parquet":
        return _read_parquet(source)
    rows = [tuple(row[name] for name in COLUMNS) for _, row in _read_sheet(source) if row["grade"]]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
    return frame.cast({"grade": pl.UInt8})


def _read_parquet(source: Source) -> pl.DataFrame:
    """Read and validate a Parquet table of judgements."""
    try:
        frame = parquet.read_unless_too_many_rows(source.path).select(COLUMNS)
        _require_integer_grades(source, frame["grade"])
        judgements = frame.cast(Judgements.dtypes())  # type: ignore[arg-type]
        return Judgements.validate(judgements, cast=True).select(COLUMNS)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"expected a table of judgements: {error}", source.name) from None
    except Exception as error:
        if type(error).__module__.startswith("dataframely"):
            raise FormatError(f"expected a table of judgements: {error}", source.name) from None
        raise


def _require_integer_grades(source: Source, grades: pl.Series) -> None:
    """Raise a FormatError if grades are Boolean or have fractions, which a cast would change."""
    if grades.dtype == pl.Boolean:
        raise FormatError(
            "grade: expected the numbers 0, 1 and 2, found a Boolean column; cast it to integers",
            source.name,
        )
    if grades.dtype.is_float() or grades.dtype.is_decimal():
        fractions = grades.filter(grades % 1 != 0)
        if fractions.len():
            raise FormatError(
                f"grade: expected 0, 1 or 2 in every row, found {fractions[0]} "
                f"({fractions.len():,} such rows in total); write one row per "
                "assessor instead of mean grades",
                source.name,
            )


def _count_rows(source: Source) -> int:
    """Return the number of rows of a sheet or table, including rows without a grade."""
    if source.path.suffix == ".parquet":
        return int(parquet.scan(source.path).select(pl.len()).collect().item())
    return sum(1 for _ in _read_sheet(source))


def _read_sheet(source: Source) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the line number and stripped cells of every row of a sheet.

    Raises:
        FormatError: The sheet is not tab-separated UTF-8, or has a missing or invalid value.
    """
    raise_csv_field_size_limit()
    line = 1
    with source.path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter="\t", strict=True)
        try:
            names = next(reader, [])
            _check_header(source, names)
            line = reader.line_num + 1
            for cells in reader:
                if _has_swallowed_rows(cells, len(names)):
                    raise csv.Error("a cell contains the rows up to the next quote")
                if any(cell.strip() for cell in cells):
                    row = dict(zip(names, cells, strict=False))
                    _check_row(source, reader.line_num, row)
                    yield reader.line_num, {name: row[name].strip() for name in COLUMNS}
                line = reader.line_num + 1
        except UnicodeDecodeError as error:
            raise FormatError(
                f"expected tab-separated UTF-8 text: {error}; save the sheet in UTF-8", source.name
            ) from None
        except csv.Error as error:
            raise FormatError(
                f"expected a closing quote in every cell that begins with a quote: {error}; remove "
                "the quotes, or save the sheet with a spreadsheet program",
                source.name,
                line,
            ) from None


def _has_swallowed_rows(cells: Sequence[str], n_columns: int) -> bool:
    """Return whether a stray quote has merged several rows of the sheet into one cell."""
    with_line_breaks = [cell for cell in cells if "\n" in cell or "\r" in cell]
    has_too_many_cells = len(cells) > n_columns
    return any(has_too_many_cells or "\t" in cell for cell in with_line_breaks)


def _check_header(source: Source, column_names: Sequence[str]) -> None:
    """Raise a FormatError if a required column is missing or occurs twice."""
    for name in COLUMNS:
        if column_names.count(name) > 1:
            raise FormatError(
                f"expected one column {name}, found {column_names.count(name)}", source.name, 1
            )
    missing = [name for name in COLUMNS if name not in column_names]
    if missing:
        is_csv = len(column_names) == 1 and all(name in column_names[0] for name in COLUMNS)
        fix = "save the sheet as tab-separated text" if is_csv else f"add {', '.join(missing)}"
        raise FormatError(
            f"expected the tab-separated columns {', '.join(COLUMNS)}, found "
            f"{', '.join(column_names)[:200] or 'an empty file'}; {fix}",
            source.name,
            1,
        )


def _check_row(source: Source, line: int, row: Mapping[str, str]) -> None:
    """Raise a FormatError if a value of the row is missing or invalid."""
    for name, (pattern, expected) in PATTERNS.items():
        value = row.get(name, "").strip()
        if name not in row or re.fullmatch(pattern, value) is None:
            raise FormatError(
                f"{name}: expected {expected}, found {value[:40]!r}", source.name, line
            )
