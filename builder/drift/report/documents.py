"""Section of the drift report on added, removed and updated pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    collapse_figures_if_many,
    format_snapshot_pair,
    nest_tables_if_many,
    overlap_heat_map,
    status_chart,
)
from builder.drift.summary import count_dropped_documents
from builder.reporting import numbers
from builder.reporting.charts import LineSeries, histogram, line_chart
from builder.reporting.parts import (
    Cell,
    Row,
    collapsible,
    decimal_cell,
    empty_note,
    figure,
    grid,
    integer_cell,
    paragraph,
    section,
    side_by_side_figures,
    subheading,
    table,
)

STATUS_PARTS = (
    ("unchanged", "unchanged", lambda p: p["documents"]["unchanged"]),
    ("updated", "updated", lambda p: p["documents"]["updated"]),
    ("added", "added", lambda p: p["documents"]["added"] - p["documents"]["returned"]),
    ("returned", "returned", lambda p: p["documents"]["returned"]),
    ("removed", "removed", lambda p: p["documents"]["removed"]),
    ("crawled but not kept", "not-kept", lambda p: count_dropped_documents(p["documents"])),
)


def incomparable_pages_reason(drift: Drift) -> str | None:
    """Return the reason why no pages can be compared; None if pages can be compared."""
    if not drift["pairs"]:
        return "There is only one snapshot, so there is nothing to compare."
    if not any(snapshot["documents"] for snapshot in drift["snapshots"]):
        return "The collection has queries and judgements, but no pages."
    return None


def pages_section(drift: Drift) -> Markup:
    """Render a report section on added, removed and updated pages, and on how much they changed."""
    pairs = drift["pairs"]
    if (why := incomparable_pages_reason(drift)) is not None:
        return section("pages", "Pages", None, empty_note(why))
    return section(
        "pages",
        "Pages",
        "A page is identified by its URL. It is updated if its words differ, and removed if the "
        "later crawl does not contain it. A crawled page is not kept if it was not sampled, was "
        f"not shown for any selected query, or was excluded by a rule.{_unknown_crawl_note(pairs)}",
        status_chart("What happened to pages", pairs, STATUS_PARTS),
        grid(
            figure(
                "Overlap of pages",
                overlap_heat_map("Jaccard coefficient of URLs", drift["documents"]["overlap"]),
                "On the diagonal: number of pages of the snapshot.",
            ),
            figure("Survival of the first snapshot's pages", _survival_chart(drift)),
        ),
        subheading("How much updated pages changed"),
        paragraph(
            "Similarity of the old and the new text, by sequences of words (Jaccard coefficient of "
            "shingles) and by words (Dice coefficient). The Dice coefficient stays near 1 if a "
            "text is only rearranged.",
            "note",
        ),
        collapse_figures_if_many("Degree of change", [_similarity_figure(pair) for pair in pairs]),
        _similarity_table(pairs),
        _length_table(pairs),
        nest_tables_if_many(
            "Pages that changed most",
            [
                _most_changed_pages_table(pair)
                for pair in pairs
                if pair["documents"]["most_rewritten"]
            ],
        ),
        nest_tables_if_many(
            "Hosts",
            [_host_table(pair) for pair in pairs if pair["documents"]["hosts"]["most_changed"]],
        ),
    )


def _unknown_crawl_note(pairs: Sequence[Mapping[str, Any]]) -> str:
    """Explain the status `removed` if the collection does not record which pages were crawled."""
    if not any(pair["documents"]["removed_crawl_unknown"] for pair in pairs):
        return ""
    return (
        " This release does not record which pages were crawled, so every page that is not in the "
        "later snapshot is shown as removed."
    )


def _survival_chart(drift: Drift) -> Markup:
    rows = drift["documents"]["survival"]
    return line_chart(
        "Share of the first snapshot's pages still present in later snapshots",
        [row["snapshot"] for row in rows],
        (
            LineSeries("present", "updated", [row["present_share"] for row in rows]),
            LineSeries("never absent", "added dashed", [r["uninterrupted_share"] for r in rows]),
        ),
        as_shares=True,
    )


def _similarity_figure(pair: Mapping[str, Any]) -> Markup:
    documents = pair["documents"]
    title = (
        f"{format_snapshot_pair(pair)}: {numbers.pluralize(documents['updated'], 'updated page')}"
    )
    if not documents["updated"]:
        return figure(title, empty_note("No page was updated."))
    jaccard, dice = documents["shingle_jaccard"], documents["dice"]
    return figure(
        title,
        side_by_side_figures(
            histogram("Sequences in common", jaccard["histogram"], "updated"),
            histogram("Words in common", dice["histogram"], "added"),
        ),
        "Similarity of the old and new text of updated pages: the median Jaccard coefficient of "
        f"word sequences is {jaccard['median']:.2f} (10th percentile {jaccard['p10']:.2f}), and "
        f"the median Dice coefficient of words is {dice['median']:.2f} (10th percentile "
        f"{dice['p10']:.2f}).",
    )


def _similarity_table(pairs: list[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshots", "Cosmetic", "Edited", "Rewritten", "Sequences p10", "median", "p90",
        "Words p10", "median", "p90",
    )  # fmt: skip
    rows: list[Row] = [
        [
            format_snapshot_pair(pair),
            *(
                integer_cell(pair["documents"]["bands"][b])
                for b in ("cosmetic", "edited", "rewritten")
            ),
            *(
                decimal_cell(pair["documents"][measure][quantile])
                for measure in ("shingle_jaccard", "dice")
                for quantile in ("p10", "median", "p90")
            ),
        ]
        for pair in pairs
    ]
    return table("Degree of change of updated pages", columns, rows)


def _length_table(pairs: list[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshots", "Longer", "Shorter", "Words gained", "Only case or punctuation changed",
        "Moved to another URL", "URL in another form",
    )  # fmt: skip
    rows: list[Row] = [
        [
            format_snapshot_pair(pair),
            integer_cell(d["length_delta"]["longer"]),
            integer_cell(d["length_delta"]["shorter"]),
            Cell(
                numbers.format_signed_integer(d["length_delta"]["tokens"]),
                d["length_delta"]["tokens"],
            ),
            integer_cell(d["text_changed_only"]),
            integer_cell(d["moved"]),
            integer_cell(d["loose"]),
        ]
        for pair in pairs
        for d in [pair["documents"]]
    ]
    return table("Length of updated pages, and pages with another URL", columns, rows)


def _most_changed_pages_table(pair: Mapping[str, Any]) -> Markup:
    rows: list[Row] = [
        [
            row["title"] or "(no title)",
            Cell(row["url_key"]),
            decimal_cell(row["shingle_jaccard"]),
            decimal_cell(row["dice"]),
            integer_cell(row["tokens_from"]),
            integer_cell(row["tokens_to"]),
        ]
        for row in pair["documents"]["most_rewritten"]
    ]
    caption = f"Pages that changed most, {format_snapshot_pair(pair)}"
    columns = ("Title", "URL", "Sequences", "Words", "Words before", "Words after")
    return collapsible(caption, table(caption, columns, rows))


def _host_table(pair: Mapping[str, Any]) -> Markup:
    hosts = pair["documents"]["hosts"]
    rows: list[Row] = [
        [
            row["host"],
            *(
                integer_cell(row[name])
                for name in ("added", "removed", "not_kept", "updated", "unchanged")
            ),
        ]
        for row in hosts["most_changed"]
    ]
    caption = (
        f"Hosts, {format_snapshot_pair(pair)}: {numbers.format_count(hosts['new'])} new, "
        f"{numbers.format_count(hosts['gone'])} of {numbers.format_count(hosts['from'])} removed"
    )
    return collapsible(
        caption, table(caption, ("Host", "Added", "Removed", "Not kept", "Updated", "Same"), rows)
    )
