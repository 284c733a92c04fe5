"""The section on judgements."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    fold_many,
    pair_name,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Cell,
    Row,
    Segment,
    decimal,
    figure,
    heat_map,
    integer,
    nothing,
    section,
    share,
    stacked_bars,
    table,
)

GRADE_NAMES = ("not relevant", "relevant", "highly relevant")
GRADE_COLOURS = ("unchanged", "updated", "added")


def judgements(drift: Drift) -> Markup:
    """How grades, evidence and labels changed."""
    if not any(sum(s["grades"]) for s in drift["snapshots"]):
        return section("judgements", "Judgements", None, nothing("There are no judgements."))
    compared = [pair for pair in drift["pairs"] if pair["qrels"]["pairs_common"]]
    return section(
        "judgements",
        "Judgements",
        "A label is as stable as its evidence: the more often a pair was examined, the less its "
        "grade moves.",
        figure("Grades", stacked_bars([_grades(s) for s in drift["snapshots"]])),
        _per_query(drift["snapshots"]),
        fold_many("Grades of common pairs", [_transitions(pair) for pair in compared]),
        fold_many("Label stability", [_by_evidence(pair) for pair in compared]),
        fold_many(
            "What became of relevant pages",
            [_fate(pair) for pair in drift["pairs"] if pair["qrels"]["relevant_before"]],
        ),
    )


def _grades(snapshot: Mapping[str, Any]) -> tuple[str, Sequence[Segment]]:
    return snapshot["snapshot"], [
        Segment(name, value, colour)
        for name, value, colour in zip(GRADE_NAMES, snapshot["grades"], GRADE_COLOURS, strict=True)
    ]


def _per_query(snapshots: Sequence[Mapping[str, Any]]) -> Markup:
    columns = (
        "Snapshot", "Judged per query, mean", "median", "most", "Relevant per query, mean",
        "median", "Examinations, median", "p10", "p90",
    )  # fmt: skip
    rows: list[Row] = [
        [
            s["snapshot"],
            decimal(s["judged_per_query"]["mean"], 1),
            integer(s["judged_per_query"]["median"]),
            integer(s["judged_per_query"]["max"]),
            decimal(s["relevant_per_query"]["mean"], 1),
            integer(s["relevant_per_query"]["median"]),
            *(integer(s["examinations"][name]) for name in ("median", "p10", "p90")),
        ]
        for s in snapshots
    ]
    return table("Judged documents of a query, and evidence of a judgement", columns, rows)


def _transitions(pair: Mapping[str, Any]) -> Markup:
    qrels = pair["qrels"]
    counts = qrels["transitions"]
    totals = [max(sum(row), 1) for row in counts]
    shades = [[value / totals[i] for value in row] for i, row in enumerate(counts)]
    texts = [
        [f"{numbers.count(value)} ({numbers.percent(value / totals[i], 0)})" for value in row]
        for i, row in enumerate(counts)
    ]
    return figure(
        f"Grades of common pairs, {pair_name(pair)}",
        heat_map("Rows: grade before; columns: after", GRADE_NAMES, GRADE_NAMES, shades, texts),
        f"{numbers.percent(qrels['kept_share'])} kept, {numbers.percent(qrels['flip_rate'])} "
        f"flipped, kappa {numbers.decimal(qrels['kappa'], 2)} "
        f"(quadratic {numbers.decimal(qrels['kappa_quadratic'], 2)}).",
    )


def _by_evidence(pair: Mapping[str, Any]) -> Markup:
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
                    integer(row["pairs_common"]),
                    share(row["kept_share"]),
                    share(row["flip_rate"]),
                ]
            )
    return table(
        f"Label stability by evidence, {pair_name(pair)}",
        ("Examinations", "Pairs", "Grade kept", "Flipped"),
        rows,
    )


def _fate(pair: Mapping[str, Any]) -> Markup:
    rows: list[Row] = [
        [
            row["document"],
            integer(row["relevant"]),
            integer(row["judged_again"]),
            integer(row["same_grade"]),
            integer(row["not_relevant_now"]),
        ]
        for row in pair["qrels"]["relevant_before"]
    ]
    return table(
        f"What became of relevant pages, {pair_name(pair)}",
        ("Page", "Relevant", "Judged again", "Same grade", "Now grade 0"),
        rows,
    )
