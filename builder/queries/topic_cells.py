"""Parses the cells of a topic file: quotes, aliases, and texts that represent a missing value."""

import re

from builder.errors import FormatError
from builder.io.sources import Source

QUOTED_CELL = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
MISSING = frozenset({"NULL", "null", "\\N", "None", "NaN", "nan", "NA", "<NA>", "#N/A"})
"""Texts that other programs write for missing values; as topic labels, they would match queries."""


def split_cells(line: str, source: Source, line_number: int) -> list[str]:
    """Split a line at tabs into cells, without surrounding spaces and quotes.

    Raises:
        FormatError: a cell starts with a quote that does not end on the line.
    """
    cells = line.split("\t")
    for cell in cells:
        if cell.lstrip().startswith('"') and cell.count('"') % 2:
            raise FormatError(
                f"expected a cell in quotes to end before a tab or line break, found {cell[:80]!r};"
                " write each topic on one line, and each quote in a quoted cell twice",
                source.name,
                line_number,
            )
    matches = [(cell, QUOTED_CELL.fullmatch(cell)) for cell in cells]
    return [(match[1].replace('""', '"') if match else cell).strip() for cell, match in matches]


def check_label(cell: str, source: Source, line_number: int) -> None:
    """Raise a FormatError if a label represents a missing value, such as `NA`."""
    if cell in MISSING:
        raise FormatError(
            f"label: expected a word or phrase, found {cell!r}, which means a missing value; "
            "delete the line, or, if this is the name of a topic, change its case (such as Na for "
            "NA), which matching ignores",
            source.name,
            line_number,
        )


def split_aliases(cell: str, source: Source, line_number: int) -> list[str]:
    """Split a cell at `|` into aliases; raise a FormatError if it represents a missing value."""
    if cell in MISSING:
        raise FormatError(
            f"aliases: expected an empty cell or aliases separated by |, found {cell!r}; leave the "
            f"cell empty, or write {cell}| for an alias",
            source.name,
            line_number,
        )
    return [alias for part in cell.split("|") if (alias := part.strip())]
