"""Finds entries of lists that match no query of a log, such as misspelled topics."""

from collections.abc import Iterator
from typing import Literal

import polars as pl

from builder.parameters import SelectionParameters
from builder.queries.matching import Matching, normalized_text_expr
from builder.text.keys import fold, fold_series
from builder.text.listing import join_names

SEPARATORS_AND_PATTERNS = r"[;,|/()\[\]*?^$]"
STOP_LIST_ADVICE = (
    "if they should exclude queries, write them without patterns and other columns: a whole query "
    'per line or, with select.stop_matching = "word", a word or phrase'
)
MANUAL_SET_ADVICE = (
    "if they should be variants, write each as users type it; # starts a comment only at the start "
    "of a line"
)
TOPIC_ADVICE = (
    "if they should match queries, write words as users type them, without patterns, and | between "
    "aliases"
)


class UnmatchedEntries:
    """Entries of a list, such as a stop list, that have matched no query yet.

    Args:
        entries: Columns `folded` (text) and `name` (in the note). Rows with the same name are one
            entry, which a query matches if it matches any of the texts.
        matching: How an entry matches queries: by a matching policy, or as a whole `query`.
        subject: Beginning of the note, such as "entries of select.stop_lists that match no query".
        advice: What to do if an entry should match queries.
    """

    def __init__(
        self,
        entries: pl.DataFrame,
        matching: Matching | Literal["query"],
        *,
        subject: str,
        advice: str,
    ) -> None:
        self._matching = matching
        self._subject, self._advice = subject, advice
        self._entries = entries.with_columns(self._normalize(pl.col("folded")).alias("pattern"))

    def discard_matched(self, folded: pl.Series) -> None:
        """Discard the entries that match any of the given folded queries."""
        patterns = self._entries["pattern"].unique().to_list()
        if not patterns:
            return
        texts = folded.to_frame("text").select(self._normalize(pl.col("text"))).to_series()
        matched = (
            texts.filter(texts.is_in(patterns))
            if self._matching == "query"
            else texts.filter(texts.str.contains_any(patterns))
            .str.extract_many(patterns, overlapping=True)
            .explode()
        )
        names = self._entries.filter(pl.col("pattern").is_in(matched.unique().implode()))["name"]
        self._entries = self._entries.filter(~pl.col("name").is_in(names.implode()))

    def note(self) -> Iterator[str]:
        """Yield a note that lists the entries that no query has matched, if there are any."""
        names = self._entries["name"].unique(maintain_order=True)
        if len(names):
            listed = join_names(names.to_list())
            yield f"{self._subject}: {len(names):,} ({listed}); {self._advice}"

    def _normalize(self, folded: pl.Expr) -> pl.Expr:
        """Return an expression that prepares folded texts for matching."""
        if self._matching == "query":
            return folded
        return normalized_text_expr(folded, self._matching)


def unmatched_stop_words(stop_list: pl.DataFrame, params: SelectionParameters) -> UnmatchedEntries:
    """Return the entries of stop lists (see `stop_lists.read_stop_lists`), all unmatched."""
    return UnmatchedEntries(
        stop_list,
        params.stop_matching,
        subject="entries of select.stop_lists that match no query typed by enough users",
        advice=STOP_LIST_ADVICE,
    )


def unmatched_topic_names(topics: pl.DataFrame, params: SelectionParameters) -> UnmatchedEntries:
    """Return the topics (see `schemas.Topics`), and their doubtful aliases, all unmatched.

    An alias is doubtful if it looks like several aliases or like a pattern.
    """
    names = topics.select(
        "topic_id", "label", pl.concat_list("label", "aliases").alias("alias")
    ).explode("alias")
    is_doubtful = pl.col("alias").str.contains(SEPARATORS_AND_PATTERNS)
    entries = names.sort(~is_doubtful, maintain_order=True).select(
        fold(pl.col("alias")).alias("folded"),
        pl.when(is_doubtful & (pl.col("alias") != pl.col("label")))
        .then(pl.format("alias '{}' of {}", "alias", "topic_id"))
        .otherwise(pl.format("'{}'", "label"))
        .alias("name"),
    )
    return UnmatchedEntries(
        entries,
        params.matching,
        subject="topics that match no query typed by enough users",
        advice=TOPIC_ADVICE,
    )


def note_unmatched_manual_sets(manual_sets: pl.DataFrame, texts: pl.Series) -> Iterator[str]:
    """Yield a note that lists the queries of manual sets that are none of the texts, if any.

    Args:
        manual_sets: See `manual_sets.read_manual_sets`.
        texts: Texts of the candidates.
    """
    unmatched = UnmatchedEntries(
        manual_sets.select("folded", "name"),
        "query",
        subject="queries of variants.files that match no selected query of this snapshot",
        advice=MANUAL_SET_ADVICE,
    )
    unmatched.discard_matched(fold_series(texts))
    yield from unmatched.note()
