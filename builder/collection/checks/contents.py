"""Checks for defects in texts, such as boilerplate, leftover markup or missing translations."""

from collections.abc import Callable, Iterable, Iterator

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.files import REBUILD

BOILERPLATE_SHARE = 0.01
"""A text that occurs in more than this fraction of a snapshot's documents is boilerplate."""
COPIED_SHARE = 0.8
"""Maximum fraction of queries whose English text equals the source text, as it does for names."""
MIN_QUERIES = 10
"""Minimum number of queries of a snapshot for which `COPIED_SHARE` is checked."""
MARKUP_SHARE = 0.05
"""Maximum fraction of the texts in a table that may have HTML tags or misread characters."""
MIN_BOILERPLATE_DOCUMENTS = 50
"""A text that occurs in at most this many documents is never reported as boilerplate."""


def _find_boilerplate(context: ValidationContext) -> Iterator[Defect]:
    for name, documents in context.scan_snapshots("documents"):
        counts = documents.group_by("text_hash").agg(pl.len(), pl.col("doc_id").min()).collect()
        threshold = max(MIN_BOILERPLATE_DOCUMENTS, BOILERPLATE_SHARE * int(counts["len"].sum()))
        found = counts.filter(pl.col("len") > threshold).sort("len", "doc_id", descending=True)
        if found.height:
            message = (
                "texts occur in many documents; the most frequent text occurs in "
                f"{found['len'][0]:,} documents"
            )
            yield (
                f"snapshots/{name}/documents",
                message,
                found.height,
                tuple(found["doc_id"].head(3)),
            )


def _create_text_fault_finder(
    *faults: str, min_share: float = 0
) -> Callable[[ValidationContext], Iterable[Defect]]:
    """Return a function that reports the given text faults, such as `untranslated`.

    A fault is reported if it affects more than the fraction `min_share` of the texts in a table.
    """
    messages = {
        "empty_english": "English texts are empty",
        "untranslated": "English texts are identical to the French texts",
        "runaway_english": "English texts repeat the same word many times",
        "search_operator": "texts contain a search operator such as site:",
        "markup": "texts contain HTML tags",
        "misread": "texts contain replacement characters, or characters such as Ã©, which are "
        "misread UTF-8",
        "other_text_hash": "texts do not match their hash in the column `text_hash`",
    }

    def find_text_faults(context: ValidationContext) -> Iterator[Defect]:
        for where, summary in context.table_summaries.items():
            for name in faults:
                count = summary.text_faults.counts[name]
                if count > min_share * summary.rows:
                    yield where, messages[name], count, tuple(summary.text_faults.examples[name])

    return find_text_faults


_find_untranslated_documents = _create_text_fault_finder("untranslated")


def _find_untranslated_texts(context: ValidationContext) -> Iterator[Defect]:
    yield from _find_untranslated_documents(context)
    for where, summary in context.table_summaries.items():
        count = summary.text_faults.counts["copied"]
        if summary.rows >= MIN_QUERIES and count > COPIED_SHARE * summary.rows:
            message = f"English texts of most of the {summary.rows:,} queries equal the source text"
            yield where, message, count, tuple(summary.text_faults.examples["copied"])


CHECKS = (
    Check(
        "LB109",
        "texts match their hashes",
        "error",
        "texts that were attached to other documents",
        REBUILD,
        _create_text_fault_finder("other_text_hash"),
    ),
    Check(
        "LB215",
        "few documents share the same text",
        "warning",
        "the same boilerplate text in 13,288 documents",
        'set `documents.duplicates = "keep_first"` or `documents.duplicates = "drop"`',
        _find_boilerplate,
    ),
    Check(
        "LB216",
        "English texts are not empty",
        "error",
        "337,348 of 1,790,028 English documents were empty",
        'translate again with `translate.on_empty_output = "source"`, which keeps and marks '
        "the source text",
        _create_text_fault_finder("empty_english"),
    ),
    Check(
        "LB217",
        "English texts contain no untranslated French",
        "warning",
        "untranslated French texts that are not flagged",
        "translate again with `translate.retry = true`, which marks texts that remain untranslated",
        _find_untranslated_texts,
    ),
    Check(
        "LB218",
        "translations do not repeat words endlessly",
        "warning",
        'the word "leg" repeated 108 times',
        'translate again with `translate.beam_size = 4` and `translate.on_repetition = "source"`',
        _create_text_fault_finder("runaway_english"),
    ),
    Check(
        "LB222",
        "queries contain no search operators",
        "warning",
        "published queries with the operator `site:`",
        'set `select.operators = "drop"`',
        _create_text_fault_finder("search_operator"),
    ),
    Check(
        "LB226",
        "texts contain no markup",
        "warning",
        "HTML pages imported as plain text, with their tags as words",
        'set `crawl.text_format = "html"`',
        _create_text_fault_finder("markup", min_share=MARKUP_SHARE),
    ),
    Check(
        "LB228",
        "texts are decoded correctly",
        "warning",
        "pages in windows-1252 that were read as UTF-8, or the reverse",
        "convert the crawl files to UTF-8, or correct the charset that they declare",
        _create_text_fault_finder("misread", min_share=MARKUP_SHARE),
    ),
)
