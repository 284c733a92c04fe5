"""Explorer page that lists documents, queries or judgements that changed between two snapshots."""

from collections.abc import Collection, Mapping

from builder.explore.forms import (
    ALL,
    FilterField,
    create_search_field,
    create_select_field,
    render_filter_form,
)
from builder.explore.grades import document_link, format_grade
from builder.explore.page_request import PageRequest, page_url
from builder.explore.queries import TOPICS, query_link_cell
from builder.explore.render import Page, link
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_paged_table
from builder.reporting import numbers
from builder.reporting.parts import Cell, decimal_cell, empty_note
from schemas.alignment import CHANGE_BANDS, DOCUMENT_STATUSES, QUERY_STATUSES

KINDS = {"documents": "pages", "queries": "queries", "qrels": "judgements"}

DOCUMENTS = """
SELECT doc_id, status, band, dice, shingle_jaccard, tokens_from, tokens_to, matched_by, matched_id,
  coalesce(tokens_to, 0)::BIGINT - coalesce(tokens_from, 0)::BIGINT AS words, crawled
FROM document_changes
WHERE from_snapshot = $from AND to_snapshot = $to AND ($status = '' OR status = $status)
  AND ($degree = '' OR band = $degree)
  AND CASE $direction WHEN '' THEN true WHEN 'longer' THEN tokens_to > tokens_from
    WHEN 'shorter' THEN tokens_to < tokens_from ELSE matched_by IS NOT NULL END
"""
HOST_DOCUMENTS = """
SELECT doc_id, status, band, dice, shingle_jaccard, tokens_from, tokens_to, matched_by, matched_id,
  coalesce(tokens_to, 0)::BIGINT - coalesce(tokens_from, 0)::BIGINT AS words, crawled
FROM document_changes
WHERE from_snapshot = $from AND to_snapshot = $to AND ($status = '' OR status = $status)
  AND ($degree = '' OR band = $degree)
  AND CASE $direction WHEN '' THEN true WHEN 'longer' THEN tokens_to > tokens_from
    WHEN 'shorter' THEN tokens_to < tokens_from ELSE matched_by IS NOT NULL END
  AND doc_id IN (SELECT doc_id FROM documents_map
    WHERE contains(split_part(split_part(lower(url), '://', 2), '/', 1), lower($host)))
"""
QUERIES = """
SELECT changed.query_id, map.text, status, impressions_from, impressions_to,
  coalesce(impressions_to, 0)::BIGINT - coalesce(impressions_from, 0)::BIGINT AS moved
FROM query_changes AS changed LEFT JOIN queries_map AS map USING (query_id)
WHERE from_snapshot = $from AND to_snapshot = $to AND ($status = '' OR status = $status)
  AND CASE $direction WHEN '' THEN true
    WHEN 'up' THEN coalesce(impressions_to, 0) > coalesce(impressions_from, 0)
    ELSE coalesce(impressions_to, 0) < coalesce(impressions_from, 0) END
  AND ($topic = '' OR changed.query_id IN (SELECT query_key FROM queries
    WHERE snapshot IN ($from, $to) AND list_contains(topics, $topic)))
"""
QRELS = """
SELECT changed.query_id, map.text, changed.doc_id, grade_from, grade_to, examinations_from,
  examinations_to,
  coalesce(examinations_from, 0)::BIGINT + coalesce(examinations_to, 0)::BIGINT AS evidence
FROM qrel_changes AS changed LEFT JOIN queries_map AS map USING (query_id)
WHERE from_snapshot = $from AND to_snapshot = $to
  AND CASE $direction WHEN '' THEN true WHEN 'changed' THEN grade_from <> grade_to
    WHEN 'up' THEN grade_to > grade_from WHEN 'down' THEN grade_to < grade_from
    WHEN 'new' THEN grade_from IS NULL ELSE grade_to IS NULL END
  AND ($topic = '' OR changed.query_id IN (SELECT query_key FROM queries
    WHERE snapshot IN ($from, $to) AND list_contains(topics, $topic)))
"""
URLS = "SELECT doc_id, url FROM documents_map WHERE doc_id IN (SELECT unnest($ids))"

DIRECTIONS: Mapping[str, Mapping[str, str]] = {
    "documents": {
        "longer": "became longer",
        "shorter": "became shorter",
        "matched": "matched to another URL",
    },
    "queries": {"up": "more impressions", "down": "fewer impressions"},
    "qrels": {
        "changed": "grade changed",
        "up": "grade went up",
        "down": "grade went down",
        "new": "newly judged",
        "lost": "no longer judged",
    },
}
STATUSES: Mapping[str, tuple[str, ...]] = {
    "documents": DOCUMENT_STATUSES,
    "queries": QUERY_STATUSES,
    "qrels": (),
}
ORDERS: Mapping[str, Mapping[str, str]] = {
    "documents": {
        "dice": "dice ASC NULLS LAST, doc_id",
        "id": "doc_id",
        "status": "status, doc_id",
        "words": "abs(words) DESC, doc_id",
    },
    "queries": {
        "moved": "abs(moved) DESC, query_id",
        "text": "text, query_id",
        "status": "status, query_id",
    },
    "qrels": {
        "evidence": "evidence DESC, query_id, doc_id",
        "text": "text, query_id, doc_id",
        "after": "grade_to NULLS LAST, query_id, doc_id",
        "before": "grade_from NULLS LAST, query_id, doc_id",
    },
}


def signed_count_cell(difference: int) -> Cell:
    """Return a table cell that shows the difference between two counts with its sign."""
    return Cell(numbers.format_signed_integer(difference) if difference else "0", difference)


def changes_page(source: CollectionSource, request: PageRequest) -> Page:
    """Build the page `/changes`, which lists changes between two snapshots."""
    heading = "Changes"
    lead = "Changes between two consecutive snapshots."
    pairs = list(zip(source.snapshots, source.snapshots[1:], strict=False))
    if not pairs:
        text = "The collection has only one snapshot; a comparison needs at least two."
        return Page(heading, lead, empty_note(text), "/changes")
    kind = request.choice_parameter("kind", list(KINDS), "documents")
    end = request.choice_parameter("to", source.snapshots[1:], source.snapshots[-1])
    start = next(a for a, b in pairs if b == end)
    filter_values = _read_filter_values(source, request, kind) | {"from": start, "to": end}
    fields = _create_filter_fields(source, kind, pairs, filter_values)
    sql = {
        "documents": HOST_DOCUMENTS if filter_values["host"] else DOCUMENTS,
        "queries": QUERIES,
        "qrels": QRELS,
    }
    statement = Statement(sql[kind], dict(filter_values))
    columns = {
        "documents": _document_columns(source, filter_values),
        "queries": QUERY_COLUMNS,
        "qrels": QREL_COLUMNS,
    }
    caption = f"Changes in {KINDS[kind]} from {start} to {end}"
    found = render_paged_table(
        source,
        request,
        caption,
        columns[kind],
        statement,
        ORDERS[kind],
        empty_text="No changes match these filters.",
    )
    return Page(heading, lead, (render_filter_form(request, *fields), found), "/changes")


def _read_filter_values(
    source: CollectionSource, request: PageRequest, kind: str
) -> dict[str, str]:
    topics = [row["topic_id"] for row in source.fetch_rows(Statement(TOPICS))]
    return {
        "status": _read_filter_for_kind(request, "status", STATUSES, kind),
        "degree": request.choice_parameter("degree", CHANGE_BANDS),
        "direction": _read_filter_for_kind(request, "direction", DIRECTIONS, kind),
        "host": request.text_parameter("host"),
        "topic": request.choice_parameter("topic", topics),
    }


def _read_filter_for_kind(
    request: PageRequest, name: str, options: Mapping[str, Collection[str]], kind: str
) -> str:
    """Return the value of a filter; empty if it is not an option for the selected kind of change.

    A user who selects another kind of change still submits the filters of the previous kind.

    Args:
        request: Request with the filters as parameters.
        name: Name of the parameter.
        options: Options of the filter for each kind of change.
        kind: Selected kind of change.
    """
    every = dict.fromkeys(option for names in options.values() for option in names)
    value = request.choice_parameter(name, list(every))
    return value if value in options[kind] else ""


def _create_filter_fields(
    source: CollectionSource,
    kind: str,
    pairs: list[tuple[str, str]],
    filter_values: Mapping[str, str],
) -> list[FilterField]:
    named = [(name, name.replace("_", " ")) for name in STATUSES[kind]]
    fields = [
        create_select_field("kind", "Of", kind, KINDS.items()),
        create_select_field(
            "to", "Snapshots", filter_values["to"], [(b, f"{a} to {b}") for a, b in pairs]
        ),
        create_select_field(
            "direction", "Direction", filter_values["direction"], [ALL, *DIRECTIONS[kind].items()]
        ),
    ]
    if named:
        fields.append(
            create_select_field("status", "What happened", filter_values["status"], [ALL, *named])
        )
    if kind == "documents":
        fields.append(
            create_select_field("degree", "Degree", filter_values["degree"], [ALL, *CHANGE_BANDS])
        )
        fields.append(create_search_field("host", "Part of the host", filter_values["host"]))
    elif topics := source.fetch_rows(Statement(TOPICS)):
        options = [ALL, *((t["topic_id"], t["label"]) for t in topics)]
        fields.append(create_select_field("topic", "Topic", filter_values["topic"], options))
    return fields


def _document_columns(
    source: CollectionSource, filter_values: Mapping[str, str]
) -> tuple[Column, ...]:
    """Return the columns of the document change table; URLs are fetched only for shown rows."""
    urls: dict[str, str] = {}

    def document_cell(row: Row) -> Cell:
        key = row["doc_id"]
        if key not in urls:
            found = source.fetch_rows(Statement(URLS, {"ids": [key]}))
            urls[key] = found[0]["url"] if found else key
        return Cell(document_link(key, urls[key]))

    def comparison_cell(row: Row) -> Cell:
        if row["status"] != "updated":
            return Cell(numbers.DASH)
        pair = {"from": filter_values["from"], "to": filter_values["to"]}
        return Cell(link(page_url(f"/page/{row['doc_id']}", **pair) + "#difference", "compare"))

    def matched_url_cell(row: Row) -> Cell:
        if row["matched_id"] is None:
            return Cell(numbers.DASH)
        return Cell(link(f"/page/{row['matched_id']}", row["matched_by"]))

    return (
        Column("Page", document_cell, "URL in the last snapshot that contains the page", "id"),
        Column(
            "What happened",
            lambda r: Cell(r["status"].replace("_", " ")),
            "updated: the words differ; not sampled, not shown, left out: reasons why a page of "
            "the later crawl is missing from the later snapshot",
            "status",
        ),
        Column("Degree", "band", "How much an updated page changed: cosmetic, edited or rewritten"),
        Column(
            "Dice",
            lambda r: decimal_cell(r["dice"]),
            "Dice coefficient of the word sets of both versions",
            "dice",
        ),
        Column(
            "Words",
            lambda r: signed_count_cell(r["words"]),
            "Change in the number of words",
            "words",
        ),
        Column(
            "Other URL",
            matched_url_cell,
            "loose: differs only in scheme, www or trailing slash; moved: same text at another URL",
        ),
        Column("Difference", comparison_cell),
    )


QUERY_COLUMNS = (
    Column("Query", lambda r: query_link_cell(r["query_id"], r["text"]), sort="text"),
    Column("What happened", "status", "new, gone or kept", "status"),
    Column("Before", "impressions_from", "Impressions in the earlier snapshot"),
    Column("After", "impressions_to", "Impressions in the later snapshot"),
    Column("Moved", lambda r: signed_count_cell(r["moved"]), "Change in impressions", "moved"),
)
QREL_COLUMNS = (
    Column("Query", lambda r: query_link_cell(r["query_id"], r["text"]), sort="text"),
    Column("Page", lambda r: Cell(link(f"/page/{r['doc_id']}", r["doc_id"]))),
    Column("Grade before", lambda r: Cell(format_grade(r["grade_from"])), sort="before"),
    Column("Grade after", lambda r: Cell(format_grade(r["grade_to"])), sort="after"),
    Column(
        "Examined before", "examinations_from", "Number of examinations in the earlier snapshot"
    ),
    Column("Examined after", "examinations_to", "Number of examinations in the later snapshot"),
    Column("Evidence", "evidence", "Total number of examinations in both snapshots", "evidence"),
)
