"""Sections of an explorer page about a document: word diff of two versions, and translation."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from builder.explore.forms import create_select_field, render_filter_form
from builder.explore.page_request import PageRequest
from builder.explore.render import render_macro
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_statement_table
from builder.explore.word_diff import MAX_WORDS, diff_words
from builder.reporting import numbers
from builder.reporting.parts import Cell, empty_note, paragraph, section

TEXT = """
SELECT snapshot, title, text, title_en, text_en FROM documents
WHERE doc_id IN (SELECT unnest($ids)) AND doc_key = $doc AND snapshot = $snapshot
"""
SENTENCES = """
SELECT field, sentence, fr, en, flags FROM sentences
WHERE id = $doc AND snapshot = $snapshot ORDER BY field DESC, sentence LIMIT $most
"""
TRANSLATED = """
SELECT snapshot, sentences, translated, copied, source_kept, dropped, flags FROM translations
WHERE id = $doc ORDER BY snapshot
"""
MAX_SENTENCES = 400
"""Maximum number of translated sentences shown."""


def diff_section(
    source: CollectionSource,
    request: PageRequest,
    versions: Sequence[Row],
    sql_parameters: dict[str, Any],
) -> Markup:
    """Render the word diff of the two versions that the request selects.

    Args:
        source: Connection to the collection.
        request: Request with the parameters `from` and `to` (snapshots), and `language` (`source`
            or `english`).
        versions: Versions of the document, in chronological order.
        sql_parameters: SQL parameters that select the document: `doc` and `ids`.
    """
    names = [row["snapshot"] for row in versions]
    heading, lead = "Difference", "Words that were added or removed between two versions."
    if len(names) < 2:
        text = "A comparison needs at least two versions of the page."
        return section("difference", heading, lead, empty_note(text))
    start, end = (
        request.choice_parameter("from", names, names[-2]),
        request.choice_parameter("to", names, names[-1]),
    )
    language = request.choice_parameter("language", ("source", "english"), "source")
    suffix = "_en" if language == "english" else ""
    fields = [
        create_select_field("from", "Earlier", start, names),
        create_select_field("to", "Later", end, names),
    ]
    if any(row["title_en"] is not None for row in versions):
        both = (("source", "source"), ("english", "English"))
        fields.append(create_select_field("language", "Text", language, both))
    before, after = (
        source.fetch_rows(Statement(TEXT, {**sql_parameters, "snapshot": n}))[0]
        for n in (start, end)
    )
    diff = diff_words(_join_title_and_text(before, suffix), _join_title_and_text(after, suffix))
    removed = numbers.pluralize(diff.removed, "word")
    count = f"{removed} removed, {numbers.format_count(diff.added)} added"
    if diff.omitted:
        count += (
            f"; only the first {MAX_WORDS:,} words of each version are compared "
            f"({diff.omitted:,} words omitted)"
        )
    marked_text = render_macro(
        "difference", f"{start} to {end}", diff.runs, {"language": _language_code(source, suffix)}
    )
    return section(
        "difference",
        heading,
        lead,
        render_filter_form(request, *fields, anchor="difference"),
        paragraph(count, "note"),
        marked_text,
    )


def _language_code(source: CollectionSource, column_suffix: str) -> str:
    """Return the language code for a suffix of text columns, such as `en` for `_en`."""
    return next(
        (k for k, own in source.collection.languages.items() if own == column_suffix), "und"
    )


def _join_title_and_text(row: Row, column_suffix: str) -> str:
    """Return the title and text of a document version, separated by a line break."""
    return f"{row[f'title{column_suffix}'] or ''}\n{row[f'text{column_suffix}'] or ''}".strip()


def translation_section(
    source: CollectionSource,
    request: PageRequest,
    versions: Sequence[Row],
    sql_parameters: dict[str, Any],
) -> Markup:
    """Render the sentences of a document version with their translations.

    If the document has no translations, the source text of its last version is rendered instead.

    Args:
        source: Connection to the collection.
        request: Request whose parameter `snapshot` selects the version.
        versions: Versions of the document, in chronological order.
        sql_parameters: SQL parameters that select the document: `doc` and `ids`.
    """
    heading = "Translation"
    lead = "Every sentence with its translation, and flags for possible errors."
    done = source.fetch_rows(Statement(TRANSLATED, sql_parameters))
    if not done:
        return section(
            "translation",
            heading,
            lead,
            empty_note("The collection does not contain a translation of this page."),
            _render_source_text(source, versions, sql_parameters),
        )
    names = [row["snapshot"] for row in done]
    snapshot = request.choice_parameter("snapshot", names, names[-1])
    chosen = render_filter_form(
        request, create_select_field("snapshot", "Snapshot", snapshot, names), anchor="translation"
    )
    counts = next(row for row in done if row["snapshot"] == snapshot)
    count = (
        f"{numbers.pluralize(counts['sentences'], 'sentence')}, of which "
        f"{counts['translated']:,} translated, {counts['copied']:,} copied, "
        f"{counts['source_kept']:,} left in the source language and {counts['dropped']:,} dropped"
    )
    columns = (
        Column(
            "Part",
            lambda r: Cell(f"{r['field']} {r['sentence'] + 1}"),
            "Title or text, and the number of the sentence",
        ),
        Column("Source", lambda r: Cell(r["fr"])),
        Column("English", lambda r: Cell(r["en"])),
        Column(
            "Flags",
            lambda r: Cell(", ".join(r["flags"]) or numbers.DASH),
            "Possible errors in the translation",
        ),
    )
    sentences = render_statement_table(
        source,
        f"Sentences of {snapshot}",
        columns,
        Statement(SENTENCES, {**sql_parameters, "snapshot": snapshot, "most": MAX_SENTENCES}),
        empty_text="No sentences are recorded.",
    )
    return section("translation", heading, lead, chosen, paragraph(count, "note"), sentences)


def _render_source_text(
    source: CollectionSource, versions: Sequence[Row], sql_parameters: dict[str, Any]
) -> Markup | None:
    """Render the source text of a document's last version; return None if it has no versions."""
    if not versions:
        return None
    name = versions[-1]["snapshot"]
    row = source.fetch_rows(Statement(TEXT, {**sql_parameters, "snapshot": name}))[0]
    diff = diff_words(_join_title_and_text(row, ""), _join_title_and_text(row, ""))
    language = {"language": _language_code(source, "")}
    return render_macro("difference", f"The text in {name}", diff.runs, language)
