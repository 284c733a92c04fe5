"""Filtering truth and runs as in the TREC KBA track (cumulative citation recommendation).

In: text files, plain or gzip, one assertion a line, 6 to 12 fields separated by white space:

    team system stream_id target confidence rating [mention date_hour slot class bytes ...]

`stream_id` is `<unix seconds>-<document hash>`, confidence lies in (0, 1000], rating is -1 garbage,
0 neutral, 1 useful, 2 vital (or "central"); lines that start with `#` are comments. Truth has the
same format, with one line for each assessor. Out: one row for each (document, target) pair.

The rules are those of the track's scorer: assessors who disagree, and repeated assertions, of
which the most confident one counts.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from builder.evaluation.textlines import check_lines, line_blocks
from builder.text.names import to_valid_text

FEWEST_FIELDS, MOST_FIELDS = 6, 12
HIGHEST_CONFIDENCE = 1000.0
RATINGS = (-1, 0, 1, 2)

Assessors: TypeAlias = Literal["all", "any"]


@dataclass(frozen=True, slots=True)
class Truth:
    """The judged pairs of a truth file.

    Args:
        pairs: document, target, time (unix s), relevant, text_bytes (length of the visible text of
            the document, null where the file has no twelfth field); one row per pair, sorted.
        lines: Judgements read.
    """

    pairs: pl.DataFrame
    lines: int


@dataclass(frozen=True, slots=True)
class FilteringRun:
    """The assertions of one system.

    Args:
        system: Its name: the file name without extension.
        pairs: document, target, time (unix s), confidence; one row a pair, sorted.
        lines: Assertions read.
        below_rating: Assertions left out because their own rating is too low.
        repeated: Assertions left out because their pair was asserted with more confidence.
    """

    system: str
    pairs: pl.DataFrame
    lines: int
    below_rating: int
    repeated: int


def read_truth(path: Path, relevance: int = 2, assessors: Assessors = "all") -> Truth:
    """Read a truth file.

    Args:
        path: The file.
        relevance: Least rating that makes a document relevant.
        assessors: Whether all assessors of a pair must find it relevant, or any.

    Raises:
        FormatError: a line is not an assertion.
    """
    rows = _read(path)
    vote = pl.col("rating") >= relevance
    verdict = vote.all() if assessors == "all" else vote.any()
    first = pl.col("time", "text_bytes").first()
    pairs = rows.group_by("document", "target").agg(first, relevant=verdict)
    return Truth(pairs.sort("document", "target"), rows.height)


def read_filtering_run(path: Path, relevance: int = 2) -> FilteringRun:
    """Read the run of one system.

    Args:
        path: The file.
        relevance: Assertions that the system itself rates below are left out.

    Raises:
        FormatError: a line is not an assertion.
    """
    rows = _read(path)
    asserted = rows.filter(pl.col("rating") >= relevance)
    pairs = asserted.group_by("document", "target").agg(
        pl.col("time").first(), pl.col("confidence").max()
    )
    return FilteringRun(
        system=system_name(path),
        pairs=pairs.sort("document", "target"),
        lines=rows.height,
        below_rating=rows.height - asserted.height,
        repeated=asserted.height - pairs.height,
    )


def system_name(path: Path) -> str:
    """Name of the system behind a run file: its name without extensions."""
    name = to_valid_text(path.name).removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in {".txt", ".tsv", ".run"} else name


def _read(path: Path) -> pl.DataFrame:
    return pl.concat([_parse(block, path) for block in line_blocks(path)])


def _parse(block: pl.DataFrame, path: Path) -> pl.DataFrame:
    fields = pl.col("text").str.extract_all(r"\S+")
    split = block.with_columns(fields=fields, count=fields.list.len())
    expected = f"{FEWEST_FIELDS} to {MOST_FIELDS} fields separated by white space"
    check_lines(split, pl.col("count").is_between(FEWEST_FIELDS, MOST_FIELDS), expected, path)
    field = pl.col("fields").list
    rows = split.with_columns(
        document=field.get(2),
        target=field.get(3),
        time=field.get(2).str.extract(r"^(\d{1,18})-.").cast(pl.Int64),
        confidence=field.get(4).cast(pl.Float64, strict=False),
        rating=field.get(5).cast(pl.Int8, strict=False),
        text_bytes=field.get(MOST_FIELDS - 1, null_on_oob=True).cast(pl.Int64, strict=False),
    )
    check_lines(rows, pl.col("time").is_not_null(), "a stream id <seconds>-<hash> third", path)
    confident = pl.col("confidence").is_between(0, HIGHEST_CONFIDENCE, closed="right")
    check_lines(rows, confident, "a confidence in (0, 1000] as the fifth field", path)
    rated = pl.col("rating").is_in(RATINGS)
    check_lines(rows, rated, "a rating of -1, 0, 1 or 2 as the sixth field", path)
    return rows.select("document", "target", "time", "confidence", "rating", "text_bytes")
