import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.io.tables import table_at
from builder.parameters import SplitParameters, VariantParameters
from builder.queries import merge_labels, split_judged_queries
from builder.queries.labels import choose_representatives, merge_qrels
from builder.runtime.progress import NoProgress
from schemas import JudgedQueries, Qrels, Queries


def query(number: int, variant_set: int | None, impressions: int = 1) -> dict:
    return {
        "query_id": f"q{number:016x}",
        "text": f"question {number}",
        "topics": [f"t{number % 2}"],
        "impressions": impressions,
        "users": impressions,
        "clicks": 1,
        "judged": 1,
        "relevant": 0,
        "variant_set": None if variant_set is None else f"v{variant_set:016x}",
    }


def qrel(number: int, doc: int, grade: int, source: str = "click") -> dict:
    return {
        "query_id": f"q{number:016x}",
        "doc_id": f"d{doc:016x}",
        "grade": grade,
        "score": 0.5,
        "attractiveness": 0.5,
        "satisfaction": 0.5,
        "impressions": 10,
        "examinations": 8,
        "clicks": 4,
        "last_clicks": 2,
        "source": source,
    }


def run(room, queries: list[dict], qrels: list[dict], merge: str = "labels"):  # type: ignore[no-untyped-def]
    out = room.out()
    ledger = merge_labels(
        out,
        graded_pairs=room.table("qrels", qrels),
        graded_queries=room.table("judged_queries", queries),
        earlier_candidates=(),
        params=VariantParameters(merge=merge),
        limits=room.limits,
        progress=NoProgress(),
    )
    ledger.check("labels")
    merged = pl.read_parquet(out / "qrels.parquet")
    judged = table_at(out, "judged_queries", JudgedQueries)
    Qrels.validate(merged)
    JudgedQueries.validate(judged.scan().collect())
    return merged, judged, ledger


def test_the_rules_of_the_organisers(room) -> None:
    """{1, 2} -> 1, {0, >0} -> dropped, equal grades stay, other queries are untouched."""
    queries = [query(1, 7, 3), query(2, 7, 9), query(3, 7, 2), query(4, None, 1)]
    qrels = [
        *(qrel(1, 10, 1), qrel(2, 10, 2)),
        *(qrel(1, 11, 0), qrel(3, 11, 2)),
        *(qrel(1, 12, 2), qrel(2, 12, 2), qrel(3, 12, 2, "manual")),
        qrel(3, 13, 0),
        qrel(4, 11, 2),
    ]
    merged, judged, ledger = run(room, queries, qrels)
    rows = merged.select("query_id", "doc_id", "grade", "clicks", "score", "source").rows()
    assert [(int(q[1:], 16), int(d[1:], 16), *rest) for q, d, *rest in rows] == [
        (2, 10, 1, 8, None, "click"),
        (2, 12, 2, 12, None, "manual"),
        (2, 13, 0, 4, 0.5, "click"),
        (4, 11, 2, 4, 0.5, "click"),
    ]
    table = judged.scan().select("text", "impressions", "users", "topics", "judged", "relevant")
    assert table.collect().rows() == [
        ("question 2", 14, 9, ["t0", "t1"], 3, 2),
        ("question 4", 1, 1, ["t0"], 1, 1),
    ]
    assert dict(ledger.rejected) == {"labels_conflict": 2, "label_merged": 3}
    assert (ledger.rows_in, ledger.rows_out) == (9, 4)


def test_without_merging_labels_both_tables_stay_as_they_are(room) -> None:
    queries = [query(1, 7, 3), query(2, 7, 9)]
    qrels = [qrel(1, 10, 0), qrel(2, 10, 2, "manual")]
    merged, judged, ledger = run(room, queries, qrels, merge="clicks")
    assert merged.equals(pl.DataFrame(qrels, schema=Qrels.dtypes()))
    table = pl.DataFrame(queries, schema=JudgedQueries.dtypes())
    assert judged.scan().collect().equals(table)
    assert (ledger.rows_in, ledger.rows_out, sum(ledger.rejected.values())) == (2, 2, 0)


def test_the_text_of_a_set_is_that_of_its_most_frequent_query(room) -> None:
    queries = [query(1, 7, impressions=1), query(2, 7, impressions=9)]
    _, judged, _ = run(room, queries, [qrel(1, 1, 1), qrel(2, 1, 1)])
    found = judged.scan().select("query_id", "text", "impressions").collect()
    assert found.rows() == [(f"q{2:016x}", "question 2", 10)]


def test_a_set_of_conflicts_alone_leaves_no_query(room) -> None:
    merged, judged, _ = run(room, [query(1, 7), query(2, 7)], [qrel(1, 1, 0), qrel(2, 1, 1)])
    assert merged.is_empty()
    assert judged.scan().collect().is_empty()


rows = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 4), st.integers(0, 2)),
    unique_by=lambda row: row[:2],
    max_size=40,
)


def test_the_query_of_the_earliest_snapshot_represents_its_set() -> None:
    """The set of 1, 2 and 3 keeps the id of 3, the only one of the first month."""
    schema = JudgedQueries.dtypes()
    now = [query(1, 7, 5), query(2, 7, 90), query(3, 7, 50), query(4, 8, 2), query(5, 8, 3)]
    earlier = [
        pl.DataFrame([query(3, 7), query(9, 9)], schema=schema),
        pl.DataFrame([query(1, 7)], schema=schema),
    ]
    chosen = choose_representatives(pl.DataFrame(now, schema=schema), earlier)
    numbers = {int(a[1:], 16): int(b[1:], 16) for a, b in chosen.iter_rows()}
    assert numbers == {1: 3, 2: 3, 3: 3, 4: 5, 5: 5}
    equal = pl.DataFrame([query(n, 7, 5) for n in (3, 1, 2)], schema=schema)
    assert set(choose_representatives(equal)["representative"]) == {f"q{1:016x}"}, "by text"


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(rows)
def test_a_conflict_reaches_no_other_set(drawn: list) -> None:
    """What a set's labels become depends on that set alone."""
    queries = pl.DataFrame([query(n, n // 3) for n in range(12)], schema=JudgedQueries.dtypes())
    qrels = pl.DataFrame([qrel(*row) for row in drawn], schema=Qrels.dtypes())
    chosen = choose_representatives(queries)
    together = merge_qrels(qrels, chosen)
    for of in range(4):
        own = [qrel(*row) for row in drawn if row[0] // 3 == of]
        alone = merge_qrels(pl.DataFrame(own, schema=Qrels.dtypes()), chosen)
        ids = [f"q{n:016x}" for n in range(of * 3, of * 3 + 3)]
        assert together.filter(pl.col("query_id").is_in(ids)).equals(alone)


def test_heldout_conflicts_never_write_into_train(room) -> None:
    """A published collection merged variants of held-out queries, resolved the conflicts, and
    wrote them to the train set. Here the train side is the same with and without conflicts."""
    params = SplitParameters(heldout_share=0.5)

    def train(conflicts: bool) -> tuple[pl.DataFrame, pl.DataFrame, set[str]]:
        queries = [query(n, n // 2, 1 + n % 2) for n in range(40)]
        qrels = [qrel(n, 1, 1) for n in range(40)]
        first = {row["query_id"]: row["split"] for row in sides(queries)}
        heldout = {q for q, side in first.items() if side == "heldout"}
        for row in qrels:
            if conflicts and row["query_id"] in heldout and int(row["query_id"][1:], 16) % 2:
                row["grade"] = 0
        merged, judged, _ = run(room, queries, qrels)
        out = room.out()
        split_judged_queries(
            out,
            judged_queries=judged,
            train_queries=(),
            is_train=True,
            threshold=0.8,
            params=params,
            limits=room.limits,
            progress=NoProgress(),
        )
        table = table_at(out, "split_queries", Queries).scan().collect()
        kept = table.filter(pl.col("split") == "train")
        return kept, merged.join(kept, on="query_id", how="semi"), heldout

    def sides(queries: list[dict]) -> list[dict]:
        out = room.out()
        split_judged_queries(
            out,
            judged_queries=room.table("judged_queries", queries),
            train_queries=(),
            is_train=True,
            threshold=0.8,
            params=params,
            limits=room.limits,
            progress=NoProgress(),
        )
        return table_at(out, "split_queries", Queries).scan().collect().to_dicts()

    queries_without, qrels_without, _ = train(conflicts=False)
    queries_with, qrels_with, heldout = train(conflicts=True)
    assert queries_without.height > 5
    assert heldout
    assert queries_with.equals(queries_without)
    assert qrels_with.equals(qrels_without)
    assert not heldout & set(qrels_with["query_id"])
