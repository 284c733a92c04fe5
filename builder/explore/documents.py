"""The list of pages: by address, host and snapshot."""

from builder.explore.asked import Asked
from builder.explore.forms import ALL, form, search, select
from builder.explore.grades import page_link
from builder.explore.render import Page
from builder.explore.source import Source
from builder.explore.statements import Statement
from builder.explore.tables import Column, listing
from builder.reporting import numbers
from builder.reporting.parts import Cell

PAGES = """
SELECT doc_id, url, len(snapshots) AS snapshot_count, snapshots, crawled
FROM documents_map
WHERE ($text = '' OR doc_id = $text OR contains(lower(url), lower($text)))
  AND ($snapshot = '' OR list_contains(snapshots, $snapshot))
"""
JUDGED = """
SELECT doc_key AS doc_id, NULL::VARCHAR AS url, NULL::BIGINT AS snapshot_count,
  NULL::VARCHAR[] AS snapshots, NULL::VARCHAR[] AS crawled
FROM qrels WHERE ($text = '' OR doc_key = $text) AND ($snapshot = '' OR snapshot = $snapshot)
GROUP BY doc_key
"""
"""The judged pages of a collection without texts, which knows no others."""
ORDERS = {"id": "doc_id", "url": "url, doc_id", "snapshots": "snapshot_count DESC, doc_id"}


def pages(source: Source, asked: Asked) -> Page:
    """The page `/pages`."""
    values = {
        "text": asked.text("text"),
        "snapshot": asked.choice("snapshot", source.snapshots),
    }
    chosen = form(
        asked,
        search("text", "Part of the address, or id", values["text"]),
        select("snapshot", "In snapshot", values["snapshot"], [ALL, *source.snapshots]),
    )
    is_known = source.has("documents_map")
    columns = (
        Column(
            "Page",
            lambda r: Cell(page_link(r["doc_id"], r["url"])),
            "Its address in the last snapshot that has it",
            "url" if is_known else "",
        ),
        Column(
            "Snapshots",
            "snapshot_count",
            "How many snapshots have it",
            "snapshots" if is_known else "",
        ),
        Column("In snapshots", lambda r: Cell(", ".join(r["snapshots"] or ()) or numbers.DASH)),
        Column("Id", "doc_id", "Its aligned id", "id"),
    )
    statement = Statement(PAGES if is_known else JUDGED, dict(values))
    orders = ORDERS if is_known else {"id": ORDERS["id"]}
    found = listing(
        source, asked, "Pages", columns, statement, orders, empty="No page is like that."
    )
    lead = (
        "Every page of every snapshot."
        if is_known
        else "The collection has no texts of pages; these are the pages that it judges."
    )
    return Page("Pages", lead, (chosen, found), "/pages")
