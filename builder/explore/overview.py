"""Start page of the explorer: sizes of the collection, drift report, and construction checks."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.collection.layout import DRIFT
from builder.drift.report import clicks, documents, judgements, queries, sections, topics, words
from builder.errors import FormatError
from builder.explore.page_request import PageRequest, page_url
from builder.explore.queries import IMPRESSION_ORDERS
from builder.explore.render import Page, link, render_macro
from builder.explore.source import CollectionSource
from builder.explore.statements import Row
from builder.explore.tables import Column, render_table
from builder.reporting import numbers
from builder.reporting.parts import Cell, bullet_list, collapsible, empty_note, section, span
from builder.reporting.render import join_markup

PARTS = (
    ("findings", "Findings"),
    ("snapshots", "Snapshots"),
    ("sizes", "Sizes"),
    ("pages", "Pages"),
    ("words", "Words"),
    ("queries", "Queries"),
    ("topics", "Topics"),
    ("judgements", "Judgements"),
    ("clicks", "Clicks"),
    ("checks", "Checks"),
)
CHARTS = (
    documents.pages_section,
    words.words_section,
    queries.queries_section,
    topics.topics_section,
    judgements.judgements_section,
    clicks.clicks_section,
)

OPTIONAL_TABLES = {
    "documents": "texts of pages, so versions, translations and differences are not available",
    "click_estimates": "click evidence, so grades have no impressions, examinations or intervals",
    "sentences": "translations, so pages are shown in one language",
    "rejects": "rejects",
}
"""What a collection lacks if an optional table is missing, as a phrase, by table name."""

CHECK_ROWS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "judged_are_listed": ("/queries", {"group": "judged only"}),
    "listed_are_judged": ("/queries", {"group": "not judged"}),
    "longest_query_stands": ("/queries", {"sort": "longest"}),
    "none_gathers_judgements": ("/queries", {"sort": "judged"}),
    "overlaps_agree": ("/changes", {"kind": "queries"}),
    "filter_is_the_same": ("/changes", {"kind": "queries", "status": "gone"}),
    "topics_are_the_same": ("/changes", {"kind": "queries"}),
    "queries_are_spelled_alike": ("/changes", {"kind": "queries"}),
    "floors_stand": ("/queries", {"sort": "least"}),
    "pages_stay": ("/changes", {"kind": "documents", "status": "removed"}),
    "hosts_are_crawled": ("/changes", {"kind": "documents", "status": "removed"}),
    "crawl_holds_shown": ("/changes", {"kind": "documents", "status": "removed"}),
    "unshown_pages_are_crawled": ("/changes", {"kind": "documents", "status": "removed"}),
    "addresses_stand": ("/changes", {"kind": "documents", "direction": "matched"}),
    "edits_differ": ("/changes", {"kind": "documents", "status": "updated"}),
    "sample_stands": ("/changes", {"kind": "documents", "status": "not_sampled"}),
    "grade_shares_follow_clicks": ("/changes", {"kind": "qrels", "direction": "changed"}),
    "cuts_stand": ("/changes", {"kind": "qrels", "direction": "changed"}),
    "grades_recur": ("/changes", {"kind": "qrels", "direction": "changed"}),
    "pairs_recur": ("/changes", {"kind": "qrels", "direction": "lost"}),
}
"""URL path and parameters of the page that lists the rows counted by a check, by check id."""


def overview_page(source: CollectionSource, request: PageRequest) -> Page:  # noqa: ARG001 - every page takes both
    """Build the start page of the explorer, `/`."""
    collection = source.collection
    facts = [
        ("Version", collection.version),
        ("Languages", ", ".join(collection.languages) or "not stated"),
        ("Origin", "imported release" if source.is_imported else "built from logs and crawls"),
        ("Signature", span(collection.signature, "signature")),
    ]
    drift = source.drift_report
    own = (render_macro("facts", facts), _missing_tables_block(source), _snapshots_section(source))
    lead = "Contents of the collection, changes between its snapshots, and construction checks."
    if drift is not None:
        try:
            return Page(
                collection.name, lead, (*own[:2], _drift_report_sections(source, drift)), "/", PARTS
            )
        except MALFORMED_REPORT as error:
            path = collection.path / DRIFT
            raise FormatError(
                f"this drift report cannot be rendered ({error!r}); rebuild the collection",
                path,
            ) from None
    text = "This collection has no drift.json, so there are no charts or checks to show."
    return Page(collection.name, lead, (*own, empty_note(text)), "/")


MALFORMED_REPORT = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""Exceptions that rendering raises if drift.json has missing or unexpected values."""


def _drift_report_sections(source: CollectionSource, drift: Mapping[str, Any]) -> Markup:
    """Render the sections of a drift report, with a link from each check to the rows it counts."""
    first, rest = sections.findings_section(drift), [chart(drift) for chart in CHARTS]
    charts = (sections.sizes_section(drift), *rest)
    return join_markup(first, _snapshots_section(source), *charts, checks_section(source, drift))


def describe_missing_tables(source: CollectionSource) -> list[str]:
    """Return one sentence for each missing or empty optional table except `rejects`."""
    return [
        f"This collection has no {text}."
        for name, text in OPTIONAL_TABLES.items()
        if not source.has_rows(name) and name != "rejects"
    ]


def _missing_tables_block(source: CollectionSource) -> Any:
    texts = describe_missing_tables(source)
    return (
        collapsible("Missing from this collection", bullet_list(texts, "facts"), is_open=True)
        if texts
        else None
    )


def _snapshots_section(source: CollectionSource) -> Any:
    sizes = source.collection.row_counts()
    rows: list[Row] = [
        {"snapshot": name, "documents": pages, "queries": listed, "qrels": judged}
        for name, pages, listed, judged in sizes
    ]
    columns = (
        Column("Snapshot", "snapshot", "Period that the snapshot covers"),
        _linked_count_column("Pages", "documents", "/pages", "Number of pages"),
        _linked_count_column("Queries", "queries", "/queries", "Number of listed queries"),
        Column("Judgements", "qrels", "Number of judged query-document pairs"),
    )
    return section(
        "snapshots",
        "Snapshots",
        "Select a number to list the rows that it counts.",
        render_table(
            source,
            "Sizes of the snapshots",
            columns,
            rows,
            None,
            empty_text="The collection has no snapshots.",
        ),
    )


def _linked_count_column(label: str, name: str, path: str, hint: str) -> Column:
    def linked_count(row: Row) -> Cell:
        target = page_url(path, snapshot=row["snapshot"])
        return Cell(link(target, numbers.format_count(row[name])), row[name])

    return Column(label, linked_count, hint)


def checks_section(source: CollectionSource, drift: Mapping[str, Any]) -> Any:
    """Render the construction checks by outcome, with links to the rows that each check counts."""
    groups = {
        "construction": ("Differences in construction", True),
        "cannot tell": ("Inconclusive checks", False),
        "clear": ("Passed checks", False),
    }
    body = []
    for outcome, (caption, is_open) in groups.items():
        rows = [
            _construction_check_row(source, c) for c in drift["checks"] if c["verdict"] == outcome
        ]
        if rows:
            check_table = render_table(source, caption, CHECK_COLUMNS, rows, None, empty_text="")
            body.append(collapsible(f"{caption} ({len(rows)})", check_table, is_open=is_open))
    lead = (
        "Whether two snapshots were constructed in the same way; if not, differences between them "
        "may be artifacts."
    )
    return section("checks", "Construction checks", lead, join_markup(body))


def _construction_check_row(source: CollectionSource, check: Mapping[str, Any]) -> Row:
    return {
        "snapshots": " \N{RIGHTWARDS ARROW} ".join(check["snapshots"]),
        "question": check["asks"],
        "answer": check["verdict"],
        "evidence": check["evidence"],
        "rows": _counted_rows_url(source, check),
    }


def _counted_rows_url(source: CollectionSource, check: Mapping[str, Any]) -> str | None:
    """Return the URL of the page with the rows that a check counts; None if no page lists them."""
    path, values = CHECK_ROWS.get(check["check"], ("", {}))
    if not path or (source.is_imported and values.get("sort") in IMPRESSION_ORDERS):
        return None
    names = check["snapshots"]
    if path == "/queries":
        return page_url(path, snapshot=names[-1], **values)
    return page_url(path, **{"from": names[0], "to": names[-1]}, **values)


CHECK_COLUMNS = (
    Column("Snapshots", "snapshots"),
    Column("Question", "question", "Question that the check answers"),
    Column(
        "Answer",
        lambda r: Cell(span(r["answer"], f"outcome {sections.VERDICTS[r['answer']]}")),
        "construction: the snapshots were constructed differently; clear: no such difference was "
        "found; cannot tell: there are too few data",
    ),
    Column("Evidence", "evidence", "Counts on which the answer is based"),
    Column(
        "Rows",
        lambda r: link(r["rows"], "show") if r["rows"] else Cell(numbers.DASH),
        "Link to the rows that the check counts; a dash if no page lists them",
    ),
)
