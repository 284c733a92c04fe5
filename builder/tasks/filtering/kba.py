"""Reads truth and run files of the TREC KBA track (cumulative citation recommendation).

Files are plain text or gzip, with one assertion per line in 6 to 12 whitespace-separated fields:

    team system stream_id target confidence rating [mention date_hour slot class bytes ...]

`stream_id` is `<Unix seconds>-<document hash>`, confidence is in (0, 1000], and rating is -1
(garbage), 0 (neutral), 1 (useful) or 2 (vital, also called central). Lines starting with
`#` are comments. Truth files have the same format, with one line per assessor and (document,
target) pair.

Ratings of several assessors and repeated assertions of a run are merged into one row per
(document, target) pair, by the rules of the official scorer.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from builder.evaluation.textlines import check_lines, line_blocks
from builder.text.names import to_valid_unicode

MIN_FIELDS, MAX_FIELDS = 6, 12
MAX_CONFIDENCE = 1000.0
RATINGS = (-1, 0, 1, 2)

Assessors: TypeAlias = Literal["all", "any"]


@dataclass(frozen=True, slots=True)
class FilteringTruth:
    """Judged (document, target) pairs of a truth file.

    Args:
        pairs: One row per pair, sorted: document, target, time (Unix seconds), relevant,
            text_bytes (length of the visible text; null if the file has no twelfth field).
        lines: Number of assertions in the file.
    """

    pairs: pl.DataFrame
    lines: int


@dataclass(frozen=True, slots=True)
class FilteringRun:
    """Run of one filtering system: (document, target) pairs with confidences.

    Args:
        system: Name of the system: the file name without extension.
        pairs: One row per pair, sorted: document, target, time (Unix seconds), confidence.
        lines: Number of assertions in the file.
        below_rating: Number of assertions ignored because their rating is below the minimum.
        repeated: Number of assertions ignored because another assertion about the same pair is at
            least as confident.
    """

    system: str
    pairs: pl.DataFrame
    lines: int
    below_rating: int
    repeated: int


def read_truth(path: Path, min_rating: int = 2, assessors: Assessors = "all") -> FilteringTruth:
    """Read a truth file and merge the ratings of several assessors.

    Args:
        path: Truth file in KBA format.
        min_rating: Minimum rating of a relevant document.
        assessors: `all` if all assessors of a pair must rate it as relevant, `any` if one suffices.

    Raises:
        FormatError: a line is malformed.
    """
    rows = _read_assertions(path)
    vote = pl.col("rating") >= min_rating
    relevant = vote.all() if assessors == "all" else vote.any()
    first = pl.col("time", "text_bytes").first()
    pairs = rows.group_by("document", "target").agg(first, relevant=relevant)
    return FilteringTruth(pairs.sort("document", "target"), rows.height)


def read_filtering_run(path: Path, min_rating: int = 2) -> FilteringRun:
    """Read a run file, and keep the highest confidence of each (document, target) pair.

    Args:
        path: Run file in KBA format.
        min_rating: Minimum rating; assertions with a lower rating are ignored.

    Raises:
        FormatError: a line is malformed.
    """
    rows = _read_assertions(path)
    asserted = rows.filter(pl.col("rating") >= min_rating)
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
    """Return the system name: the run file name without `.gz` and `.txt`, `.tsv` or `.run`."""
    name = to_valid_unicode(path.name).removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in {".txt", ".tsv", ".run"} else name


def _read_assertions(path: Path) -> pl.DataFrame:
    """Read all assertions of a run or truth file."""
    return pl.concat([_parse_assertions(block, path) for block in line_blocks(path)])


def _parse_assertions(block: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Parse a block of lines of a run or truth file into one row per assertion."""
    fields = pl.col("text").str.extract_all(r"\S+")
    split = block.with_columns(fields=fields, count=fields.list.len())
    expected = f"{MIN_FIELDS} to {MAX_FIELDS} whitespace-separated fields"
    check_lines(split, pl.col("count").is_between(MIN_FIELDS, MAX_FIELDS), expected, path)
    field = pl.col("fields").list
    rows = split.with_columns(
        document=field.get(2),
        target=field.get(3),
        time=field.get(2).str.extract(r"^(\d{1,18})-.").cast(pl.Int64),
        confidence=field.get(4).cast(pl.Float64, strict=False),
        rating=field.get(5).cast(pl.Int8, strict=False),
        text_bytes=field.get(MAX_FIELDS - 1, null_on_oob=True).cast(pl.Int64, strict=False),
    )
    check_lines(rows, pl.col("time").is_not_null(), "<seconds>-<hash> as the third field", path)
    confident = pl.col("confidence").is_between(0, MAX_CONFIDENCE, closed="right")
    check_lines(rows, confident, "a confidence in (0, 1000] as the fifth field", path)
    rated = pl.col("rating").is_in(RATINGS)
    check_lines(rows, rated, "a rating of -1, 0, 1 or 2 as the sixth field", path)
    return rows.select("document", "target", "time", "confidence", "rating", "text_bytes")
