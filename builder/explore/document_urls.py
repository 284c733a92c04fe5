"""Section of a document's page: the current, earlier and similar URLs of the document."""

from collections.abc import Sequence

from markupsafe import Markup

from builder.explore.grades import document_link
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_table
from builder.reporting.parts import Cell, section

LOOSE = """
SELECT doc_id, url FROM documents_map WHERE loose_id = $loose AND doc_id <> $doc ORDER BY doc_id
"""


def urls_section(
    source: CollectionSource, doc_id: str, map_rows: Sequence[Row], changes: Sequence[Row]
) -> Markup:
    """Render the table of a document's URLs.

    Args:
        source: Connection to the collection.
        doc_id: Aligned id of the document.
        map_rows: Rows of the document in `documents_map`, at most one.
        changes: Rows of the document in `document_changes`.
    """
    rows = [_create_url_row("URL in the last snapshot", None, doc_id, r["url"]) for r in map_rows]
    for row in map_rows:
        if row["loose_id"] is not None:
            values = {"doc": doc_id, "loose": row["loose_id"]}
            label = "differs only in scheme, www or trailing slash (loose match)"
            same = source.fetch_rows(Statement(LOOSE, values))
            rows += [_create_url_row(label, None, r["doc_id"], r["url"]) for r in same]
    rows += [_matched_url_row(row) for row in changes if row["matched_id"]]
    columns = (
        Column("What", "what"),
        Column("Page", lambda r: Cell(document_link(r["doc_id"], r["url"]))),
        Column("Between", "snapshots"),
    )
    found = render_table(
        source,
        "URLs of the page",
        columns,
        rows,
        None,
        empty_text="The collection does not record a URL for this page.",
    )
    return section("urls", "URLs", "Current and former URLs of the page.", found)


def _matched_url_row(row: Row) -> Row:
    """Return the table row for a change in which a document was matched to another URL."""
    direction = "moved to" if row["status"] == "removed" else "moved from"
    how = "near-identical text" if row["matched_by"] == "moved" else "loose match"
    pair = f"{row['from_snapshot']} to {row['to_snapshot']}"
    return _create_url_row(f"{direction} ({how})", pair, row["matched_id"], None)


def _create_url_row(label: str, snapshots: str | None, doc_id: str, url: str | None) -> Row:
    return {"what": label, "snapshots": snapshots, "doc_id": doc_id, "url": url}
