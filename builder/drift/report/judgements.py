"""Section of the drift report on relevance judgements."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    collapse_figures_if_many,
    format_snapshot_pair,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    BarSegment,
    Cell,
    Row,
    decimal_cell,
    empty_note,
    figure,
    heat_map,
    integer_cell,
    percentage_cell,
    section,
    stacked_bars,
    table,
)

GRADE_NAMES = ("not relevant", "relevant", "highly relevant")
GRADE_COLORS = ("unchanged", "updated", "added")


def judgements_section(drift: Drift) -> Markup:
    """Render a report section on grades, and on how often a document's grade changed."""
    if not any(sum(s["grades"]) for s in drift["snapshots"]):
        return section("judgements", "Judgements", None, empty_note("There are no judgements."))
    compared = [pair for pair in drift["pairs"] if pair["qrels"]["pairs_common"]]
    return section(
        "judgements",
        "Judgements",
        "How many judgements have each grade, and how often a grade changed, by the number of "
        "examinations of its query-document pair.",
        figure("Grades", stacked_bars([_grade_bar(s) for s in drift["snapshots"]])),
        _judgement_count_table(drift["snapshots"]),
        collapse_figures_if_many(
            "Grades of common pairs", [_grade_transition_figure(pair) for pair in compared]
        ),
        collapse_figures_if_many(
            "Label stability", [_label_stability_table(pair) for pair in compared]
        ),
        collapse_figures_if_many(
            "What happened to relevant pages",
            [
                _relevant_pages_table(pair)
                for pair in drift["pairs"]
                if pair["qrels"]["relevant_before"]
            ],
        ),
    )


def _grade_bar(snapshot: Mapping[str, Any]) -> tuple[str, Sequence[BarSegment]]:
    return snapshot["snapshot"], [
        BarSegment(name, value, color)
        for name, value, color in zip(GRADE_NAMES, snapshot["grades"], GRADE_COLORS, strict=True)
    ]


def _judgement_count_table(snapshots: Sequence[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshot", "Judged per query, mean", "median", "maximum", "Relevant per query, mean",
        "median", "Examinations, median", "p10", "p90",
    )  # fmt: skip
    rows: list[Row] = [
        [
            s["snapshot"],
            decimal_cell(s["judged_per_query"]["mean"], 1),
            integer_cell(s["judged_per_query"]["median"]),
            integer_cell(s["judged_per_query"]["max"]),
            decimal_cell(s["relevant_per_query"]["mean"], 1),
            integer_cell(s["relevant_per_query"]["median"]),
            *(integer_cell(s["examinations"][name]) for name in ("median", "p10", "p90")),
        ]
        for s in snapshots
    ]
    return table("Judged documents per query and examinations per judgement", columns, rows)


def _grade_transition_figure(pair: Mapping[str, Any]) -> Markup:
    qrels = pair["qrels"]
    counts = qrels["transitions"]
    totals = [max(sum(row), 1) for row in counts]
    shades = [[value / totals[i] for value in row] for i, row in enumerate(counts)]
    texts = [
        [
            f"{numbers.format_count(value)} ({numbers.format_percent(value / totals[i], 0)})"
            for value in row
        ]
        for i, row in enumerate(counts)
    ]
    return figure(
        f"Grades of common pairs, {format_snapshot_pair(pair)}",
        heat_map(
            "Rows: earlier grade; columns: later grade", GRADE_NAMES, GRADE_NAMES, shades, texts
        ),
        f"{numbers.format_percent(qrels['kept_share'])} of the pairs kept their grade, and "
        f"{numbers.format_percent(qrels['flip_rate'])} flipped between grades 0 and 2; kappa is "
        f"{numbers.format_decimal(qrels['kappa'], 2)} "
        f"({numbers.format_decimal(qrels['kappa_quadratic'], 2)} with quadratic weights).",
    )


def _label_stability_table(pair: Mapping[str, Any]) -> Markup:
    rows: list[Row] = []
    for row in pair["qrels"]["by_evidence"]:
        if row["pairs_common"]:
            low, stop = row["examinations_from"], row["examinations_below"]
            label = (
                f"{low}+" if stop is None else str(low) if stop == low + 1 else f"{low}-{stop - 1}"
            )
            rows.append(
                [
                    Cell(label, low),
                    integer_cell(row["pairs_common"]),
                    percentage_cell(row["kept_share"]),
                    percentage_cell(row["flip_rate"]),
                ]
            )
    return table(
        f"Label stability by number of examinations, {format_snapshot_pair(pair)}",
        ("Examinations", "Pairs", "Grade kept", "Flipped"),
        rows,
    )


def _relevant_pages_table(pair: Mapping[str, Any]) -> Markup:
    rows: list[Row] = [
        [
            row["document"],
            integer_cell(row["relevant"]),
            integer_cell(row["judged_again"]),
            integer_cell(row["same_grade"]),
            integer_cell(row["not_relevant_now"]),
        ]
        for row in pair["qrels"]["relevant_before"]
    ]
    return table(
        f"What happened to relevant pages, {format_snapshot_pair(pair)}",
        ("Page", "Relevant", "Judged again", "Same grade", "Now grade 0"),
        rows,
    )
