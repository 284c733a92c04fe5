"""The addresses of a page: where it is, pages that are the same one, where it moved."""

from collections.abc import Sequence

from markupsafe import Markup

from builder.explore.grades import page_link
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, table
from builder.reporting.parts import Cell, section

LOOSE = """
SELECT doc_id, url FROM documents_map WHERE loose_id = $loose AND doc_id <> $doc ORDER BY doc_id
"""


def addresses(source: Source, key: str, known: Sequence[Row], changes: Sequence[Row]) -> Markup:
    """The section of a page about its addresses.

    Args:
        source: The collection.
        key: Aligned id of the page.
        known: Its row of `documents_map`, where it has one.
        changes: Its rows of `document_changes`.
    """
    rows = [_row("its address in the last snapshot", None, key, r["url"]) for r in known]
    for row in known:
        if row["loose_id"] is not None:
            values = {"doc": key, "loose": row["loose_id"]}
            what = "differs by scheme, www or slash only (loose match)"
            same = source.rows(Statement(LOOSE, values))
            rows += [_row(what, None, r["doc_id"], r["url"]) for r in same]
    rows += [_moved(row) for row in changes if row["matched_id"]]
    columns = (
        Column("What", "what"),
        Column("Page", lambda r: Cell(page_link(r["doc_id"], r["url"]))),
        Column("Between", "snapshots"),
    )
    found = table(
        source,
        "Addresses of the page",
        columns,
        rows,
        None,
        empty="The collection does not record the address of this page.",
    )
    return section("addresses", "Addresses", "Where the page is now, and where it was.", found)


def _moved(row: Row) -> Row:
    """A change by which the page is known at another address."""
    direction = "moved to" if row["status"] == "removed" else "moved from"
    how = "near-identical text" if row["matched_by"] == "moved" else "loose match"
    pair = f"{row['from_snapshot']} to {row['to_snapshot']}"
    return _row(f"{direction} ({how})", pair, row["matched_id"], None)


def _row(what: str, snapshots: str | None, doc: str, url: str | None) -> Row:
    return {"what": what, "snapshots": snapshots, "doc_id": doc, "url": url}
