"""Reads files of manually defined variant sets, which group queries with the same meaning.

Input: UTF-8 tab-separated lines `set<TAB>query` without a header; blank lines and lines starting
with # are skipped. Output: the set of each folded query (lowercased, without accents and
punctuation). The name of a set determines its id and hence its split: queries may be added to a set
at any time, but a set must not be renamed.
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.queries.signatures import variant_set_id_expr
from builder.text.keys import fold_texts
from builder.trec.bounded import read_text_lines


def read_manual_sets(sources: Sequence[Source]) -> pl.DataFrame:
    """Read all files of manually defined variant sets into one table.

    Returns:
        One row per folded query, in file order: `folded`, `manual_set` (id of the set), `name`
        (file and line).

    Raises:
        FormatError: a file is not UTF-8, a line does not have exactly one tab, a name or query is
            empty, or a query is in two sets.
    """
    set_names: dict[str, str] = {}
    places: list[str] = []
    for source in sources:
        names, queries, numbers = _read_manual_set_file(source)
        for name, folded, number in zip(names, fold_texts(queries), numbers, strict=True):
            if not folded:
                raise FormatError(
                    "expected a query with at least one letter or digit", source.name, number
                )
            if folded not in set_names:
                places.append(f"{source.name}, line {number}")
            if set_names.setdefault(folded, name) != name:
                raise FormatError(
                    f"expected every query in a single set, found a query of set {name!r} that is "
                    f"already in set {set_names[folded]!r}",
                    source.name,
                    number,
                )
    frame = pl.DataFrame(
        {"folded": list(set_names), "manual_set": list(set_names.values()), "name": places},
        schema={"folded": pl.String, "manual_set": pl.String, "name": pl.String},
    )
    hashed = pl.lit("given\n") + pl.col("manual_set")
    return frame.with_columns(variant_set_id_expr(hashed).alias("manual_set"))


def _read_manual_set_file(source: Source) -> tuple[list[str], list[str], list[int]]:
    """Return the set names, queries and line numbers of a file as three parallel lists."""
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
