"""Defines Polars expressions that are true for faulty texts of documents and queries."""

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from builder.queries.rules import OPERATOR
from builder.queries.text_audit import FAULTS
from builder.text.text_bytes import md5_hex_digests, to_text_bytes

MAX_EXAMPLES = 3
MIN_CLOSING_TAGS = 5
"""Minimum number of closing HTML tags for a text to be reported as markup."""
MIN_MISREAD = 3
"""Minimum number of misread characters for a text to be reported as misread."""
MAX_IDENTICAL_LENGTH = 40
"""Maximum length in characters of a text that may legitimately equal its translation."""


MIN_EXTRA_REPETITIONS = 8
"""Minimum number of repeated words by which a runaway translation exceeds its source."""


def _is_runaway_translation(translation: pl.Expr, source: pl.Expr) -> pl.Expr:
    """Return an expression that detects translations with far more repeated words than the source.

    Such runaway translations are produced by a decoder that is stuck in a loop.
    """
    return (
        _count_repeated_words(translation) >= MIN_EXTRA_REPETITIONS + _count_repeated_words(source)
    ).fill_null(value=False)


def _count_repeated_words(text: pl.Expr) -> pl.Expr:
    words = text.str.to_lowercase().str.extract_all(r"\w+")
    return words.list.eval(pl.element() == pl.element().shift(1)).list.sum().cast(pl.Int64)


def _hash_texts(texts: pl.Series) -> pl.Series:
    encoded = to_text_bytes(texts.rechunk())
    digests = md5_hex_digests(encoded.data, encoded.ends[:-1], encoded.ends[1:])
    return pl.Series(digests, dtype=pl.String)


def _count_misread_characters(column: str) -> pl.Expr:
    """Return an expression that counts replacement characters and misread UTF-8 such as `Ã©`."""
    return pl.col(column).str.count_matches(r"[ÂÃ][\x{80}-\x{bf}]|\x{e2}\x{20ac}|\x{FFFD}")


_ENGLISH = pl.col("text_en")
TEXT_FAULTS: dict[str, dict[str, pl.Expr]] = {
    "documents": {
        "empty_english": _ENGLISH.is_not_null() & (_ENGLISH.str.strip_chars() == ""),
        "untranslated": (
            (pl.col("text") == _ENGLISH)
            & (pl.col("language") == "fr")
            & (pl.col("text").str.len_chars() > MAX_IDENTICAL_LENGTH)
        ).fill_null(value=False),
        "runaway_english": _is_runaway_translation(_ENGLISH, pl.col("text")),
        "other_text_hash": pl.col("text").map_batches(_hash_texts, return_dtype=pl.String)
        != pl.col("text_hash"),
        "misread": (_count_misread_characters("text") >= MIN_MISREAD)
        | (_count_misread_characters("text_en") >= MIN_MISREAD).fill_null(value=False),
        "markup": pl.col("text").str.count_matches(r"(?i)</(?:p|div|span|li|td)>")
        >= MIN_CLOSING_TAGS,
    },
    "queries": {
        "empty_english": _ENGLISH.is_not_null() & (_ENGLISH.str.strip_chars() == ""),
        "copied": (pl.col("text") == _ENGLISH).fill_null(value=False),
        "leaked_quotes": FAULTS["leaked_quotes"],
        "double_space": FAULTS["double_space"] | FAULTS["outer_space"],
        "control_character": FAULTS["control_character"],
        "over_long": FAULTS["over_long"],
        "search_operator": pl.col("text").str.contains(OPERATOR),
    },
}
"""Boolean expressions that are true for faulty texts, by table and fault name."""
SAMPLED_FAULTS = ("runaway_english",)
"""Faults with slow expressions, which are evaluated only on a sample of a large table."""
SAMPLE_ROWS = 20_000
"""Approximate number of rows in the sample of a large table."""


@dataclass
class TextFaultCounts:
    """Number of rows with each text fault, and the keys of the first affected rows."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(
        self,
        rows: pl.DataFrame,
        fault_expressions: dict[str, pl.Expr],
        key_columns: list[str],
        sample_interval: int,
    ) -> None:
        """Count the text faults in a batch of rows.

        Args:
            rows: Rows of the table.
            fault_expressions: Boolean expressions by fault name.
            key_columns: Key columns of the table; their values are kept as examples.
            sample_interval: Step between the rows on which `SAMPLED_FAULTS` are evaluated; 1
                evaluates them on all rows.
        """
        checked = {
            name: fault for name, fault in fault_expressions.items() if name not in SAMPLED_FAULTS
        }
        self._count_faults(rows, checked, key_columns)
        sampled = {
            name: fault for name, fault in fault_expressions.items() if name in SAMPLED_FAULTS
        }
        if sampled:
            sample = rows.gather_every(sample_interval).filter(_ENGLISH.is_not_null())
            self._count_faults(sample, sampled, key_columns)

    def merge(self, other: "TextFaultCounts") -> None:
        """Add the counts and examples of `other`, which describes later rows of the table."""
        self.counts += other.counts
        for name, keys in other.examples.items():
            examples = self.examples.setdefault(name, [])
            examples += keys[: MAX_EXAMPLES - len(examples)]

    def _count_faults(
        self, rows: pl.DataFrame, fault_expressions: dict[str, pl.Expr], key: list[str]
    ) -> None:
        if not fault_expressions:
            return
        found = rows.select(pl.struct(key).alias("key"), **fault_expressions)
        for name in fault_expressions:
            count = int(found[name].sum())
            if count:
                self.counts[name] += count
                examples = self.examples.setdefault(name, [])
                remaining = MAX_EXAMPLES - len(examples)
                keys = found.filter(pl.col(name))["key"].head(remaining).to_list()
                examples += [" ".join(map(str, row.values())) for row in keys]
