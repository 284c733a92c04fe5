"""Schemas of translation tables: sentences with their translations and quality flags."""

from typing import ClassVar

import dataframely as dy

from schemas._base import TableSchema, count_column, query_id_column

SENTENCE_FLAGS = (
    "untranslatable",
    "english",
    "control_characters",
    "markup",
    "split",
    "unknown_characters",
    "empty_output",
    "truncated",
    "repetition",
    "length_ratio",
    "copied_source",
    "numbers_differ",
    "retried",
    "source_kept",
    "dropped",
)
"""Flags of a sentence and its translation, in the order in which they are listed:

untranslatable      numbers, URLs or code; copied
english             identified as English; copied
control_characters  control characters were removed before translation
markup              contains tags such as <DOC> or </TEXT>
split               too many tokens; translated in parts
unknown_characters  contains tokens unknown to the model
empty_output        the model returned no output
truncated           the output reached the maximum length
repetition          the output repeats a phrase endlessly
length_ratio        the output is much longer or shorter than the source
copied_source       the output is still French
numbers_differ      source and output contain different numbers
retried             the output is from the second decoding
source_kept         the source is used in the English text
dropped             the sentence is missing from the English text
"""
FIELDS = ("query", "text", "title")


def _quality_flags_column(description: str) -> dy.List:
    """Define a column with lists of quality flags (see `SENTENCE_FLAGS`)."""
    return dy.List(dy.String(regex=rf"^({'|'.join(SENTENCE_FLAGS)})$"), description=description)


class Sentences(TableSchema):
    """Sentences of documents and queries, each with its translation, or its replacement."""

    order: ClassVar[tuple[str, ...]] = ("id", "field", "sentence")

    id = dy.String(
        primary_key=True, regex=r"^[dq][0-9a-f]{16}$", description="Id of the document or query"
    )
    field = dy.String(
        primary_key=True, regex=rf"^({'|'.join(FIELDS)})$", description="Field of the sentence"
    )
    sentence = dy.UInt32(
        primary_key=True, description="Index of the sentence within the field, from 0"
    )
    fr = dy.String(
        min_length=1,
        description="French sentence, with whitespace collapsed and list markers removed",
    )
    en = dy.String(description="English sentence; empty if dropped")
    flags = _quality_flags_column(
        "Flags of the sentence, such as `truncated` (see the page *French to English* of the "
        "manual)"
    )


class Translations(TableSchema):
    """Translation statistics of each document and each query."""

    id = dy.String(
        primary_key=True, regex=r"^[dq][0-9a-f]{16}$", description="Id of the document or query"
    )
    sentences = count_column("Number of sentences in all fields")
    translated = count_column("Number of translated sentences")
    copied = count_column("Number of sentences copied because they have no words or are English")
    source_kept = count_column(
        "Number of sentences kept in French because their translation failed"
    )
    dropped = count_column("Number of sentences without any English text")
    flags = _quality_flags_column("Distinct flags of all sentences")


class QueryCollisions(TableSchema):
    """Queries that have the same English text as another query."""

    order: ClassVar[tuple[str, ...]] = ("folded_en", "query_id")

    folded_en = dy.String(primary_key=True, description="Folded English text")
    query_id = query_id_column(primary_key=True)
    text = dy.String(min_length=1, description="Text in the source language")
    text_en = dy.String(description="Text in English")
