r"""Regular expressions that match a word, for Polars and DuckDB.

A word is a run of letters, digits, underscores and combining marks that does not start with a mark.
Joiners and variation selectors must be removed first: `❤` is not a word, with or without a
selector; a Persian word is one word, with or without a joiner.
"""

WORD = r"[\w--\p{M}]\w*"
WORD_DUCKDB = r"[\p{L}\p{Nd}\p{Nl}\p{Pc}][\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]*"
"""Regular expression of a word for DuckDB, in which `\\w` matches ASCII only."""
JOINERS = (
    r"[\x{ad}\x{200c}\x{200d}\x{2060}\x{180b}-\x{180d}\x{180f}\x{fe00}-\x{fe0f}"
    r"\x{e0100}-\x{e01ef}]"
)
"""Soft hyphens, joiners, non-joiners and variation selectors, which affect only the rendering."""
