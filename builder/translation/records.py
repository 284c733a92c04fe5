"""Converts translations to rows of the tables `sentences` and `translations`."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from builder.io.tables import arrow_schema
from builder.translation.sentences import TranslatedSentence, Translation, sort_flags
from schemas import Sentences, Translations

COPIED = frozenset({"untranslatable", "english"})

Fields = Mapping[str, Sequence[Translation]]
"""Translations by field name; each list has one translation per document or query."""


def sentence_rows(ids: Sequence[str], translations: Fields) -> pa.Table:
    """Return one row per sentence of the given documents or queries.

    Args:
        ids: Ids of the documents or queries.
        translations: Translations by field name, each list in the order of `ids`.
    """
    rows = [
        (row_id, name, number, sentence.source, sentence.english, list(sentence.flags))
        for place, row_id in enumerate(ids)
        for name in sorted(translations)
        for number, sentence in enumerate(translations[name][place].sentences)
    ]
    return _to_arrow_table(rows, arrow_schema(Sentences))


def translation_rows(ids: Sequence[str], translations: Fields) -> pa.Table:
    """Return one row per document or query, with counts of its sentences by outcome.

    The outcomes are `translated`, `copied` (nothing to translate), `source_kept` (the translation
    failed, so the source is used) and `dropped`.

    Args:
        ids: Ids of the documents or queries.
        translations: Translations by field name, each list in the order of `ids`.
    """
    rows = []
    for place, row_id in enumerate(ids):
        sentences = [s for name in translations for s in translations[name][place].sentences]
        flags = frozenset(flag for sentence in sentences for flag in sentence.flags)
        copied, kept, dropped = (
            _count_flagged_sentences(sentences, names)
            for names in (COPIED, {"source_kept"}, {"dropped"})
        )
        translated = len(sentences) - copied - kept - dropped
        rows.append(
            (row_id, len(sentences), translated, copied, kept, dropped, list(sort_flags(flags)))
        )
    return _to_arrow_table(rows, arrow_schema(Translations))


def _count_flagged_sentences(
    sentences: Sequence[TranslatedSentence], flags: frozenset[str] | set[str]
) -> int:
    return sum(not flags.isdisjoint(sentence.flags) for sentence in sentences)


def _to_arrow_table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
