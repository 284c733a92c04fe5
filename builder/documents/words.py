r"""What a word is, for regular expressions of Polars and of DuckDB.

A word is a run of letters, digits, underscores and the like, and of the marks on them; it begins
with none of these marks. Joiners and variation selectors are left out of texts before: `❤` with a
selector and without is no word, a Persian word with a joiner within and without is one.
"""

WORD = r"[\w--\p{M}]\w*"
WORD_IN_SQL = r"[\p{L}\p{Nd}\p{Nl}\p{Pc}][\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]*"
"""The same for DuckDB, to whom `\\w` means letters of ASCII."""
JOINERS = r"[\x{200c}\x{200d}\x{180b}-\x{180d}\x{180f}\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]"
"""Joiners, non-joiners and variation selectors: how characters are drawn, not which they are."""
