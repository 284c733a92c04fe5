"""A small search engine in frames: queries, clicks and pages whose change is planted."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

from builder.alignment import build_id_maps
from builder.alignment.changes import QREL_CHANGES, QUERY_CHANGES
from builder.documents.tokens import md5_hex, tokens_expr
from builder.drift.checks import SnapshotParameters, store_recorded_parameters
from builder.drift.pair_drift import create_optional_views
from builder.drift.series import OptionalInputs, SnapshotSeries, compare_snapshots
from builder.io.tables import Table, table_at, write_frame
from builder.parameters import ChangeParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64, query_id
from schemas import (
    TABLES,
    DocumentChanges,
    Documents,
    Qrels,
    Queries,
    TableSchema,
)

SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")

Month = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
"""Documents, queries and qrels of one snapshot."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class World:
    """What people want and what pages say; nothing that an organiser decides."""

    seed: int = 0
    topics: int = 8
    queries_per_topic: int = 36
    pages_per_query: int = 4
    traffic: float = 1.0
    interest: tuple[tuple[int, float], ...] = ()
    interest_in_long: float = 1.0
    attraction: float = 1.0


@dataclass(frozen=True)
class Rules:
    """What an organiser decides."""

    dropped_topics: tuple[int, ...] = ()
    min_impressions: int = 5
    max_words: int = 9
    cuts: tuple[float, float] = (0.15, 0.4)
    min_examinations: int = 3
    prior: float = 1.0


@cache
def word(number: int) -> str:
    """A word for each number."""
    draw = np.random.default_rng(number)
    return "".join(draw.choice(SYLLABLES, 2 + number % 3))


def frame(rows: list[dict[str, Any]], contract: type[TableSchema]) -> pl.DataFrame:
    """Rows of a contract; columns that are not given are null."""
    columns = {name: [row.get(name) for row in rows] for name in contract.dtypes()}
    return pl.DataFrame(columns, schema=contract.dtypes())


def query(text: str, topic: str, **values: Any) -> dict[str, Any]:
    """A row of `queries`."""
    given = {"impressions": 10, "users": 8, "clicks": 3, "judged": 4, "relevant": 1}
    known = {"query_id": query_id(key64(text)), "text": text, "topics": [topic], "split": "test"}
    return known | given | values


def qrel(text: str, page: str, grade: int, **values: Any) -> dict[str, Any]:
    """A row of `qrels`."""
    given = {"impressions": 10, "examinations": 10, "clicks": 3, "last_clicks": 1}
    known = {"query_id": query_id(key64(text)), "doc_id": doc_id(key64(page)), "grade": grade}
    return known | given | {"source": "click"} | values


@cache
def counted(title: str, text: str) -> dict[str, Any]:
    """Number of tokens and hashes of a text."""
    words = pl.select(tokens_expr(pl.lit(f"{title}\n{text}"))).to_series()[0].to_list()
    text_hash, token_hash = md5_hex(pl.Series([text, " ".join(words)]))
    return {"tokens": len(words), "text_hash": text_hash, "token_hash": token_hash}


def page(url: str, title: str, text: str, **values: Any) -> dict[str, Any]:
    """A row of `documents`."""
    known = {
        "doc_id": doc_id(key64(url)),
        "url": url,
        "url_key": url,
        "fetched_at": 0,
        "title": title,
        "text": text,
        "language": "fr",
        "shown": True,
        "sampled": True,
    }
    return known | counted(title, text) | values


@cache
def asked(world: World, rules: Rules, month: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Queries and qrels of one month."""
    fixed = np.random.default_rng(world.seed)
    draw = np.random.default_rng((world.seed, month))
    size = world.topics * world.queries_per_topic
    topic = np.arange(size) % world.topics
    words = fixed.integers(2, 7, size)
    mean = 40 * world.traffic * np.exp(fixed.normal(0, 1.2, size) + draw.normal(0, 0.3, size))
    mean *= np.array([dict(world.interest).get(int(t), 1.0) for t in topic])
    mean *= np.where(words > 4, world.interest_in_long, 1.0)
    attraction = world.attraction * fixed.beta(0.8, 2.5, (size, world.pages_per_query))
    shown = draw.poisson(mean)
    listed = (shown >= rules.min_impressions) & (words <= rules.max_words)
    listed &= ~np.isin(topic, rules.dropped_topics)
    queries: list[dict[str, Any]] = []
    qrels: list[dict[str, Any]] = []
    for n in np.flatnonzero(listed).tolist():
        text = " ".join(word(n * 11 + k) for k in range(words[n]))
        times = int(shown[n])
        examined = draw.binomial(times, 0.9 ** np.arange(world.pages_per_query)).tolist()
        clicked = draw.binomial(examined, np.minimum(attraction[n], 1)).tolist()
        judged = [
            _judged(rules, text, f"https://site{n % 7}.fr/{n}/{k}", times, examined[k], clicked[k])
            for k in range(world.pages_per_query)
            if examined[k] >= rules.min_examinations
        ]
        if judged:
            counts = {"impressions": times, "users": -(-times * 4 // 5), "judged": len(judged)}
            queries.append(query(text, f"t{topic[n]}", **counts))
            qrels += judged
    return frame(queries, Queries), frame(qrels, Qrels)


def _judged(
    rules: Rules, text: str, url: str, shown: int, examined: int, clicked: int
) -> dict[str, Any]:
    score = (clicked + rules.prior) / (examined + 2 * rules.prior)
    grade = sum(score >= cut for cut in rules.cuts)
    counts = {"impressions": shown, "examinations": examined, "clicks": clicked, "last_clicks": 0}
    scores = {"score": score, "attractiveness": score, "satisfaction": 0.25}
    return qrel(text, url, grade, **counts, **scores)


def pages(world: World, month: int) -> pl.DataFrame:
    """Documents of one month: some are born, die, are edited or rewritten."""
    rows = []
    for n in range(world.topics * world.queries_per_topic):
        for k in range(world.pages_per_query):
            draw = np.random.default_rng((world.seed, n, k))
            born, life = draw.integers(-20, 3), draw.geometric(0.05) + 5
            if not born <= month < born + life:
                continue
            text = [word(int(draw.integers(900))) for _ in range(40)]
            for past in range(month + 1):
                change = draw.random()
                if change < 0.1:
                    text[int(draw.integers(40))] = word(1000 + past)
                elif change < 0.12:
                    text = [word(int(draw.integers(900))) for _ in range(55)]
            rows.append(page(f"https://site{n % 7}.fr/{n}/{k}", f"Page {n}", " ".join(text)))
    return frame(rows, Documents)


def observe(world: World, rules: Rules, month: int) -> Month:
    """What a build would publish for one month."""
    return pages(world, month), *asked(world, rules, month)


def compare(
    before: tuple[pl.DataFrame, pl.DataFrame],
    after: tuple[pl.DataFrame, pl.DataFrame],
    recorded: Mapping[str, SnapshotParameters] | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection with queries, qrels and their changes, for checks that need no more."""
    connection = duckdb.connect(config={"threads": 1})
    for side, (queries, qrels) in (("from", before), ("to", after)):
        connection.register(f"queries_{side}", queries.to_arrow())
        connection.register(f"qrels_{side}", qrels.to_arrow())
        connection.execute(f"SET VARIABLE {side}_snapshot = '2022-06'")
        store_recorded_parameters(connection, side, (recorded or {}).get(side))
    create_optional_views(connection, {})
    connection.execute(f"CREATE TABLE query_changes AS {QUERY_CHANGES}")
    connection.execute(f"CREATE TABLE qrel_changes AS {QREL_CHANGES}")
    return connection


def store(
    folder: Path, months: Mapping[str, Month], evidence: OptionalInputs | None = None
) -> tuple[SnapshotSeries, ResourceLimits]:
    """Write the tables of all snapshots, align them, and map them: what drift reads."""
    limits = ResourceLimits(folder / "scratch", threads=2, memory=2**30)
    limits.scratch.mkdir(parents=True)
    contracts = {"documents": Documents, "queries": Queries, "qrels": Qrels}
    each: dict[str, dict[str, Table]] = {name: {} for name in contracts}
    for month, rows in months.items():
        for (name, contract), table in zip(contracts.items(), rows, strict=True):
            path = folder / month / f"{name}.parquet"
            path.parent.mkdir(exist_ok=True)
            write_frame(table, path, contract)
            each[name][month] = Table((path,), contract)
    (folder / "maps").mkdir()
    maps, params = folder / "maps", ChangeParameters()
    series, _ = compare_snapshots(maps, each, params, limits, NoProgress(), evidence)
    return series, limits


def first_months(series: SnapshotSeries, count: int, limits: ResourceLimits) -> SnapshotSeries:
    """The first snapshots of a series, as if there were no others; its maps are written anew."""
    documents, queries, qrels, counts = (
        dict(list(tables.items())[:count])
        for tables in (series.documents, series.queries, series.qrels, series.word_counts)
    )
    lost, pairs = (
        dict(list(tables.items())[: count - 1]) for tables in (series.lost_words, series.pair_drift)
    )
    assert list(pairs) == list(lost) == list(pairwise(documents))
    build_id_maps(
        limits.scratch,
        documents=documents,
        queries=queries,
        limits=limits.with_scratch_folder("maps"),
        progress=NoProgress(),
        pages=None,
    ).check("maps")
    maps = (
        table_at(limits.scratch, name, TABLES[name]) for name in ("documents_map", "queries_map")
    )
    return SnapshotSeries(documents, queries, qrels, counts, lost, pairs, *maps)


def holding(before: Rows, after: Rows, changes: Rows | None = None) -> duckdb.DuckDBPyConnection:
    """A connection with the documents of two snapshots and their changes, and no parameters."""
    connection = duckdb.connect()
    connection.register("documents_from", frame(before, Documents).to_arrow())
    connection.register("documents_to", frame(after, Documents).to_arrow())
    connection.register("document_changes", frame(changes or [], DocumentChanges).to_arrow())
    for side in ("from", "to"):
        store_recorded_parameters(connection, side, None)
    return connection
