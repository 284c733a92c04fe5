"""Checks across tables: what a table refers to exists, in the right snapshot and split."""

from collections.abc import Callable, Iterable, Iterator

import polars as pl

from builder.collection.checks.finding import Check
from builder.collection.checks.tables import readable_tables
from builder.collection.read import Collection

Found = tuple[str, str, int, tuple[str, ...]]
Finder = Callable[[Collection], Iterable[Found]]


def _whole(collection: Collection) -> Iterator[tuple[str, dict[str, pl.LazyFrame]]]:
    """Snapshots whose documents, queries and qrels can all be read."""
    readable = {
        where: pl.scan_parquet(list(paths)) for where, _, paths in readable_tables(collection)
    }
    for name in collection.snapshots:
        tables = {
            kind: readable[f"snapshots/{name}/{kind}"]
            for kind in ("documents", "queries", "qrels")
            if f"snapshots/{name}/{kind}" in readable
        }
        if len(tables) == 3:
            yield name, tables


def _absent(left: pl.LazyFrame, right: pl.LazyFrame, key: str) -> pl.DataFrame:
    """Keys of the left table that the right one lacks, with how often they occur."""
    keys = left.group_by(key).len()
    return keys.join(right.select(key), on=key, how="anti").sort(key).collect(engine="streaming")


def _qrels_without(kind: str, key: str) -> Finder:
    def find(collection: Collection) -> Iterator[Found]:
        for name, tables in _whole(collection):
            lost = _absent(tables["qrels"], tables[kind], key)
            if lost.height:
                message = f"judgements refer to {lost.height} {kind} that the snapshot lacks"
                examples = tuple(lost[key].head(3))
                yield f"snapshots/{name}/qrels", message, int(lost["len"].sum()), examples

    return find


def _unjudged(collection: Collection) -> Iterator[Found]:
    for name, tables in _whole(collection):
        lost = _absent(tables["queries"], tables["qrels"].unique("query_id"), "query_id")
        if lost.height:
            message = "queries have no judgement"
            examples = tuple(lost["query_id"].head(3))
            yield f"snapshots/{name}/queries", message, lost.height, examples


def _leaks(collection: Collection) -> Iterator[Found]:
    """A query that is tested or held out anywhere and trained on anywhere."""
    splits = [tables["queries"].select("query_id", "split") for _, tables in _whole(collection)]
    if not splits:
        return
    pairs = pl.concat(splits).unique()
    trained = pairs.filter(pl.col("split") == "train").select("query_id")
    tested = pairs.filter(pl.col("split").is_in(["heldout", "test"])).select("query_id").unique()
    both = tested.join(trained, on="query_id").sort("query_id").collect()
    if both.height:
        message = "queries are both trained on and tested"
        yield "queries_map", message, both.height, tuple(both["query_id"].head(3))


CHECKS = (
    Check(
        "LB111",
        "every judged document is in its snapshot",
        "error",
        "judge only documents of the snapshot",
        _qrels_without("documents", "doc_id"),
    ),
    Check(
        "LB112",
        "every judged query is in its snapshot",
        "error",
        "attach judgements by query id, never by a prefix of its text",
        _qrels_without("queries", "query_id"),
    ),
    Check(
        "LB113",
        "every query is judged",
        "error",
        "leave out queries without judgements",
        _unjudged,
    ),
    Check(
        "LB114",
        "no tested query is trained on",
        "error",
        "split by query identity, the same for all snapshots",
        _leaks,
    ),
)
