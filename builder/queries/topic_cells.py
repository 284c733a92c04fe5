"""Parses the cells of a topic file, including quotes, aliases and texts for missing values."""

import re

from builder.errors import FormatError
from builder.io.sources import Source

QUOTED_CELL = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
MISSING = frozenset({"NULL", "null", "\\N", "None", "NaN", "nan", "NA", "<NA>", "#N/A"})
"""Texts that other programs write for missing values; as topic labels, they would match queries."""


def split_cells(line: str, source: Source, line_number: int) -> list[str]:
    """Split a line at tabs into cells, without surrounding spaces and quotes.

    Raises:
        FormatError: a cell starts with a quote but has no closing quote.
    """
    cells = line.split("\t")
    for cell in cells:
        if cell.lstrip().startswith('"') and cell.count('"') % 2:
            raise FormatError(
                "expected a closing quote before the next tab or line break, found "
                f"{cell[:80]!r}; write each topic on one line, and double each quote inside a "
                "quoted cell",
                source.name,
                line_number,
            )
    matches = [(cell, QUOTED_CELL.fullmatch(cell)) for cell in cells]
    return [(match[1].replace('""', '"') if match else cell).strip() for cell, match in matches]


def check_label(cell: str, source: Source, line_number: int) -> None:
    """Raise a FormatError if a label represents a missing value, such as `NA`."""
    if cell in MISSING:
        raise FormatError(
            f"label: expected a word or phrase, found {cell!r}, which represents a missing value; "
            "delete the line, or, if this is the name of a topic, change its case (for example, NA "
            "to Na), because matching ignores case",
            source.name,
            line_number,
        )


def split_aliases(cell: str, source: Source, line_number: int) -> list[str]:
    """Split a cell at `|` into aliases; raise a FormatError if it represents a missing value."""
    if cell in MISSING:
        raise FormatError(
            f"aliases: expected an empty cell or aliases separated by |, found {cell!r}; leave the "
            f"cell empty or, if {cell} is an alias, write {cell}|",
            source.name,
            line_number,
        )
    return [alias for part in cell.split("|") if (alias := part.strip())]
