"""Systems on the page of a query: scores and ranks over time, and where a change comes from."""

from typing import Any

import polars as pl
from markupsafe import Markup

from builder.drift.attribution import Attribution, RunWithQrels, attribute_change
from builder.errors import DataError
from builder.evaluation import parse_measure
from builder.evaluation.attribution import unchanged
from builder.evaluation.measures.effectiveness import Judge
from builder.explore.asked import Asked
from builder.explore.forms import form, select
from builder.explore.render import link, macro
from builder.explore.runs import MEASURES
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, table
from builder.reporting import charts, numbers
from builder.reporting.charts import series_colour
from builder.reporting.parts import Cell, decimal_cell, empty_note, grid, section
from builder.trec.runs import Run

OF_QUERY = """
SELECT snapshot, system, measure, score FROM scores WHERE query_key = $query
ORDER BY system, snapshot, measure
"""
RANKED = """
SELECT doc_id, score FROM ranked
WHERE system = $system AND snapshot = $snapshot AND query_key = $query
"""
OWN = """
SELECT doc_key AS doc_id, grade FROM qrels WHERE snapshot = $snapshot AND query_key = $query
"""


def of_query(source: Source, asked: Asked, key: str) -> list[Markup]:
    """The section of a query about systems; none without runs."""
    if not source.systems:
        return []
    measure = asked.choice("measure", MEASURES, MEASURES[0])
    statement = Statement(OF_QUERY, {"query": key})
    found = [row for row in source.rows(statement) if row["measure"] == measure]
    heading, lead = "Systems", f"{measure} of each run for this query, and its change over time."
    if not found:
        return [section("runs", heading, lead, empty_note("No run was scored for this query."))]
    scores = {(row["system"], row["snapshot"]): row["score"] for row in found}
    series = [
        charts.LineSeries(
            system, series_colour(number), [scores.get((system, name)) for name in source.snapshots]
        )
        for number, system in enumerate(source.systems)
    ]
    chart = charts.line_chart(f"{measure} of the query", source.snapshots, series)
    rows = _rows(source, scores)
    chosen = form(asked, select("measure", "Measure", measure, MEASURES), at="runs")
    made = table(
        source, f"{measure} and rank of each system", _columns(asked), rows, None, empty=""
    )
    return [
        section(
            "runs",
            heading,
            lead,
            chosen,
            grid(macro("block", chart), made),
            _attribution(source, asked, key, measure),
        )
    ]


def _rows(source: Source, scores: dict[tuple[str, str], float | None]) -> list[Row]:
    rows: list[Row] = []
    for index, name in enumerate(source.snapshots):
        here = {s: scores.get((s, name)) for s in source.systems}
        known = [value for value in here.values() if value is not None]
        for system, score in here.items():
            before = scores.get((system, source.snapshots[index - 1])) if index else None
            rank = None if score is None else 1 + sum(other > score for other in known)
            rows.append(
                {
                    "system": system,
                    "snapshot": name,
                    "score": score,
                    "rank": rank,
                    "earlier": source.snapshots[index - 1] if index else None,
                    "change": None if score is None or before is None else score - before,
                }
            )
    return rows


def _columns(asked: Asked) -> tuple[Column, ...]:
    def why(row: Row) -> Cell:
        if row["change"] is None:
            return Cell(numbers.DASH)
        target = asked.address(system=row["system"], until=row["snapshot"]) + "#attribution"
        return Cell(link(target, "attribute"))

    return (
        Column("System", "system"),
        Column("Snapshot", "snapshot"),
        Column("Score", lambda r: decimal_cell(r["score"], 4)),
        Column("Rank", "rank", "Rank of the system for this query: 1 is the best score"),
        Column(
            "Change", lambda r: signed_score(r["change"]), "Score minus that of the snapshot before"
        ),
        Column("Where from", why, "What documents, queries and judgements contribute"),
    )


def signed_score(value: float | None) -> Cell:
    """A difference of scores."""
    if value is None:
        return Cell(numbers.DASH, -1e300)
    return Cell(f"{value:+.4f}".replace("-", "\N{MINUS SIGN}"), value)


def _attribution(source: Source, asked: Asked, key: str, measure: str) -> Markup | None:
    """Where the change of a system's score of the query comes from, if the address asks for it."""
    system = asked.choice("system", source.systems)
    until = asked.choice("until", source.snapshots[1:])
    if not system or not until:
        return None
    start = source.snapshots[source.snapshots.index(until) - 1]
    heading = f"Change of {system} from {start} to {until}"
    try:
        found = attributed(source, key, system, (start, until), measure)
    except DataError as error:
        return macro("attribution", heading, [], str(error))
    rows: list[Row] = [
        {"part": f"changed {name}", "value": found.contributions[name]}
        for name in ("documents", "judgements")
    ]
    rows.append(
        {"part": "the system and the statistics of its index", "value": found.statistics_and_system}
    )
    rows.append({"part": "whole change", "value": found.change})
    columns = (Column("Part", "part"), Column("Contribution", lambda r: signed_score(r["value"])))
    note = (
        f"Shapley values over the first {source.depth} results of both runs. A single query "
        "is on both sides, so that queries contribute nothing."
    )
    return macro(
        "attribution", heading, [table(source, heading, columns, rows, None, empty="")], note
    )


def attributed(
    source: Source, key: str, system: str, pair: tuple[str, str], measure: str
) -> Attribution:
    """The change of a system's score of one query between two snapshots, and its parts.

    Raises:
        DataError: a snapshot has no judgement of the query, or nothing is known of documents.
    """
    sides = []
    for name in pair:
        values: dict[str, Any] = {"query": key, "system": system, "snapshot": name}
        run = pl.DataFrame(
            source.rows(Statement(RANKED, values)),
            schema={"doc_id": pl.String, "score": pl.Float64},
        )
        own = pl.DataFrame(
            source.rows(Statement(OWN, values)), schema={"doc_id": pl.String, "grade": pl.UInt8}
        )
        at = pl.lit(key).alias("query_id")
        sides.append(
            RunWithQrels(run.select(at, "doc_id", "score"), own.select(at, "doc_id", "grade"))
        )
    same = unchanged(source.collection.path / "changes" / "documents.parquet", pair)
    wanted = parse_measure(measure)

    def score(run: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, float]:
        judge = Judge(qrels, [wanted])
        ranked = Run.from_scores(run.select("query_id", "doc_id", "score"), "run", None)
        return dict(zip(judge.query_ids, judge.score(ranked).values[:, 0].tolist(), strict=True))

    return attribute_change(sides[0], sides[1], same, score)
