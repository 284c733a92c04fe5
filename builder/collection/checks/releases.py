"""Checks on what an import noted about a release: repeated lines, line ends, texts of queries."""

from collections.abc import Callable, Iterable, Iterator

import polars as pl

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading

Finder = Callable[[Reading], Iterable[Found]]


def _rejected(reasons: dict[str, str]) -> Finder:
    """Findings for rejects of the import with these reasons, and what to say of each."""

    def find(reading: Reading) -> Iterator[Found]:
        for name, frame in reading.snapshots("rejects"):
            rows = frame.filter(stage="import").filter(pl.col("reason").is_in(list(reasons)))
            found = rows.select("reason", "file", "line").collect()
            for (reason,), group in found.group_by("reason", maintain_order=True):
                first = group.head(3).select("file", "line").rows()
                examples = tuple(f"{file}:{line}" for file, line in first)
                yield f"snapshots/{name}", reasons[str(reason)], group.height, examples

    return find


def _irregular(kinds: dict[str, str]) -> Finder:
    """Findings for irregular lines of these kinds, and what to say of each."""

    def find(reading: Reading) -> Iterator[Found]:
        for name, frame in reading.snapshots("irregularities"):
            rows = frame.filter(pl.col("kind").is_in(list(kinds))).collect()
            for file, kind, lines, first, _ in rows.iter_rows():
                where = f"snapshots/{name}"
                yield where, f"{file}: {kinds[kind]}", int(lines), (f"{file}:{first}",)

    return find


def _two_ids(reading: Reading) -> Iterator[Found]:
    """Query ids with one folded text, and their judgements that contradict each other."""
    for name, (ids, qrels) in reading.snapshots("release_ids", "qrels"):
        named = ids.filter(pl.col("text_key").is_not_null()).select("text_key", query_id="id")
        shared = named.filter(pl.col("text_key").is_duplicated()).sort("text_key", "query_id")
        found = shared.collect()
        if found.is_empty():
            continue
        message = "query ids share their text with another one, after folding"
        examples = tuple(found["query_id"].head(3))
        yield f"snapshots/{name}/queries", message, found.height, examples
        pair = ["text_key", "doc_id"]
        judged = qrels.select("query_id", "doc_id", "grade").join(found.lazy(), on="query_id")
        differs = pl.col("grade").n_unique().over(pair) > 1
        wrong = judged.filter(differs).sort(*pair, "query_id").collect()
        if wrong.height:
            message = "judgements contradict those of another id of the same query"
            first = tuple(
                " ".join(row) for row in wrong.head(3).select("query_id", "doc_id").rows()
            )
            yield f"snapshots/{name}/qrels", message, wrong.height, first


def _both(*finders: Finder) -> Finder:
    def find(reading: Reading) -> Iterator[Found]:
        for finder in finders:
            yield from finder(reading)

    return find


def _texts(faults: dict[str, str]) -> Finder:
    """Findings for faults of the texts of published queries."""

    def find(reading: Reading) -> Iterator[Found]:
        for where, facts in reading.facts.items():
            if where.endswith("/queries"):
                for name, message in faults.items():
                    if facts.faults.counts[name]:
                        count = facts.faults.counts[name]
                        yield where, message, count, tuple(facts.faults.examples[name])

    return find


_REPEATED = {
    "repeated_judgement": "judgements are listed more than once",
    "contradicting_judgement": "judgements of one pair contradict each other",
    "repeated_document": "documents are listed more than once",
    "contradicting_document": "documents of one id have different texts",
    "repeated_query_id": "query ids are listed more than once",
}
_DAMAGED = {
    "not_four_columns": "lines of judgements do not have four columns",
    "grade_unknown": "grades are none of 0, 1, 2",
    "not_utf8": "records are no UTF-8",
    "lone_surrogate": "documents have halves of characters",
    "line_too_long": "lines are longer than any query or judgement",
    "no_tab": "lines of queries have no id or no tab",
    "empty_query": "queries have no text",
    "empty_text": "documents have no text",
    "document_without_id": "documents have no id",
    "document_without_text": "documents have no text element",
    "document_without_end": "documents do not end",
    "english_without_french": "English documents have no French original",
    "file_truncated": "files end early",
    "decompression_bomb": "files unpack to more than is believable",
}
_LINE_ENDS = {
    "crlf": "lines end in CRLF, which naive readers keep in the text",
    "mixed_line_ends": "the file has both CRLF and LF line ends",
}
_EXPORTED = {
    "leaked_quotes": "texts have quotes that an export left, or that CSV readers take for theirs",
    "double_space": "texts have extra spaces",
    "outer_space": "texts have outer spaces",
    "control_character": "texts have control characters",
    "over_long": "texts are too long for a query",
    "nothing_left_after_folding": "texts have no letters or digits",
}

CHECKS = (
    Check(
        "LB201",
        "nothing is listed twice",
        "error",
        "6,002 duplicate (query, document) lines in one month of judgements",
        "write each judgement once; join by id, not by text",
        _rejected(_REPEATED),
    ),
    Check(
        "LB202",
        "a query has one id",
        "warning",
        "one text under two ids: 135 topics of one snapshot became 124 of the next",
        "make ids from folded texts",
        _two_ids,
    ),
    Check(
        "LB203",
        "line ends are of one kind",
        "warning",
        "20,767 CRLF lines among LF ones",
        "write LF",
        _irregular(_LINE_ENDS),
    ),
    Check(
        "LB204",
        "texts of queries are as they were typed",
        "warning",
        "leaked CSV quotes, double spaces, a query of 3,947 characters",
        "write queries without a CSV writer; select by length",
        _both(_irregular(_EXPORTED), _texts(_EXPORTED)),
    ),
    Check(
        "LB205",
        "every record of the release can be read",
        "error",
        "files of one format under the name of another, truncated archives",
        "ask the publisher for the file",
        _rejected(_DAMAGED),
    ),
)
