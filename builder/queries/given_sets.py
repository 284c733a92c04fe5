"""Hand-made variant sets: people who know the domain say which queries mean the same.

In: UTF-8 tab-separated lines `set<TAB>query`, no header; blank lines and lines that begin with #
are skipped. Out: the set of each folded query. The name of a set decides its id, and so its side
of the split: add queries to a set at any time, but do not rename it.
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.queries.signatures import set_id
from builder.text.keys import fold_texts
from builder.trec.bounded import read_text_lines


def read_given_sets(sources: Sequence[Source]) -> pl.DataFrame:
    """The hand-made sets of all files.

    Returns:
        Columns `folded`, `given` (set id), one row for each folded query, sorted.

    Raises:
        FormatError: not UTF-8, a line without exactly one tab, an empty name or query, or a query
            in two sets.
    """
    given: dict[str, str] = {}
    for source in sources:
        names, queries, numbers = _parse(source)
        for name, folded, number in zip(names, fold_texts(queries), numbers, strict=True):
            if not folded:
                raise FormatError("a query needs a letter or a digit", source.name, number)
            if given.setdefault(folded, name) != name:
                raise FormatError(
                    f"the query is already in the set {given[folded]!r}, found {name!r}; "
                    "a query belongs to one set",
                    source.name,
                    number,
                )
    frame = pl.DataFrame(
        {"folded": list(given), "given": list(given.values())},
        schema={"folded": pl.String, "given": pl.String},
    )
    named = pl.lit("given\n") + pl.col("given")
    return frame.with_columns(set_id(named).alias("given")).sort("folded")


def _parse(source: Source) -> tuple[list[str], list[str], list[int]]:
    names: list[str] = []
    queries: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(read_text_lines(source), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, *rest = line.split("\t")
        if len(rest) != 1 or not name.strip():
            raise FormatError(f"expected set<TAB>query, found {line[:80]!r}", source.name, number)
        names.append(name.strip())
        queries.append(rest[0])
        numbers.append(number)
    return names, queries, numbers
