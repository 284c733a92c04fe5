"""Faults of texts, each a Boolean expression over the columns of a table."""

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from builder.queries.rules import OPERATOR
from builder.queries.text_audit import FAULTS

SHOWN = 3
TAGS = 5
"""Tags of HTML that end, from which a text is taken for a page of it."""
SHORT = 40
"""Characters below which an English text may well be the French one."""


AGAIN = 8
"""So many words that follow themselves are a decoder that ran away."""


def _runs_away(text: pl.Expr, source: pl.Expr) -> pl.Expr:
    """Whether a text has words that follow themselves, many more than its source has."""
    return (_echoes(text) >= AGAIN + _echoes(source)).fill_null(value=False)


def _echoes(text: pl.Expr) -> pl.Expr:
    words = text.str.to_lowercase().str.extract_all(r"\w+")
    return words.list.eval(pl.element() == pl.element().shift(1)).list.sum().cast(pl.Int64)


_ENGLISH = pl.col("text_en")
TEXT_FAULTS: dict[str, dict[str, pl.Expr]] = {
    "documents": {
        "empty_english": _ENGLISH.is_not_null() & (_ENGLISH.str.strip_chars() == ""),
        "untranslated": (
            (pl.col("text") == _ENGLISH)
            & (pl.col("language") == "fr")
            & (pl.col("text").str.len_chars() > SHORT)
        ).fill_null(value=False),
        "runaway_english": _runs_away(_ENGLISH, pl.col("text")),
        "control_character": pl.col("text").str.contains(r"[\x00-\x08\x0b-\x1f\x7f\x{FFFD}]"),
        "markup": pl.col("text").str.count_matches(r"(?i)</(?:p|div|span|li|td)>") >= TAGS,
    },
    "queries": {
        "empty_english": _ENGLISH.is_not_null() & (_ENGLISH.str.strip_chars() == ""),
        "leaked_quotes": FAULTS["leaked_quotes"],
        "double_space": FAULTS["double_space"] | FAULTS["outer_space"],
        "control_character": FAULTS["control_character"],
        "over_long": FAULTS["over_long"],
        "search_operator": pl.col("text").str.contains(OPERATOR),
    },
}
"""By table, then by name."""
SAMPLED = ("runaway_english",)
"""Faults that take long to look for: of large tables every n-th row is looked at."""
LOOKED_AT = 20_000
"""Rows of a large table that are looked at for these."""


@dataclass
class Faults:
    """Rows with each fault, and the first keys of them."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(
        self, rows: pl.DataFrame, faults: dict[str, pl.Expr], key: list[str], stride: int
    ) -> None:
        """Look at rows; at every `stride`-th for faults that take long to find."""
        whole = {name: fault for name, fault in faults.items() if name not in SAMPLED}
        self._count(rows, whole, key)
        sampled = {name: fault for name, fault in faults.items() if name in SAMPLED}
        if sampled:
            some = rows.gather_every(stride).filter(_ENGLISH.is_not_null())
            self._count(some, sampled, key)

    def merge(self, other: "Faults") -> None:
        """Add what was found in later rows."""
        self.counts += other.counts
        for name, keys in other.examples.items():
            shown = self.examples.setdefault(name, [])
            shown += keys[: SHOWN - len(shown)]

    def _count(self, rows: pl.DataFrame, faults: dict[str, pl.Expr], key: list[str]) -> None:
        if not faults:
            return
        found = rows.select(pl.struct(key).alias("key"), **faults)
        for name in faults:
            count = int(found[name].sum())
            if count:
                self.counts[name] += count
                shown = self.examples.setdefault(name, [])
                room = SHOWN - len(shown)
                keys = found.filter(pl.col(name))["key"].head(room).to_list()
                shown += [" ".join(map(str, row.values())) for row in keys]
