"""Checks across tables: what a table refers to exists, in the right snapshot and split."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import polars as pl

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading

Finder = Callable[[Reading], Iterable[Found]]


def _absent(left: pl.LazyFrame, right: pl.LazyFrame, key: str) -> pl.DataFrame:
    """Keys of the left table that the right one lacks, with how often they occur."""
    keys = left.group_by(key).len()
    return keys.join(right.select(key), on=key, how="anti").sort(key).collect(engine="streaming")


def _judged_documents(reading: Reading) -> Iterator[Found]:
    if not reading.has_documents:
        return
    for name, (documents, qrels) in reading.snapshots("documents", "qrels"):
        lost = _absent(qrels, documents, "doc_id")
        if lost.height:
            message = f"judgements refer to {lost.height:,} documents that the snapshot lacks"
            count, examples = int(lost["len"].sum()), tuple(lost["doc_id"].head(3))
            yield f"snapshots/{name}/qrels", message, count, examples


def _judged_queries(reading: Reading) -> Iterator[Found]:
    everywhere = [queries.select("query_id") for _, queries in reading.snapshots("queries")]
    for name, (queries, qrels) in reading.snapshots("queries", "qrels"):
        lost = _absent(qrels, queries, "query_id")
        if lost.height:
            judged = qrels.select(pl.col("query_id").n_unique()).collect().item()
            unknown = lost.lazy().join(pl.concat(everywhere), on="query_id", how="anti").collect()
            message = f"{lost.height:,} of {judged:,} judged queries are not in the snapshot: "
            message += _whose_text_is_known(lost, unknown)
            yield f"snapshots/{name}/qrels", message, lost.height, tuple(lost["query_id"].head(3))


def _whose_text_is_known(lost: pl.DataFrame, unknown: pl.DataFrame) -> str:
    """What is known of judged queries that are not listed, from other snapshots."""
    judgements = f"nobody knows the text that {int(unknown['len'].sum()):,} judgements are for"
    if unknown.height == lost.height:
        return judgements
    if unknown.is_empty():
        return "their texts are known from other snapshots alone"
    return f"{judgements}, the other texts are known from other snapshots"


def _unjudged(reading: Reading) -> Iterator[Found]:
    for name, (queries, qrels) in reading.snapshots("queries", "qrels"):
        lost = _absent(queries, qrels.select("query_id").unique(), "query_id")
        if lost.height:
            message = "queries have no judgement"
            examples = tuple(lost["query_id"].head(3))
            yield f"snapshots/{name}/queries", message, lost.height, examples


def _leaks(reading: Reading) -> Iterator[Found]:
    """A query that is tested or held out anywhere and trained on anywhere."""
    splits = [frame.select("query_id", "split") for _, frame in reading.snapshots("queries")]
    if not splits or reading.is_imported:
        return
    pairs = pl.concat(splits).unique()
    trained = pairs.filter(pl.col("split") == "train").select("query_id")
    tested = pairs.filter(pl.col("split").is_in(["heldout", "test"])).select("query_id").unique()
    both = tested.join(trained, on="query_id").sort("query_id").collect()
    if both.height:
        message = "queries are both trained on and tested"
        yield "queries_map", message, both.height, tuple(both["query_id"].head(3))


def _evidence(reading: Reading) -> Iterator[Found]:
    """Counts of a query that are not those of its judgements."""
    for name, (queries, qrels) in reading.snapshots("queries", "qrels"):
        counted = qrels.group_by("query_id").agg(
            found_judged=pl.len(), found_relevant=(pl.col("grade") > 0).sum()
        )
        found = queries.join(counted, on="query_id", how="inner").filter(
            (pl.col("judged") != pl.col("found_judged"))
            | (pl.col("relevant") != pl.col("found_relevant"))
        )
        wrong = found.select("query_id").sort("query_id").collect()
        if wrong.height:
            message = "queries count other judgements than they have"
            examples = tuple(wrong["query_id"].head(3))
            yield f"snapshots/{name}/queries", message, wrong.height, examples


def _grades(reading: Reading) -> Iterator[Found]:
    """A grade that is not the one of the source it names."""
    own = pl.when(pl.col("source") == "manual").then("manual_grade").otherwise("click_grade")
    for name, qrels in reading.snapshots("qrels"):
        named = qrels.filter(pl.col("source") != "release")
        wrong = named.filter(own.is_not_null() & (pl.col("grade") != own))
        found = wrong.select("query_id", "doc_id").collect()
        if found.height:
            message = "grades are not those of the source that they name"
            examples = tuple(" ".join(row) for row in found.head(3).iter_rows())
            yield f"snapshots/{name}/qrels", message, found.height, examples


def _maps(reading: Reading) -> Iterator[Found]:
    """Ids of the maps against those of the snapshots."""
    for kind, key in (("documents", "doc_id"), ("queries", "query_id")):
        mapped = reading.scan(f"{kind}_map")
        held = [
            reading.keyed(frame, name, key).select(key, snapshots=pl.lit(name))
            for name, frame in reading.snapshots(kind)
        ]
        if mapped is None or len(held) < len(reading.collection.snapshots):
            continue
        rows = mapped.select(key, "snapshots").explode("snapshots")
        both = pl.concat(held).join(
            rows.with_columns(mapped=True), on=[key, "snapshots"], how="full", coalesce=True
        )
        here = pl.concat(held).with_columns(held=True)
        wrong = both.join(here, on=[key, "snapshots"], how="left")
        wrong = wrong.filter(pl.col("mapped").is_null() | pl.col("held").is_null())
        found = wrong.select(key).unique().sort(key).collect(engine="streaming")
        if found.height:
            message = f"the map and the snapshots hold other {kind}"
            yield f"{kind}_map", message, found.height, tuple(found[key].head(3))


def _intervals(reading: Reading) -> Iterator[Found]:
    snapshots = reading.manifest["definition"]["snapshots"]
    for before, after in pairwise(sorted(snapshots, key=lambda s: str(s["start"]))):
        if str(after["start"]) < str(before["end"]):
            message = f"begins at {after['start']}, before {before['name']} ends at {before['end']}"
            yield f"snapshots/{after['name']}", message, 1, ()


CHECKS = (
    Check(
        "LB111",
        "every judged document is in its snapshot",
        "error",
        "judgements that no run can be scored by",
        "judge only documents of the snapshot",
        _judged_documents,
    ),
    Check(
        "LB112",
        "every judged query is in its snapshot",
        "error",
        "6,430 to 10,774 judged queries a month that are missing from the query file",
        "list what is judged; attach judgements by query id, never by a prefix of its text",
        _judged_queries,
    ),
    Check(
        "LB113",
        "every query is judged",
        "error",
        "11,000 listed queries a month without a judgement",
        "leave out queries without judgements: `qrels.min_judged = 1` or more",
        _unjudged,
    ),
    Check(
        "LB114",
        "no tested query is trained on",
        "error",
        "held-out conflicts written into the train set: 20 to 38 % overlap",
        "split by query identity, the same for all snapshots",
        _leaks,
    ),
    Check(
        "LB115",
        "queries count the judgements that they have",
        "error",
        "labels that were changed without what is derived from them",
        "rebuild the version from its definition",
        _evidence,
    ),
    Check(
        "LB116",
        "grades are those of the source that they name",
        "error",
        "labels that no evidence supports",
        "rebuild the version from its definition",
        _grades,
    ),
    Check(
        "LB117",
        "maps hold the ids of the snapshots",
        "error",
        "ids that cannot be followed from one snapshot to the next",
        "rebuild the version from its definition",
        _maps,
    ),
    Check(
        "LB118",
        "intervals of snapshots do not meet",
        "error",
        "test queries that were logged while training data was",
        "give every snapshot an interval of its own",
        _intervals,
    ),
)
