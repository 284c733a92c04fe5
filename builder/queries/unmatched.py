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
    "if they should exclude queries, write one entry per line, without wildcards or further "
    'columns; an entry is a whole query or, with select.stop_matching = "word", a word or phrase'
)
MANUAL_SET_ADVICE = (
    "if they should be variants, write each query as users type it, and write comments on lines of "
    "their own that start with #"
)
TOPIC_ADVICE = (
    "if they should match queries, write words as users type them, without wildcards, and separate "
    "aliases by |"
)


class UnmatchedEntries:
    """Entries of a list, such as a stop list, that have matched no query yet.

    Args:
        entries: Columns `folded` (text) and `name` (shown in the note). Rows with the same name
            form one entry; a query matches an entry if it matches any text of the entry.
        matching: Matching policy, or `query` if an entry matches only identical queries.
        subject: Beginning of the note on unmatched entries, such as "entries of select.stop_lists
            that match no query".
        advice: End of the note, which says what to do if an entry should match queries.
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

    def notes(self) -> Iterator[str]:
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


def create_stop_list_tracker(
    stop_list: pl.DataFrame, params: SelectionParameters
) -> UnmatchedEntries:
    """Return the entries of stop lists, none of which has matched a query yet.

    Args:
        stop_list: See `stop_lists.read_stop_lists`.
        params: Section `[select]` of the definition.
    """
    return UnmatchedEntries(
        stop_list,
        params.stop_matching,
        subject="entries of select.stop_lists that match no k-anonymous query of this snapshot",
        advice=STOP_LIST_ADVICE,
    )


def create_topic_name_tracker(
    topics: pl.DataFrame, params: SelectionParameters
) -> UnmatchedEntries:
    """Return the topics and suspicious aliases, none of which has matched a query yet.

    An alias is suspicious if it looks like several aliases or contains wildcards.

    Args:
        topics: Table with the schema `Topics`.
        params: Section `[select]` of the definition.
    """
    names = topics.select(
        "topic_id", "label", pl.concat_list("label", "aliases").alias("alias")
    ).explode("alias")
    is_suspicious = pl.col("alias").str.contains(SEPARATORS_AND_PATTERNS)
    entries = names.sort(~is_suspicious, maintain_order=True).select(
        fold(pl.col("alias")).alias("folded"),
        pl.when(is_suspicious & (pl.col("alias") != pl.col("label")))
        .then(pl.format("alias '{}' of {}", "alias", "topic_id"))
        .otherwise(pl.format("'{}'", "label"))
        .alias("name"),
    )
    return UnmatchedEntries(
        entries,
        params.matching,
        subject="topics that match no k-anonymous query of this snapshot",
        advice=TOPIC_ADVICE,
    )


def note_unmatched_manual_sets(manual_sets: pl.DataFrame, texts: pl.Series) -> Iterator[str]:
    """Yield a note that lists the queries of manual sets that match no candidate, if there are any.

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
    yield from unmatched.notes()
