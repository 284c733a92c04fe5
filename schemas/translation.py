"""Tables of the translation: what stands for each sentence, and what is doubtful about it."""

from typing import ClassVar

import dataframely as dy

from schemas._base import Contract, count, query_id

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
"""What may be said about a sentence and its translation, in the order in which it is listed:

untranslatable      numbers, addresses, code: copied
english             already English by language identification: copied
control_characters  removed before translation
markup              has tags such as <DOC> or </TEXT>
split               had too many pieces: translated in parts and joined
unknown_characters  has pieces that the model does not know
empty_output        the model gave nothing
truncated           the output reached its longest length
repetition          the output repeats itself without end
length_ratio        far longer or shorter than its source
copied_source       the output is still French
numbers_differ      the digits of both sides differ
retried             the output is that of the second decoding
source_kept         the source stands in the English text
dropped             nothing stands in the English text
"""
FIELDS = ("query", "text", "title")


def _flags(description: str) -> dy.List:
    return dy.List(dy.String(regex=rf"^({'|'.join(SENTENCE_FLAGS)})$"), description=description)


class Sentences(Contract):
    """A sentence of a document or query and what stands for it in the English text."""

    order: ClassVar[tuple[str, ...]] = ("id", "field", "sentence")

    id = dy.String(
        primary_key=True, regex=r"^[dq][0-9a-f]{16}$", description="Id of the document or query"
    )
    field = dy.String(
        primary_key=True, regex=rf"^({'|'.join(FIELDS)})$", description="Where the sentence stands"
    )
    sentence = dy.UInt32(primary_key=True, description="Place within the field, from 0")
    fr = dy.String(min_length=1, description="Source, white space collapsed, without list marks")
    en = dy.String(description="What stands for it")
    flags = _flags("What is to be known about it, in the order of `SENTENCE_FLAGS`")


class Translations(Contract):
    """How the translation of one document or query went."""

    id = dy.String(
        primary_key=True, regex=r"^[dq][0-9a-f]{16}$", description="Id of the document or query"
    )
    sentences = count("Sentences in all fields")
    translated = count("Sentences for which a translation stands")
    copied = count("Sentences that stand as they were: untranslatable, or English already")
    source_kept = count("Sentences that stand in French because their translation failed")
    dropped = count("Sentences for which nothing stands")
    flags = _flags("Flags of its sentences, each once, in the order of `SENTENCE_FLAGS`")


class QueryCollisions(Contract):
    """A query whose English text is also that of another query."""

    order: ClassVar[tuple[str, ...]] = ("folded_en", "query_id")

    folded_en = dy.String(primary_key=True, description="English text, folded")
    query_id = query_id(primary_key=True)
    text = dy.String(min_length=1, description="Source text")
    text_en = dy.String(description="English text")
