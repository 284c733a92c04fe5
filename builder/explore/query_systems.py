"""Section of a query's page: score and rank of each system, and the causes of score changes."""

from typing import Any

import polars as pl
from markupsafe import Markup

from builder.drift.attribution import Attribution, RunWithQrels, attribute_score_change
from builder.errors import DataError
from builder.evaluation import parse_measure
from builder.evaluation.attribution import unchanged_document_ids
from builder.evaluation.measures.effectiveness import RunScorer
from builder.explore.forms import create_select_field, render_filter_form
from builder.explore.page_request import PageRequest
from builder.explore.render import link, render_macro
from builder.explore.runs import MEASURES
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_table
from builder.reporting import charts, numbers
from builder.reporting.charts import series_color
from builder.reporting.parts import Cell, decimal_cell, empty_note, grid, section
from builder.trec.runs import Run

QUERY_SCORES = """
SELECT snapshot, system, measure, score FROM scores WHERE query_key = $query
ORDER BY system, snapshot, measure
"""
RANKED = """
SELECT doc_id, score FROM ranked
WHERE system = $system AND snapshot = $snapshot AND query_key = $query
"""
QRELS = """
SELECT doc_key AS doc_id, grade FROM qrels WHERE snapshot = $snapshot AND query_key = $query
"""


def systems_sections(source: CollectionSource, request: PageRequest, query_id: str) -> list[Markup]:
    """Render the systems section of a query's page; return an empty list if no runs are loaded."""
    if not source.systems:
        return []
    measure = request.choice_parameter("measure", MEASURES, MEASURES[0])
    statement = Statement(QUERY_SCORES, {"query": query_id})
    found = [row for row in source.fetch_rows(statement) if row["measure"] == measure]
    heading, lead = "Systems", f"{measure} of each system for this query, and its change over time."
    if not found:
        return [section("runs", heading, lead, empty_note("No runs were scored for this query."))]
    scores = {(row["system"], row["snapshot"]): row["score"] for row in found}
    series = [
        charts.LineSeries(
            system, series_color(number), [scores.get((system, name)) for name in source.snapshots]
        )
        for number, system in enumerate(source.systems)
    ]
    chart = charts.line_chart(f"{measure} of the query", source.snapshots, series)
    rows = _build_score_rows(source, scores)
    chosen = render_filter_form(
        request, create_select_field("measure", "Measure", measure, MEASURES), anchor="runs"
    )
    made = render_table(
        source,
        f"{measure} and rank of each system",
        _score_columns(request),
        rows,
        None,
        empty_text="",
    )
    return [
        section(
            "runs",
            heading,
            lead,
            chosen,
            grid(render_macro("block", chart), made),
            _render_causes_of_score_change(source, request, query_id, measure),
        )
    ]


def _build_score_rows(
    source: CollectionSource, scores: dict[tuple[str, str], float | None]
) -> list[Row]:
    """Return the score, rank and score change of each system in each snapshot.

    The score change is relative to the previous snapshot.
    """
    rows: list[Row] = []
    for index, name in enumerate(source.snapshots):
        snapshot_scores = {s: scores.get((s, name)) for s in source.systems}
        known = [value for value in snapshot_scores.values() if value is not None]
        for system, score in snapshot_scores.items():
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


def _score_columns(request: PageRequest) -> tuple[Column, ...]:
    def attribution_link(row: Row) -> Cell:
        if row["change"] is None:
            return Cell(numbers.DASH)
        target = (
            request.url_with_parameters(system=row["system"], until=row["snapshot"])
            + "#attribution"
        )
        return Cell(link(target, "attribute"))

    return (
        Column("System", "system"),
        Column("Snapshot", "snapshot"),
        Column("Score", lambda r: decimal_cell(r["score"], 4)),
        Column(
            "Rank", "rank", "Rank of the system by its score for this query; 1 is the best rank"
        ),
        Column(
            "Change",
            lambda r: signed_score_cell(r["change"]),
            "Score minus the score in the previous snapshot",
        ),
        Column("Causes", attribution_link, "Contributions of documents and judgements"),
    )


def signed_score_cell(difference: float | None) -> Cell:
    """Return a table cell that shows a score difference with its sign, and None as a dash."""
    return Cell(
        numbers.format_signed_decimal(difference), -1e300 if difference is None else difference
    )


def _render_causes_of_score_change(
    source: CollectionSource, request: PageRequest, query_id: str, measure: str
) -> Markup | None:
    """Render the causes of the score change that the request selects.

    Returns None if the request selects no score change.
    """
    system = request.choice_parameter("system", source.systems)
    until = request.choice_parameter("until", source.snapshots[1:])
    if not system or not until:
        return None
    start = source.snapshots[source.snapshots.index(until) - 1]
    heading = f"Score change of {system} from {start} to {until}"
    try:
        found = attribute_query_score_change(source, query_id, system, (start, until), measure)
    except DataError as error:
        return render_macro("attribution", heading, [], str(error))
    rows: list[Row] = [
        {"part": f"changed {name}", "value": found.contributions[name]}
        for name in ("documents", "judgements")
    ]
    rows.append(
        {"part": "the system and the statistics of its index", "value": found.statistics_and_system}
    )
    rows.append({"part": "total change", "value": found.change})
    columns = (
        Column("Part", "part"),
        Column("Contribution", lambda r: signed_score_cell(r["value"])),
    )
    note = (
        f"Shapley values over the top {source.depth} results of both runs. The query is the same "
        "in both snapshots, so the contribution of query changes is zero."
    )
    return render_macro(
        "attribution",
        heading,
        [render_table(source, heading, columns, rows, None, empty_text="")],
        note,
    )


def attribute_query_score_change(
    source: CollectionSource, query_id: str, system: str, snapshots: tuple[str, str], measure: str
) -> Attribution:
    """Attribute the change in a system's score for a query to documents and judgements.

    Args:
        source: Connection to the collection, with runs.
        query_id: Aligned id of the query.
        system: Name of the system.
        snapshots: Earlier and later snapshot.
        measure: Measure of the scores, such as `nDCG@10`.

    Raises:
        DataError: A snapshot has no judgements for the query, or no document changes are recorded.
    """
    sides = []
    for name in snapshots:
        values: dict[str, Any] = {"query": query_id, "system": system, "snapshot": name}
        run = pl.DataFrame(
            source.fetch_rows(Statement(RANKED, values)),
            schema={"doc_id": pl.String, "score": pl.Float64},
        )
        qrels = pl.DataFrame(
            source.fetch_rows(Statement(QRELS, values)),
            schema={"doc_id": pl.String, "grade": pl.UInt8},
        )
        key = pl.lit(query_id).alias("query_id")
        sides.append(
            RunWithQrels(run.select(key, "doc_id", "score"), qrels.select(key, "doc_id", "grade"))
        )
    same = unchanged_document_ids(
        source.collection.path / "changes" / "documents.parquet", snapshots
    )
    wanted = parse_measure(measure)

    def score(run: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, float]:
        scorer = RunScorer(qrels, [wanted])
        ranked = Run.from_scores(run.select("query_id", "doc_id", "score"), "run", None)
        return dict(zip(scorer.query_ids, scorer.score(ranked).values[:, 0].tolist(), strict=True))

    return attribute_score_change(sides[0], sides[1], same, score)
