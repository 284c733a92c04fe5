"""The first page: what the collection contains, what changed, and the rows behind each check."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report import clicks, documents, judgements, queries, sections, topics, words
from builder.errors import FormatError
from builder.explore.asked import Asked, address
from builder.explore.render import Page, link, macro
from builder.explore.source import Source
from builder.explore.statements import Row
from builder.explore.tables import Column, table
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

ABSENT = {
    "documents": "texts of pages: pages have no versions, no translation and no differences here",
    "click_estimates": "click evidence: grades have no impressions, examinations and intervals",
    "sentences": "translations: pages are shown in one language",
    "rejects": "rejects of its stages",
}
"""Tables that a collection may lack, and what is not to be seen then."""

ROWS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "judged_are_listed": ("/queries", {"group": "judged only"}),
    "listed_are_judged": ("/queries", {"group": "not judged"}),
    "longest_query_stands": ("/queries", {"sort": "longest"}),
    "none_gathers_judgements": ("/queries", {"sort": "judged"}),
    "overlaps_agree": ("/changes", {"kind": "queries"}),
    "filter_is_the_same": ("/changes", {"kind": "queries", "status": "gone"}),
    "topics_are_the_same": ("/changes", {"kind": "queries"}),
    "floors_stand": ("/queries", {"sort": "least"}),
    "pages_stay": ("/changes", {"kind": "documents", "status": "removed"}),
    "hosts_are_crawled": ("/changes", {"kind": "documents", "status": "removed"}),
    "crawl_holds_shown": ("/changes", {"kind": "documents", "status": "removed"}),
    "addresses_stand": ("/changes", {"kind": "documents", "direction": "matched"}),
    "edits_differ": ("/changes", {"kind": "documents", "status": "updated"}),
    "sample_stands": ("/changes", {"kind": "documents", "status": "not_sampled"}),
    "grade_shares_follow_clicks": ("/changes", {"kind": "qrels", "direction": "changed"}),
    "cuts_stand": ("/changes", {"kind": "qrels", "direction": "changed"}),
    "pairs_recur": ("/changes", {"kind": "qrels", "direction": "lost"}),
}
"""Where to find the rows that a check counts; the others count over whole texts or parameters."""


def overview(source: Source, asked: Asked) -> Page:  # noqa: ARG001 - every page takes both
    """The page `/`."""
    collection = source.collection
    facts = [
        ("Version", collection.version),
        ("Languages", ", ".join(collection.languages) or "not stated"),
        ("Made", "imported release" if source.is_imported else "built from logs and crawls"),
        ("Signature", span(collection.signature, "signature")),
    ]
    drift = source.drift
    own = (macro("facts", facts), _absent(source), _snapshots(source))
    lead = "What the collection contains, what changed between its snapshots, and what was checked."
    if drift is not None:
        try:
            return Page(collection.name, lead, (*own[:2], _report(source, drift)), "/", PARTS)
        except BROKEN as error:
            path = collection.path / "drift.json"
            raise FormatError(f"not what `longeval drift` writes: {error!r}", path) from None
    text = "This collection has no drift.json: charts and checks are not there to be shown."
    return Page(collection.name, lead, (*own, empty_note(text)), "/")


BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What a drift.json raises that says something else than expected."""


def _report(source: Source, drift: Mapping[str, Any]) -> Markup:
    """The sections of the report, with checks that lead to their rows."""
    first, rest = sections.findings_section(drift), [chart(drift) for chart in CHARTS]
    return join_markup(
        first, _snapshots(source), sections.sizes_section(drift), *rest, checks(source, drift)
    )


def missing(source: Source) -> list[str]:
    """What is not in a collection, in sentences."""
    return [
        f"This collection has no {text}."
        for name, text in ABSENT.items()
        if not source.has(name) and name != "rejects"
    ]


def _absent(source: Source) -> Any:
    texts = missing(source)
    return (
        collapsible("What this collection does not have", bullet_list(texts, "facts"), is_open=True)
        if texts
        else None
    )


def _snapshots(source: Source) -> Any:
    sizes = source.collection.sizes()
    rows: list[Row] = [
        {"snapshot": name, "documents": pages, "queries": listed, "qrels": judged}
        for name, pages, listed, judged in sizes
    ]
    columns = (
        Column("Snapshot", "snapshot", "The period that the snapshot covers"),
        _linked("Pages", "documents", "/pages", "Documents of the snapshot"),
        _linked("Queries", "queries", "/queries", "Queries that the snapshot lists"),
        Column("Judgements", "qrels", "Graded pairs of a query and a page"),
    )
    return section(
        "snapshots",
        "Snapshots",
        "Follow a number to the rows that it counts.",
        table(
            source,
            "Snapshots as the manifest counts them",
            columns,
            rows,
            None,
            empty="There is no snapshot.",
        ),
    )


def _linked(label: str, name: str, path: str, hint: str) -> Column:
    def show(row: Row) -> Cell:
        target = address(path, snapshot=row["snapshot"])
        return Cell(link(target, numbers.format_count(row[name])), row[name])

    return Column(label, show, hint)


def checks(source: Source, drift: Mapping[str, Any]) -> Any:
    """The construction checks, each with its numbers and the rows that it counts."""
    groups = {
        "construction": ("Differences of construction", True),
        "cannot tell": ("Checks that cannot tell from this collection", False),
        "clear": ("Checks that found no difference", False),
    }
    body = []
    for verdict, (caption, is_open) in groups.items():
        rows = [_check(c) for c in drift["checks"] if c["verdict"] == verdict]
        if rows:
            made = table(source, caption, CHECK_COLUMNS, rows, None, empty="")
            body.append(collapsible(f"{caption} ({len(rows)})", made, is_open=is_open))
    lead = "Whether two snapshots were made in the same way; otherwise no change can be believed."
    return section("checks", "Construction checks", lead, join_markup(body))


def _check(check: Mapping[str, Any]) -> Row:
    return {
        "snapshots": " \N{RIGHTWARDS ARROW} ".join(check["snapshots"]),
        "question": check["asks"],
        "answer": check["verdict"],
        "evidence": check["evidence"],
        "rows": _rows(check),
    }


def _rows(check: Mapping[str, Any]) -> str | None:
    """The address of the rows that a check counts."""
    path, values = ROWS.get(check["check"], ("", {}))
    if not path:
        return None
    names = check["snapshots"]
    if path == "/queries":
        return address(path, snapshot=names[-1], **values)
    return address(path, **{"from": names[0], "to": names[-1]}, **values)


CHECK_COLUMNS = (
    Column("Snapshots", "snapshots"),
    Column("Question", "question", "What the check asks"),
    Column(
        "Answer",
        lambda r: Cell(span(r["answer"], f"verdict {sections.VERDICTS[r['answer']]}")),
        "construction: made differently; clear: no such difference; cannot tell: too little "
        "is recorded, or too little differs",
    ),
    Column("Evidence", "evidence", "The counts that the answer rests on"),
    Column(
        "Rows",
        lambda r: link(r["rows"], "show") if r["rows"] else Cell(numbers.DASH),
        "The rows that the check counts, where they are rows of a table",
    ),
)
