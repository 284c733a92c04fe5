"""The texts of a page: the difference of two versions, and the translation sentence by sentence."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from builder.explore.asked import Asked
from builder.explore.difference import MOST_WORDS, difference
from builder.explore.forms import form, select
from builder.explore.render import macro
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, shown
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
MOST_SENTENCES = 400


def differences(
    source: Source, asked: Asked, versions: Sequence[Row], values: dict[str, Any]
) -> Markup:
    """The word-level difference of the two versions that the address names.

    Args:
        source: The collection.
        asked: `from` and `to` are snapshots, `language` is `source` or `english`.
        versions: The versions of the page.
        values: `doc` and `ids`.
    """
    names = [row["snapshot"] for row in versions]
    heading, lead = "Difference", "What one version says and the other does not, word by word."
    if len(names) < 2:
        text = "There are no two versions to compare."
        return section("difference", heading, lead, empty_note(text))
    start, end = asked.choice("from", names, names[-2]), asked.choice("to", names, names[-1])
    language = asked.choice("language", ("source", "english"), "source")
    suffix = "_en" if language == "english" else ""
    fields = [select("from", "Earlier", start, names), select("to", "Later", end, names)]
    if any(row["title_en"] is not None for row in versions):
        both = (("source", "source"), ("english", "English"))
        fields.append(select("language", "Text", language, both))
    before, after = (
        source.rows(Statement(TEXT, {**values, "snapshot": n}))[0] for n in (start, end)
    )
    found = difference(_whole(before, suffix), _whole(after, suffix))
    removed = numbers.pluralize(found.removed, "word")
    count = f"{removed} removed, {numbers.format_count(found.added)} added"
    if found.left_out:
        count += (
            f"; only the first {MOST_WORDS:,} words of a version are compared, "
            f"{found.left_out:,} were left out"
        )
    shown_runs = macro(
        "difference", f"{start} to {end}", found.runs, {"language": _code(source, suffix)}
    )
    return section(
        "difference",
        heading,
        lead,
        form(asked, *fields, at="difference"),
        paragraph(count, "note"),
        shown_runs,
    )


def _code(source: Source, suffix: str) -> str:
    """The language of the texts, for screen readers."""
    return next((k for k, own in source.collection.languages.items() if own == suffix), "und")


def _whole(row: Row, suffix: str) -> str:
    """Title and text of a version."""
    return f"{row[f'title{suffix}'] or ''}\n{row[f'text{suffix}'] or ''}".strip()


def translation(
    source: Source, asked: Asked, versions: Sequence[Row], values: dict[str, Any]
) -> Markup:
    """The sentences of a version and their translation; its text where there is none."""
    heading = "Translation"
    lead = "Each sentence with its translation, and what is doubtful about that."
    done = source.rows(Statement(TRANSLATED, values))
    if not done:
        return section(
            "translation",
            heading,
            lead,
            empty_note("The collection has no translation of this page."),
            _plain(source, versions, values),
        )
    names = [row["snapshot"] for row in done]
    snapshot = asked.choice("snapshot", names, names[-1])
    chosen = form(asked, select("snapshot", "Snapshot", snapshot, names), at="translation")
    went = next(row for row in done if row["snapshot"] == snapshot)
    count = (
        f"{numbers.pluralize(went['sentences'], 'sentence')}: {went['translated']:,} translated, "
        f"{went['copied']:,} copied, {went['source_kept']:,} kept in the source language, "
        f"{went['dropped']:,} dropped"
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
            "What is doubtful about the translation",
        ),
    )
    _, found = shown(
        source,
        f"Sentences of {snapshot}",
        columns,
        Statement(SENTENCES, {**values, "snapshot": snapshot, "most": MOST_SENTENCES}),
        empty="No sentence is recorded.",
    )
    return section("translation", heading, lead, chosen, paragraph(count, "note"), found)


def _plain(source: Source, versions: Sequence[Row], values: dict[str, Any]) -> Markup | None:
    """The text of the last version, where no translation shows it."""
    if not versions:
        return None
    name = versions[-1]["snapshot"]
    row = source.rows(Statement(TEXT, {**values, "snapshot": name}))[0]
    words = difference(_whole(row, ""), _whole(row, ""))
    return macro("difference", f"The text in {name}", words.runs, {"language": _code(source, "")})
