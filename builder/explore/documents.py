"""Explorer page that lists documents, filtered by URL or id and by snapshot."""

from builder.explore.forms import ALL, create_search_field, create_select_field, render_filter_form
from builder.explore.grades import document_link
from builder.explore.page_request import PageRequest
from builder.explore.render import Page
from builder.explore.source import CollectionSource
from builder.explore.statements import Statement
from builder.explore.tables import Column, render_paged_table
from builder.reporting import numbers
from builder.reporting.parts import Cell

DOCUMENTS = """
SELECT doc_id, url, len(snapshots) AS snapshot_count, snapshots, crawled
FROM documents_map
WHERE ($text = '' OR doc_id = $text OR contains(lower(url), lower($text)))
  AND ($snapshot = '' OR list_contains(snapshots, $snapshot))
"""
JUDGED_DOCUMENTS = """
SELECT doc_key AS doc_id, NULL::VARCHAR AS url, NULL::BIGINT AS snapshot_count,
  NULL::VARCHAR[] AS snapshots, NULL::VARCHAR[] AS crawled
FROM qrels WHERE ($text = '' OR doc_key = $text) AND ($snapshot = '' OR snapshot = $snapshot)
GROUP BY doc_key
"""
"""SQL used instead of `DOCUMENTS` for collections without texts; selects judged documents."""
ORDERS = {"id": "doc_id", "url": "url, doc_id", "snapshots": "snapshot_count DESC, doc_id"}


def documents_page(source: CollectionSource, request: PageRequest) -> Page:
    """Build the page `/pages`, which lists documents."""
    values = {
        "text": request.text_parameter("text"),
        "snapshot": request.choice_parameter("snapshot", source.snapshots),
    }
    chosen = render_filter_form(
        request,
        create_search_field("text", "Part of the URL, or whole id", values["text"]),
        create_select_field(
            "snapshot", "In snapshot", values["snapshot"], [ALL, *source.snapshots]
        ),
    )
    has_urls = source.has_rows("documents_map")
    columns = (
        Column(
            "Page",
            lambda r: Cell(document_link(r["doc_id"], r["url"])),
            "URL in the last snapshot that contains the page",
            "url" if has_urls else "",
        ),
        Column(
            "Snapshots",
            "snapshot_count",
            "Number of snapshots that contain the page",
            "snapshots" if has_urls else "",
        ),
        Column("In snapshots", lambda r: Cell(", ".join(r["snapshots"] or ()) or numbers.DASH)),
        Column("Id", "doc_id", "Aligned id of the page", "id"),
    )
    statement = Statement(DOCUMENTS if has_urls else JUDGED_DOCUMENTS, dict(values))
    orders = ORDERS if has_urls else {"id": ORDERS["id"]}
    found = render_paged_table(
        source,
        request,
        "Pages",
        columns,
        statement,
        orders,
        empty_text="No pages match these filters.",
    )
    lead = (
        "All pages of all snapshots."
        if has_urls
        else "The collection contains no texts of pages; only judged pages are listed."
    )
    return Page("Pages", lead, (chosen, found), "/pages")
