"""The section on pages."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    fold_many,
    overlap_map,
    pair_name,
    status_bars,
)
from builder.drift.summary import count_not_kept
from builder.reporting import numbers
from builder.reporting.charts import Series, histogram, lines
from builder.reporting.parts import (
    Cell,
    Row,
    decimal,
    figure,
    folded,
    grid,
    integer,
    nothing,
    paragraph,
    section,
    subheading,
    table,
    twins,
)

STATUS_PARTS = (
    ("unchanged", "unchanged", lambda p: p["documents"]["unchanged"]),
    ("updated", "updated", lambda p: p["documents"]["updated"]),
    ("added", "added", lambda p: p["documents"]["added"] - p["documents"]["returned"]),
    ("returned", "returned", lambda p: p["documents"]["returned"]),
    ("removed", "removed", lambda p: p["documents"]["removed"]),
    ("crawled, but not kept", "not-kept", lambda p: count_not_kept(p["documents"])),
)


def why_nothing(drift: Drift) -> str | None:
    """Why there is no change of pages to show, if there is none."""
    if not drift["pairs"]:
        return "One snapshot has nothing to compare with."
    if not any(snapshot["documents"] for snapshot in drift["snapshots"]):
        return "The collection has queries and judgements, but no page."
    return None


def pages(drift: Drift) -> Markup:
    """How pages came, went and changed."""
    pairs = drift["pairs"]
    if (why := why_nothing(drift)) is not None:
        return section("pages", "Pages", None, nothing(why))
    return section(
        "pages",
        "Pages",
        "A page is one address. It is updated when its words differ, whatever its bytes do. It is "
        "removed when the later crawl lacks it; a page that is crawled and not kept was not "
        "sampled, not shown by a selected query, or left out by a rule.",
        status_bars("What happened to pages", pairs, STATUS_PARTS),
        grid(
            figure(
                "Overlap of pages",
                overlap_map("Jaccard coefficient of addresses", drift["documents"]["overlap"]),
                "On the diagonal: pages of the snapshot.",
            ),
            figure("Survival of the first snapshot's pages", _survival(drift)),
        ),
        subheading("How much updated pages changed"),
        paragraph(
            "What both versions have in common: by sequences of words (Jaccard coefficient of "
            "shingles) and by words (Dice coefficient), which stays near 1 while texts are "
            "rearranged.",
            "note",
        ),
        fold_many("Degree of change", [_degree(pair) for pair in pairs]),
        _degree_table(pairs),
        _length_table(pairs),
        *(_rewritten(pair) for pair in pairs if pair["documents"]["most_rewritten"]),
        *(_hosts(pair) for pair in pairs if pair["documents"]["hosts"]["most_changed"]),
    )


def _survival(drift: Drift) -> Markup:
    rows = drift["documents"]["survival"]
    return lines(
        "Share of the first snapshot's pages that later snapshots hold",
        [row["snapshot"] for row in rows],
        (
            Series("present", "updated", [row["present_share"] for row in rows]),
            Series("never absent", "added", [row["uninterrupted_share"] for row in rows]),
        ),
        as_shares=True,
    )


def _degree(pair: Mapping[str, Any]) -> Markup:
    documents = pair["documents"]
    title = f"{pair_name(pair)}: {numbers.plural(documents['updated'], 'updated page')}"
    if not documents["updated"]:
        return figure(title, nothing("No page was updated."))
    jaccard, dice = documents["shingle_jaccard"], documents["dice"]
    return figure(
        title,
        twins(
            histogram("Sequences in common", jaccard["histogram"], "updated"),
            histogram("Words in common", dice["histogram"], "added"),
        ),
        f"Half of the updated pages keep at least {numbers.percent(jaccard['median'])} of their "
        f"sequences and {numbers.percent(dice['median'])} of their words; a tenth keeps at most "
        f"{numbers.percent(jaccard['p10'])} and {numbers.percent(dice['p10'])}.",
    )


def _degree_table(pairs: list[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshots", "Cosmetic", "Edited", "Rewritten", "Sequences p10", "median", "p90",
        "Words p10", "median", "p90",
    )  # fmt: skip
    rows: list[Row] = [
        [
            pair_name(pair),
            *(integer(pair["documents"]["bands"][b]) for b in ("cosmetic", "edited", "rewritten")),
            *(
                decimal(pair["documents"][measure][quantile])
                for measure in ("shingle_jaccard", "dice")
                for quantile in ("p10", "median", "p90")
            ),
        ]
        for pair in pairs
    ]
    return table("Degree of change of updated pages", columns, rows)


def _length_table(pairs: list[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshots", "Longer", "Shorter", "Words gained", "Same words, other punctuation",
        "Moved elsewhere", "Other form of address",
    )  # fmt: skip
    rows: list[Row] = [
        [
            pair_name(pair),
            integer(d["length_delta"]["longer"]),
            integer(d["length_delta"]["shorter"]),
            Cell(numbers.signed(d["length_delta"]["tokens"]), d["length_delta"]["tokens"]),
            integer(d["text_changed_only"]),
            integer(d["moved"]),
            integer(d["loose"]),
        ]
        for pair in pairs
        for d in [pair["documents"]]
    ]
    return table("Length of updated pages, and pages under another address", columns, rows)


def _rewritten(pair: Mapping[str, Any]) -> Markup:
    rows: list[Row] = [
        [
            row["title"] or "(no title)",
            Cell(row["url_key"]),
            decimal(row["shingle_jaccard"]),
            decimal(row["dice"]),
            integer(row["tokens_from"]),
            integer(row["tokens_to"]),
        ]
        for row in pair["documents"]["most_rewritten"]
    ]
    caption = f"Pages that changed most, {pair_name(pair)}"
    columns = ("Title", "Address", "Sequences", "Words", "Words before", "Words after")
    return folded(caption, table(caption, columns, rows))


def _hosts(pair: Mapping[str, Any]) -> Markup:
    hosts = pair["documents"]["hosts"]
    rows: list[Row] = [
        [
            row["host"],
            *(
                integer(row[name])
                for name in ("added", "removed", "not_kept", "updated", "unchanged")
            ),
        ]
        for row in hosts["most_changed"]
    ]
    caption = (
        f"Hosts, {pair_name(pair)}: {numbers.count(hosts['new'])} new, "
        f"{numbers.count(hosts['gone'])} gone of {numbers.count(hosts['from'])}"
    )
    return folded(
        caption, table(caption, ("Host", "Added", "Removed", "Not kept", "Updated", "Same"), rows)
    )
