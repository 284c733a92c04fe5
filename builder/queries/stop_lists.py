"""Reads stop lists: queries, words and phrases to exclude from selection (`select.stop_lists`).

Input: text files with one entry per line; `#` starts a comment. Output: the folded entries
(lowercased, without accents and punctuation).
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.text.keys import fold_texts
from builder.trec.bounded import read_text_lines

SCHEMA = {"folded": pl.String, "name": pl.String}


def read_stop_lists(sources: Sequence[Source]) -> pl.DataFrame:
    """Read the distinct folded entries of stop lists.

    Entries are identified by file and line, because their texts may contain personal names.

    Returns:
        One row per entry, in file order: `folded`, `name` (file and line).

    Raises:
        FormatError: a file is not UTF-8 text, or an entry has no letters and digits.
    """
    rows = [row for source in sources for row in _read_stop_list(source)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").unique(
        "folded", keep="first", maintain_order=True
    )


def _read_stop_list(source: Source) -> list[tuple[str, str]]:
    """Return the folded text of each entry of a file, and its name, `FILE, line NUMBER`."""
    lines = (line.partition("#")[0].strip() for line in read_text_lines(source))
    entries = [(number, line) for number, line in enumerate(lines, 1) if line]
    rows = []
    for (number, line), folded in zip(entries, fold_texts(e for _, e in entries), strict=True):
        if not folded:
            raise FormatError(
                "expected a query, word or phrase with at least one letter or digit, found "
                f"{line[:80]!r}; remove the line, or write # before a comment",
                source.name,
                number,
            )
        rows.append((folded, f"{source.name}, line {number}"))
    return rows
