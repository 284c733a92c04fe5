"""Runs of systems over the snapshots: scores of a query, two systems against each other.

In: run files, named as for `longeval evaluate`. Out: tables in memory with a score per query, system
and measure, and the best documents of each run; pages that show them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from builder.drift.attribution import Attribution, Evaluated, attribute
from builder.errors import DataError
from builder.evaluation import EvaluationParameters, evaluate_paths, parse_measure
from builder.evaluation.assignment import RunFile, assign_runs
from builder.evaluation.attribution import unchanged
from builder.evaluation.effectiveness import Judge
from builder.explore.asked import Asked, address
from builder.explore.queries import query_link
from builder.explore.render import Page, link, macro
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, table
from builder.reporting import charts, numbers
from builder.reporting.charts import Drawing, Scale, plain, series_colour
from builder.reporting.parts import Cell, decimal, grid, nothing, paragraph, section
from builder.trec.released import by_keys, read_run_of
from builder.trec.runs import Run

MEASURES = ("nDCG@10", "nDCG", "P@10", "AP", "RR")
MOST_RANKED = 2_000_000
"""Documents of runs that are kept in memory for attributions, over all runs."""
DEEPEST = 100
LARGEST = 25
"""Gains and losses in the table of two systems."""
MOST_POINTS = 2000

OF_QUERY = """
SELECT snapshot, system, measure, score FROM scores WHERE query_key = $query
ORDER BY system, snapshot, measure
"""
PAIRS = """
SELECT first.query_key AS query_id, first.snapshot, first.score AS first, second.score AS second,
  first.score - second.score AS difference
FROM scores AS first JOIN scores AS second USING (snapshot, query_key, measure)
WHERE first.system = $first AND second.system = $second AND measure = $measure
ORDER BY first.snapshot, query_id
"""
TEXTS = "SELECT query_id, text FROM queries_map WHERE query_id IN (SELECT unnest($ids))"
LISTED_TEXTS = """
SELECT query_key AS query_id, arg_max(text, snapshot) AS text FROM queries
WHERE query_key IN (SELECT unnest($ids)) GROUP BY query_key
"""
RANKED = """
SELECT doc_id, score FROM ranked
WHERE system = $system AND snapshot = $snapshot AND query_key = $query
"""
OWN = """
SELECT doc_key AS doc_id, grade FROM qrels WHERE snapshot = $snapshot AND query_key = $query
"""


def load_runs(source: Source, folder: Path) -> None:
    """Score runs and keep what pages need of them, before the source is sealed.

    Raises:
        UsageError: a path cannot be assigned, or no run is there.
        FormatError: a malformed run or qrels file; names file and line.
        MissingExtraError: the extra [evaluation] is not installed.
    """
    collection = source.collection
    folders = {name: collection.snapshot(name).folder for name in source.snapshots}
    qrels = {name: at / "qrels.parquet" for name, at in folders.items()}
    parameters = EvaluationParameters(measures=MEASURES, resamples=0)
    scores = evaluate_paths(qrels, [folder], parameters).query_scores
    parts = [
        by_keys(rows.with_columns(doc_id=pl.lit("")), folders[str(name[0])]).drop("doc_id")
        for name, rows in scores.group_by("snapshot", maintain_order=True)
    ]
    kept = pl.concat(parts).select("snapshot", "system", "measure", "query_id", "score")
    source.add("scores", _arrow(kept.rename({"query_id": "query_key"})))
    files = assign_runs([folder], source.snapshots)
    queries = max((rows["query_id"].n_unique() for rows in parts), default=1)
    depth = min(DEEPEST, max(10, MOST_RANKED // max(1, queries * len(files))))
    ranked = pl.concat([_ranked(file, folders[file.snapshot], depth) for file in files])
    source.add("ranked", _arrow(ranked))
    source.systems = tuple(sorted({file.system for file in files}))
    source.depth = depth


def _ranked(file: RunFile, snapshot: Path, depth: int) -> pl.DataFrame:
    ranking = by_keys(read_run_of(file.path, depth, snapshot).ranking, snapshot)
    return ranking.select(
        snapshot=pl.lit(file.snapshot), system=pl.lit(file.system), query_key="query_id",
        doc_id="doc_id", score="score",
    )


def _arrow(rows: pl.DataFrame) -> Any:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def of_query(source: Source, asked: Asked, key: str) -> list[Markup]:
    """The section of a query about systems; none without runs."""
    if not source.systems:
        return []
    measure = asked.choice("measure", MEASURES, MEASURES[0])
    statement = Statement(OF_QUERY, {"query": key})
    found = [row for row in source.rows(statement) if row["measure"] == measure]
    heading, lead = "Systems", f"{measure} of each run for this query, and its change over time."
    if not found:
        return [section("runs", heading, lead, nothing("No run was scored for this query."))]
    scores = {(row["system"], row["snapshot"]): row["score"] for row in found}
    series = [
        charts.Series(system, series_colour(number),
                      [scores.get((system, name)) for name in source.snapshots])
        for number, system in enumerate(source.systems)
    ]
    chart = charts.lines(f"{measure} of the query", source.snapshots, series)
    rows = _rows(source, scores)
    pick = {"kind": "select", "name": "measure", "label": "Measure", "value": measure,
            "options": [(name, name) for name in MEASURES]}
    form = macro("filters", f"{asked.path}#runs", [pick], False)
    made = table(source, f"{measure} and rank of each system", _columns(asked, key), rows, None,
                 empty="")
    return [section("runs", heading, lead, form, grid(chart, made),
                    _attribution(source, asked, key, measure))]


def _rows(source: Source, scores: dict[tuple[str, str], float | None]) -> list[Row]:
    rows: list[Row] = []
    for place, name in enumerate(source.snapshots):
        here = {s: scores.get((s, name)) for s in source.systems}
        known = [value for value in here.values() if value is not None]
        for system, score in here.items():
            before = scores.get((system, source.snapshots[place - 1])) if place else None
            rank = None if score is None else 1 + sum(other > score for other in known)
            rows.append({
                "system": system, "snapshot": name, "score": score, "rank": rank,
                "earlier": source.snapshots[place - 1] if place else None,
                "change": None if score is None or before is None else score - before,
            })
    return rows


def _columns(asked: Asked, key: str) -> tuple[Column, ...]:
    def why(row: Row) -> Cell:
        if row["change"] is None:
            return Cell(numbers.DASH)
        target = asked.address(system=row["system"], until=row["snapshot"]) + "#attribution"
        return Cell(link(target, "attribute"))

    _ = key
    return (
        Column("System", "system"),
        Column("Snapshot", "snapshot"),
        Column("Score", lambda r: decimal(r["score"], 4)),
        Column("Rank", "rank", "Rank of the system for this query: 1 is the best score"),
        Column("Change", lambda r: _signed(r["change"]), "Score minus that of the snapshot before"),
        Column("Where from", why, "What documents, queries and judgements contribute"),
    )


def _signed(value: float | None) -> Cell:
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
    rows.append({"part": "the system and the statistics of its index",
                 "value": found.statistics_and_system})
    rows.append({"part": "whole change", "value": found.change})
    columns = (Column("Part", "part"), Column("Contribution", lambda r: _signed(r["value"])))
    note = (f"Shapley values over the first {source.depth} results of both runs. A single query "
            "is on both sides, so that queries contribute nothing.")
    return macro("attribution", heading,
                 [table(source, heading, columns, rows, None, empty="")], note)


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
        run = pl.DataFrame(source.rows(Statement(RANKED, values)),
                           schema={"doc_id": pl.String, "score": pl.Float64})
        own = pl.DataFrame(source.rows(Statement(OWN, values)),
                           schema={"doc_id": pl.String, "grade": pl.UInt8})
        at = pl.lit(key).alias("query_id")
        sides.append(Evaluated(run.select(at, "doc_id", "score"), own.select(at, "doc_id", "grade")))
    same = unchanged(source.collection.path / "changes" / "documents.parquet", pair)
    wanted = parse_measure(measure)

    def score(run: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, float]:
        judge = Judge(qrels, [wanted])
        ranked = Run.from_scores(run.select("query_id", "doc_id", "score"), "run", None)
        return dict(zip(judge.query_ids, judge.score(ranked).values[:, 0].tolist(), strict=True))

    return attribute(sides[0], sides[1], same, score)


def systems(source: Source, asked: Asked) -> Page:
    """The page `/systems`."""
    heading = "Two systems"
    lead = "How two systems differ query by query, and whether that lasts."
    if len(source.systems) < 2:
        found = f"found {', '.join(source.systems)}" if source.systems else "none was given"
        text = f"This page compares the runs of two systems: start with --runs FOLDER ({found})."
        return Page(heading, lead, nothing(text), "/systems")
    first = asked.choice("first", source.systems, source.systems[0])
    second = asked.choice("second", source.systems, source.systems[1])
    measure = asked.choice("measure", MEASURES, MEASURES[0])
    values: dict[str, Any] = {"first": first, "second": second, "measure": measure}
    rows = source.rows(Statement(PAIRS, values))
    names = [name for name in source.snapshots if any(r["snapshot"] == name for r in rows)]
    snapshot = asked.choice("snapshot", names, names[-1] if names else "")
    fields = [
        _field("first", "First", source.systems, first),
        _field("second", "Second", source.systems, second),
        _field("measure", "Measure", MEASURES, measure),
        _field("snapshot", "Snapshot", names, snapshot),
    ]
    form = macro("filters", asked.path, fields, bool(asked.given))
    if not rows:
        text = "No snapshot has runs of both systems."
        return Page(heading, lead, (form, nothing(text)), "/systems")
    here = [row for row in rows if row["snapshot"] == snapshot]
    body = (form, _over_time(source, names, rows, values),
            _one(source, here, snapshot, first, second, measure))
    return Page(heading, lead, body, "/systems", [("time", "Over time"), ("queries", "Queries")])


def _field(name: str, label: str, options: Sequence[str], value: str) -> dict[str, Any]:
    return {"kind": "select", "name": name, "label": label, "value": value,
            "options": [(one, one) for one in options]}


def _over_time(
    source: Source, names: Sequence[str], rows: Sequence[Row], values: dict[str, Any]
) -> Markup:
    over: list[Row] = []
    for name in names:
        found = [row["difference"] for row in rows if row["snapshot"] == name]
        over.append({
            "snapshot": name, "queries": len(found), "mean": sum(found) / len(found),
            "first": sum(d > 0 for d in found), "second": sum(d < 0 for d in found),
            "equal": sum(d == 0 for d in found),
        })
    columns = (
        Column("Snapshot", "snapshot"),
        Column("Queries", "queries", "Judged queries, scored for both systems"),
        Column("Mean difference", lambda r: _signed(r["mean"]),
               "Mean score of the first system minus that of the second"),
        Column("First better", "first"),
        Column("Second better", "second"),
        Column("Equal", "equal"),
    )
    line = charts.Series("mean difference", "series-0", [row["mean"] for row in over])
    title = f"{values['measure']}, {values['first']} minus {values['second']}"
    return section(
        "time", "Over time", "Above 0 the first system is better.",
        grid(charts.lines(title, names, [line]),
             table(source, "Differences by snapshot", columns, over, None, empty="")),
    )


def _one(
    source: Source, rows: Sequence[Row], snapshot: str, first: str, second: str, measure: str
) -> Markup:
    ordered = sorted(rows, key=lambda row: (-abs(row["difference"]), row["query_id"]))
    chosen = ordered[:LARGEST]
    ids = [row["query_id"] for row in chosen]
    texts = {r["query_id"]: r["text"] for sql in (LISTED_TEXTS, TEXTS)
             for r in source.rows(Statement(sql, {"ids": ids}))}
    made = [{**row, "text": texts.get(row["query_id"])} for row in chosen]
    columns = (
        Column("Query", lambda r: query_link(r["query_id"], r["text"])),
        Column(first, lambda r: decimal(r["first"], 4)),
        Column(second, lambda r: decimal(r["second"], 4)),
        Column("Difference", lambda r: _signed(r["difference"]), "First minus second"),
    )
    note = (f"The {MOST_POINTS:,} queries that differ most are drawn."
            if len(rows) > MOST_POINTS else None)
    return section(
        "queries", f"Queries of {snapshot}",
        "A point is a query; those on the line score alike. Press a point, or a query of the table.",
        grid(join_points(ordered[:MOST_POINTS], first, second, measure),
             table(source, "Largest differences", columns, made, None,
                   empty="No query was scored.")),
        paragraph(note, "note") if note else None,
    )


def join_points(rows: Sequence[Row], first: str, second: str, measure: str) -> Markup:
    """A scatter plot whose points lead to their queries."""
    drawing = Drawing(f"{measure}: {second} (up) against {first} (right)", height=400)
    left, right, top, bottom = drawing.inside
    values = [0.0, 1.0, *(row[side] for row in rows for side in ("first", "second"))]
    x, y = Scale(values, left, right), Scale(values, bottom, top)
    drawing.axis(y, plain, is_vertical=True)
    drawing.axis(x, plain, is_vertical=False)
    drawing.rules.append((x(min(values)), y(min(values)), x(max(values)), y(max(values)), "ideal"))
    dots = [
        (x(row["first"]), y(row["second"]), series_colour(row["difference"] < 0),
         f"{row['query_id']}: {row['first']:.4f}, {row['second']:.4f}",
         address(f"/query/{row['query_id']}"))
        for row in rows
    ]
    return macro("points", drawing, dots)
