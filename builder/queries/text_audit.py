"""Counts defects in the texts of a query file, and lists texts that occur under several ids.

The defects are those found in published query files. Texts with personal data are counted but
never printed.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.queries.personal import KINDS, detect_personal_data
from builder.queries.rules import OPERATOR, is_url_like_expr
from builder.queries.texts import read_query_texts
from builder.text.keys import fold

LONG = 500
"""Minimum number of characters of a text reported as over-long."""

TEXT = pl.col("text").str.strip_suffix("\r")

FAULTS: dict[str, pl.Expr] = {
    "carriage_return": pl.col("text").str.ends_with("\r"),
    "leaked_quotes": TEXT.str.starts_with('"')
    | TEXT.str.contains('""', literal=True)
    | (TEXT.str.count_matches('"', literal=True) % 2 == 1),
    "double_space": TEXT.str.contains(r"\s{2}"),
    "outer_space": TEXT.str.contains(r"^\s|\s$"),
    "control_character": TEXT.str.contains(r"[\p{Cc}\x{FFFD}]"),
    "over_long": TEXT.str.len_chars() >= LONG,
    "nothing_left_after_folding": fold(TEXT) == "",
    "search_operator": TEXT.str.contains(OPERATOR),
    "url_like": is_url_like_expr(TEXT),
}
"""Defects by name, each a Boolean expression over the column `text`."""


@dataclass(frozen=True)
class TextAudit:
    """Number of lines with each defect in a query file, and texts that occur under several ids.

    Args:
        lines: Number of lines.
        faults: Number of lines with each defect; `personal_<kind>` for personal data.
        longest: Number of characters of the longest text.
        same_text: Texts that occur under several ids: `text`, `ids`.
        same_folded: Folded texts that occur under several ids and as several texts: `folded`,
            `ids`, `texts`.
    """

    lines: int
    faults: dict[str, int]
    longest: int
    same_text: pl.DataFrame
    same_folded: pl.DataFrame


def audit_texts(queries: pl.DataFrame) -> TextAudit:
    """Count defects of query texts, such as stray quotes and personal data, and find duplicates.

    Args:
        queries: Columns `id`, `text`; see `texts.read_query_texts`.
    """
    flagged = queries.with_columns(personal=detect_personal_data(queries.select(TEXT)["text"]))
    counts = flagged.select(
        *(expression.sum().alias(name) for name, expression in FAULTS.items()),
        *((pl.col("personal") == kind).sum().alias(f"personal_{kind}") for kind in KINDS),
    )
    harmless = flagged.filter(pl.col("personal").is_null()).select(
        "id", TEXT.alias("text"), fold(TEXT).alias("folded")
    )
    return TextAudit(
        lines=queries.height,
        faults=dict(zip(counts.columns, counts.row(0), strict=True)) if queries.height else {},
        longest=int(queries.select(TEXT.str.len_chars().max()).item() or 0),
        same_text=_find_duplicates(harmless, "text").drop("texts"),
        same_folded=_find_duplicates(harmless, "folded").filter(pl.col("texts").list.len() > 1),
    )


def audit_texts_in_file(path: Path | str) -> TextAudit:
    """Read a query file, and audit its texts; see `audit_texts`."""
    return audit_texts(read_query_texts(Path(path)))


def _find_duplicates(texts: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return each value of a column that occurs under several ids, with its ids and texts."""
    return (
        texts.filter(pl.col(column) != "")
        .group_by(column)
        .agg(
            pl.col("id").unique().sort().alias("ids"),
            (pl.col("text") if column != "text" else pl.col("folded"))
            .unique()
            .sort()
            .alias("texts"),
        )
        .filter(pl.col("ids").list.len() > 1)
        .sort(column)
    )
