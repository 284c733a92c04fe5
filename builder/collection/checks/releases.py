"""Checks imported releases for rejected records, irregular lines and faulty query texts."""

from collections.abc import Callable, Iterable, Iterator

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect

DefectFinder = Callable[[ValidationContext], Iterable[Defect]]


def _create_rejected_record_finder(messages: dict[str, str]) -> DefectFinder:
    """Return a function that reports records that the import rejected for the given reasons.

    Args:
        messages: Message for each reject reason.
    """

    def find_rejected_records(context: ValidationContext) -> Iterator[Defect]:
        for name, frame in context.scan_snapshots("rejects"):
            rows = frame.filter(stage="import").filter(pl.col("reason").is_in(list(messages)))
            found = rows.select("reason", "file", "line", "rows").collect()
            for (reason,), group in found.group_by("reason", maintain_order=True):
                first = group.head(3).select("file", "line").rows()
                examples = tuple(f"{file}:{line}" for file, line in first)
                count = int(group["rows"].sum())
                yield f"snapshots/{name}", messages[str(reason)], count, examples

    return find_rejected_records


def _create_irregular_line_finder(messages: dict[str, str]) -> DefectFinder:
    """Return a function that reports lines that were imported although they are irregular.

    Args:
        messages: Message for each kind of irregularity, such as `crlf`.
    """

    def find_irregular_lines(context: ValidationContext) -> Iterator[Defect]:
        for name, frame in context.scan_snapshots("irregularities"):
            rows = frame.filter(pl.col("kind").is_in(list(messages))).collect()
            for file, kind, lines, first, _ in rows.iter_rows():
                where = f"snapshots/{name}"
                yield where, f"{file}: {messages[kind]}", int(lines), (f"{file}:{first}",)

    return find_irregular_lines


def _find_duplicate_query_texts(context: ValidationContext) -> Iterator[Defect]:
    """Report query ids that share a text, and contradictions between their judgements.

    Texts are compared after folding, which ignores case, accents, punctuation and extra spaces.
    """
    for name, (ids, qrels) in context.scan_snapshots("release_ids", "qrels"):
        named = ids.filter(pl.col("text_key").is_not_null()).select("text_key", query_id="id")
        shared = named.filter(pl.col("text_key").is_duplicated()).sort("text_key", "query_id")
        found = shared.collect()
        if found.is_empty():
            continue
        message = "query ids have the same normalized text as another id"
        examples = tuple(found["query_id"].head(3))
        yield f"snapshots/{name}/queries", message, found.height, examples
        pair = ["text_key", "doc_id"]
        judged = qrels.select("query_id", "doc_id", "grade").join(found.lazy(), on="query_id")
        differs = pl.col("grade").n_unique().over(pair) > 1
        wrong = judged.filter(differs).sort(*pair, "query_id").collect()
        if wrong.height:
            message = "judgements contradict the judgements of another query id with the same text"
            first = tuple(
                " ".join(row) for row in wrong.head(3).select("query_id", "doc_id").rows()
            )
            yield f"snapshots/{name}/qrels", message, wrong.height, first


def _combine_defect_finders(*finders: DefectFinder) -> DefectFinder:
    """Return a function that yields the defects found by all of the given functions."""

    def find_all_defects(context: ValidationContext) -> Iterator[Defect]:
        for finder in finders:
            yield from finder(context)

    return find_all_defects


def _create_query_text_fault_finder(messages: dict[str, str]) -> DefectFinder:
    """Return a function that reports query texts with the given faults.

    Args:
        messages: Message for each text fault, such as `double_space`.
    """

    def find_query_text_faults(context: ValidationContext) -> Iterator[Defect]:
        for where, summary in context.table_summaries.items():
            if where.endswith("/queries"):
                for name, message in messages.items():
                    if summary.text_faults.counts[name]:
                        count = summary.text_faults.counts[name]
                        yield where, message, count, tuple(summary.text_faults.examples[name])

    return find_query_text_faults


_DUPLICATE_MESSAGES = {
    "repeated_judgement": "judgements are listed more than once",
    "contradicting_judgement": "judgements of one (query, document) pair contradict each other",
    "repeated_document": "documents are listed more than once",
    "contradicting_document": "documents with the same id have different texts",
    "repeated_query_id": "query ids are listed more than once",
    "repeated_address": "document URLs are listed more than once",
    "contradicting_address": "documents are listed more than once, with different URLs",
}
_UNREADABLE_MESSAGES = {
    "not_four_columns": "lines of qrels do not have four columns",
    "grade_unknown": "grades are not 0, 1 or 2",
    "not_utf8": "records are not valid UTF-8",
    "lone_surrogate": "documents contain lone surrogates",
    "line_too_long": "lines exceed the maximum length",
    "no_tab": "query lines have no id or no tab separator",
    "extra_columns": "query lines have more than two columns",
    "empty_query": "queries have no text",
    "empty_text": "documents have no text",
    "document_without_id": "documents have no id",
    "document_without_text": "documents have no text, or a text field that is not a string",
    "unknown_document_format": "document files are neither TREC (<DOC>) nor JSON",
    "document_without_end": "documents have no end tag",
    "document_with_several_ids": "documents have several ids, probably because tags are missing",
    "english_without_french": "English documents or queries have no French original",
    "file_truncated": "files are truncated",
    "file_damaged": "files are damaged",
    "decompression_bomb": "files exceed the decompression limit",
    "carriage_return": "lines contain a CR, which may separate two records",
    "no_address": "lines of a URL list have no id or no URL",
    "not_json": "documents are not valid JSON",
    "not_an_object": "JSON values are not objects",
    "document_too_long": "documents exceed the maximum size",
}
_LINE_END_MESSAGES = {
    "crlf": "lines end with CRLF; some readers keep the CR in the text",
    "mixed_line_ends": "the file mixes CRLF and LF line endings",
}
_QUERY_TEXT_MESSAGES = {
    "leaked_quotes": "texts contain stray quotation marks, which CSV readers misinterpret",
    "double_space": "texts contain repeated spaces",
    "outer_space": "texts have leading or trailing spaces",
    "control_character": "texts contain control characters",
    "over_long": "texts are too long for a query",
    "nothing_left_after_folding": "texts contain no letters or digits",
}
_FIELD_MESSAGES = {
    "unread_fields": "documents have content that is not imported: it is neither in <TEXT>, "
    "<TITLE> or <URL>, nor in the JSON fields of the title, text or URL",
}
_ID_MESSAGES = {"control_character_in_id": "ids contain control characters"}

CHECKS = (
    Check(
        "LB201",
        "no record is listed twice",
        "error",
        "6,002 duplicate (query, document) pairs in the qrels of one month",
        "write each judgement once; join by id, not by text",
        _create_rejected_record_finder(_DUPLICATE_MESSAGES),
    ),
    Check(
        "LB202",
        "queries with the same text share an id",
        "warning",
        "the same query text has two ids; when such queries were merged, 135 topics became 124",
        "derive query ids from normalized (folded) texts",
        _find_duplicate_query_texts,
    ),
    Check(
        "LB203",
        "line endings are consistent",
        "warning",
        "20,767 CRLF lines in a file whose other lines end with LF",
        "write LF only",
        _create_irregular_line_finder(_LINE_END_MESSAGES),
    ),
    Check(
        "LB204",
        "query texts are free of export artifacts",
        "warning",
        "leaked CSV quotes, repeated spaces, a query of 3,947 characters",
        "write queries as plain TSV lines, without CSV quoting; limit their length",
        _combine_defect_finders(
            _create_irregular_line_finder(_QUERY_TEXT_MESSAGES | _ID_MESSAGES),
            _create_query_text_fault_finder(_QUERY_TEXT_MESSAGES),
        ),
    ),
    Check(
        "LB205",
        "all records of the release are readable",
        "error",
        "files whose content does not match their extension, truncated archives",
        "request an intact file from the publisher",
        _create_rejected_record_finder(_UNREADABLE_MESSAGES),
    ),
    Check(
        "LB206",
        "all fields of the documents are imported",
        "warning",
        "TREC documents with an author and a date in addition to the text",
        "put the content into <TEXT> or the JSON field text, or ignore the check if the content is "
        "not needed",
        _create_irregular_line_finder(_FIELD_MESSAGES),
    ),
)
