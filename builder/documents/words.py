r"""Regular expressions that match a word, for Polars and DuckDB.

A word is a run of letters, digits, underscores and combining marks that does not start with a mark.
`JOINERS` must be removed first: otherwise, `❤` with a variation selector would be a word, and a
Persian word with a joiner would be two words.
"""

WORD = r"[\w--\p{M}]\w*"
WORD_DUCKDB = r"[\p{L}\p{Nd}\p{Nl}\p{Pc}][\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]*"
"""Regular expression of a word for DuckDB, whose `\\w` matches only ASCII characters."""
JOINERS = (
    r"[\x{ad}\x{200c}\x{200d}\x{2060}\x{180b}-\x{180d}\x{180f}\x{fe00}-\x{fe0f}"
    r"\x{e0100}-\x{e01ef}]"
)
"""Pattern of soft hyphens, (non-)joiners and variation selectors, which only affect rendering."""
