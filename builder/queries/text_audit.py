"""Audit the texts of a query file: the faults that published ones had, each found and counted.

In: queries as found in a file (`texts.read_texts`). Out: how many lines have each fault, and the
queries that one text, exactly or folded, spreads over several ids. Nothing personal is repeated:
texts with personal data are counted, never shown.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.queries.personal import KINDS, personal_data
from builder.queries.rules import OPERATOR, is_url_like
from builder.queries.texts import read_texts
from builder.text.keys import fold

LONG = 500
"""Characters from which a text is no query."""

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
    "url_like": is_url_like(TEXT),
}
"""Faults of a line, each a Boolean expression over the column `text`."""


@dataclass(frozen=True)
class TextAudit:
    """What an audit found.

    Args:
        lines: Lines looked at.
        faults: Lines with each fault; `personal_<kind>` for personal data.
        longest: Characters of the longest text.
        same_text: `text`, `ids`: one text under several ids.
        same_folded: `folded`, `ids`, `texts`: several texts that fold to one.
    """

    lines: int
    faults: dict[str, int]
    longest: int
    same_text: pl.DataFrame
    same_folded: pl.DataFrame


def audit_texts(queries: pl.DataFrame) -> TextAudit:
    """Look for the known faults of query files.

    Args:
        queries: Columns `id`, `text` as found.
    """
    seen = queries.with_columns(personal=personal_data(queries.select(TEXT)["text"]))
    counts = seen.select(
        *(expression.sum().alias(name) for name, expression in FAULTS.items()),
        *((pl.col("personal") == kind).sum().alias(f"personal_{kind}") for kind in KINDS),
    )
    harmless = seen.filter(pl.col("personal").is_null()).select(
        "id", TEXT.alias("text"), fold(TEXT).alias("folded")
    )
    return TextAudit(
        lines=queries.height,
        faults=dict(zip(counts.columns, counts.row(0), strict=True)) if queries.height else {},
        longest=int(queries.select(TEXT.str.len_chars().max()).item() or 0),
        same_text=_groups(harmless, "text").drop("texts"),
        same_folded=_groups(harmless, "folded").filter(pl.col("texts").list.len() > 1),
    )


def audit_text_file(path: Path | str) -> TextAudit:
    """Look for the known faults of one query file; see `texts.read_texts`."""
    return audit_texts(read_texts(Path(path)))


def _groups(texts: pl.DataFrame, by: str) -> pl.DataFrame:
    """Values of a column that several ids share."""
    return (
        texts.filter(pl.col(by) != "")
        .group_by(by)
        .agg(
            pl.col("id").unique().sort().alias("ids"),
            (pl.col("text") if by != "text" else pl.col("folded")).unique().sort().alias("texts"),
        )
        .filter(pl.col("ids").list.len() > 1)
        .sort(by)
    )
