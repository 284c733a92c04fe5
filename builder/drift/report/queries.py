"""The sections on queries, on their topics and on judgements."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from builder.drift.report.sections import (
    Drift,
    fold_many,
    overlap_map,
    pair_name,
    status_bars,
    upset,
)
from builder.reporting import numbers
from builder.reporting.parts import (
    Cell,
    Row,
    Segment,
    decimal,
    figure,
    folded,
    grid,
    heat_map,
    integer,
    nothing,
    paragraph,
    section,
    share,
    stacked_bars,
    table,
)

STATUS_PARTS = (
    ("kept", "unchanged", lambda p: p["queries"]["kept"]),
    ("new", "added", lambda p: p["queries"]["new"]),
    ("gone", "removed", lambda p: p["queries"]["gone"]),
)
GRADE_NAMES = ("not relevant", "relevant", "highly relevant")
GRADE_COLOURS = ("unchanged", "updated", "added")
MOVERS = (("new", "New"), ("gone", "Gone"), ("risen", "Risen"), ("fallen", "Fallen"))
TOPICS_SHOWN = 30
SNAPSHOTS_SHOWN = 4
"""Snapshots that the table of topics shows; all of them are in drift.json."""


def queries(drift: Drift) -> Markup:
    """How queries came, went and changed their frequency."""
    listed, judged = drift["queries"]["listed"], drift["queries"]["judged"]
    names = [s["snapshot"] for s in drift["snapshots"]]
    if not listed["ids"] and not judged["ids"]:
        return section("queries", "Queries", None, nothing("No query is listed or judged."))
    return section(
        "queries",
        "Queries",
        "Listed queries are in the query file, judged ones in the judgements. Where both are made "
        "alike, they change alike.",
        status_bars("What happened to listed queries", drift["pairs"], STATUS_PARTS)
        if drift["pairs"]
        else None,
        grid(
            figure("Overlap of listed queries", overlap_map("Jaccard, listed", listed["overlap"])),
            figure("Overlap of judged queries", overlap_map("Jaccard, judged", judged["overlap"])),
            figure(
                "Where listed queries are",
                upset("Queries in exactly these snapshots", names, listed["intersections"]),
            ),
            figure(
                "Where judged queries are",
                upset("Judged in exactly these snapshots", names, judged["intersections"]),
            ),
        ),
        _frequencies(drift),
        *(_movers(pair) for pair in drift["pairs"]),
    )


def _frequencies(drift: Drift) -> Markup:
    lengths = {row["snapshot"]: row for row in drift["queries"]["lengths"]}
    rows: list[Row] = []
    for pair in drift["pairs"]:
        q = pair["queries"]
        rows.append(
            [
                pair_name(pair),
                integer(q["kept"]),
                decimal(q["frequency_spearman"]),
                share(q["impressions_kept_from"] / q["impressions_from"])
                if q["impressions_from"]
                else Cell(numbers.DASH),
                decimal(lengths[pair["from"]]["mean_words"], 2),
                decimal(lengths[pair["to"]]["mean_words"], 2),
            ]
        )
    columns = (
        "Snapshots", "Kept", "Rank correlation of frequency", "Earlier impressions kept",
        "Words a query before", "Words a query after",
    )  # fmt: skip
    return table("Frequency and length of queries", columns, rows)


def _movers(pair: Mapping[str, Any]) -> Markup | None:
    movers = pair["queries"]["movers"]
    lists = []
    for movement, heading in MOVERS:
        rows = [
            [row["text"], integer(row["impressions_from"]), integer(row["impressions_to"])]
            for row in movers[movement]
        ]
        if rows:
            lists.append(table(f"{heading} queries", ("Query", "Shown before", "After"), rows))
    if not lists:
        return None
    return folded(f"Queries that moved most, {pair_name(pair)}", grid(*lists))


def topics(drift: Drift) -> Markup:
    """What queries are about."""
    mix = drift["queries"]["topics"]
    if not mix["mix"]:
        return section("topics", "Topics", None, nothing("No query names a topic."))
    names = mix["snapshots"]
    chosen = _shown(len(names))
    shares = _topic_shares(mix, "impressions")
    most = max(value or 0.0 for row in shares for value in row)
    rows: list[Row] = [
        [
            row["topic"],
            *(share(shares[place][n], most) for n in chosen),
            *(integer(row["queries"][n]) for n in chosen),
        ]
        for place, row in enumerate(mix["mix"][:TOPICS_SHOWN])
    ]
    columns = ["Topic", *(names[n] for n in chosen), *(f"Queries {names[n]}" for n in chosen)]
    divergences = [
        f"{names[n]} to {names[n + 1]}: {numbers.decimal(shown, 4)} by impressions, "
        f"{numbers.decimal(listed, 4)} by queries"
        for n, (shown, listed) in enumerate(
            zip(mix["js_bits_impressions"], mix["js_bits"], strict=True)
        )
    ]
    more = len(mix["mix"]) - len(rows)
    return section(
        "topics",
        "Topics",
        "Share of each topic among the impressions of listed queries, and its queries; a query of "
        "several topics counts for each."
        + (f" Divergence in bits: {'; '.join(divergences)}." if divergences else ""),
        table("Topic mix", columns, rows),
        paragraph(f"{numbers.plural(more, 'more topic')} in drift.json.", "note")
        if more > 0
        else None,
    )


def _shown(snapshots: int) -> list[int]:
    """Positions of the snapshots that a table has room for: the first and the last ones."""
    if snapshots <= SNAPSHOTS_SHOWN:
        return list(range(snapshots))
    return [0, *range(snapshots - SNAPSHOTS_SHOWN + 1, snapshots)]


def _topic_shares(mix: Mapping[str, Any], counted: str) -> list[list[float | None]]:
    """The share of each topic in each snapshot, by `queries` or `impressions`."""
    snapshots = range(len(mix["snapshots"]))
    totals = [sum(row[counted][n] for row in mix["mix"]) for n in snapshots]
    return [
        [row[counted][n] / totals[n] if totals[n] else None for n in snapshots]
        for row in mix["mix"]
    ]


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
