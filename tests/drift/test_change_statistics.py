"""Statistics of documents, queries and judgements of two or three snapshots, on a few rows."""

from typing import Any

import duckdb
import polars as pl
import pytest

from builder.drift import documents, judgements, queries
from schemas import DocumentChanges, Documents, DocumentsMap, Qrels, Queries, QueriesMap
from tests.drift.worlds import Rows, compare, frame, page, qrel, query

CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("https://a.fr/1", "added", {"crawled": True}),
    ("https://b.fr/1", "added", {"crawled": False, "matched_by": "loose", "text_changed": True}),
    ("https://b.fr/2", "added", {"crawled": None}),
    ("https://a.fr/2", "returned", {"crawled": True, "matched_by": "moved"}),
    ("https://a.fr/3", "removed", {"crawled": False, "matched_by": "loose", "text_changed": True}),
    ("https://c.fr/1", "removed", {"crawled": False, "matched_by": "loose"}),
    ("https://c.fr/2", "removed", {"crawled": None, "matched_by": "moved"}),
    ("https://c.fr/3", "removed", {"crawled": None}),
    ("https://c.fr?4", "removed", {"crawled": None}),
    ("https://d.fr/1", "not_sampled", {"crawled": True}),
    ("https://d.fr/2", "not_shown", {"crawled": True}),
    ("https://d.fr/3", "not_shown", {"crawled": True}),
    ("https://d.fr/4", "left_out", {"crawled": True}),
    ("https://e.fr/1", "left_out", {"crawled": True}),
    ("https://e.fr/2", "left_out", {"crawled": True}),
    ("https://e.fr/3", "updated", {"text_changed": True, "tokens_from": 10, "tokens_to": 15}),
    ("http://f.fr/1", "updated", {"text_changed": False, "tokens_from": 10, "tokens_to": 10}),
    ("http://f.fr/2", "updated", {"text_changed": True, "tokens_from": 20, "tokens_to": 5}),
    ("http://f.fr/3", "unchanged", {"text_changed": True}),
    *((f"http://g.fr/{n}", "unchanged", {"text_changed": False}) for n in range(4)),
]
DEGREES = {
    "https://e.fr/3": {"dice": 0.5, "shingle_jaccard": 0.25, "band": "edited"},
    "http://f.fr/1": {"dice": 1.0, "shingle_jaccard": 0.9, "band": "cosmetic"},
    "http://f.fr/2": {"dice": 0.1, "shingle_jaccard": 0.0, "band": "rewritten"},
}


def changed(changes: list[tuple[str, str, dict[str, Any]]]) -> duckdb.DuckDBPyConnection:
    """A connection with the documents of both snapshots and these changes of them."""
    pages = [(page(url, f"Page {url[-1]}", ""), status) for url, status, _ in changes]
    rows = [
        {"doc_id": row["doc_id"], "status": status} | values | DEGREES.get(row["url"], {})
        for (row, status), (_, _, values) in zip(pages, changes, strict=True)
    ]
    new, both = ("added", "returned"), ("updated", "unchanged")
    connection = duckdb.connect()
    for name, held in (
        ("documents_from", [row for row, status in pages if status not in new]),
        ("documents_to", [row for row, status in pages if status in (*new, *both)]),
    ):
        connection.register(name, frame(held, Documents).to_arrow())
    connection.register("document_changes", frame(rows, DocumentChanges).to_arrow())
    connection.execute(documents.CREATE_URL_VIEW)
    return connection


def hosts(**counts: tuple[int, int, int, int, int]) -> Rows:
    names = ("added", "removed", "not_kept", "updated", "unchanged")
    return [
        {"host": f"{host}.fr"} | dict(zip(names, values, strict=True))
        for host, values in counts.items()
    ]


def test_changes_of_documents_are_counted() -> None:
    found = documents.document_change_statistics(changed(CHANGES))
    shares = {name: found.pop(name) for name in ("dice", "shingle_jaccard")}
    assert [shares["dice"][name] for name in ("n", "p10", "median", "p90")] == [3, 0.1, 0.5, 1.0]
    assert shares["shingle_jaccard"]["median"] == 0.25
    examples = found.pop("most_rewritten")
    assert [(row["url_key"], row["title"], row["tokens_to"]) for row in examples] == [
        ("http://f.fr/2", "Page 2", 5),
        ("https://e.fr/3", "Page 3", 15),
        ("http://f.fr/1", "Page 1", 10),
    ]
    assert found == {
        "added": 4,
        "removed": 5,
        "not_sampled": 1,
        "not_shown": 2,
        "left_out": 3,
        "updated": 3,
        "unchanged": 5,
        "returned": 1,
        "added_in_crawl_before": 2,
        "removed_crawl_unknown": 3,
        "text_changed": 3,
        "text_changed_only": 1,
        "loose": 2,
        "moved": 1,
        "bands": {"cosmetic": 1, "edited": 1, "rewritten": 1},
        "length_delta": {
            "longer": 1,
            "shorter": 1,
            "tokens": -10,
            "p10": -15,
            "median": 0,
            "p90": 5,
        },
        "hosts": {
            "from": 6,
            "to": 5,
            "new": 1,
            "gone": 2,
            "kept_share": 4 / 6,
            "most_changed": hosts(
                c=(0, 4, 0, 0, 0),
                d=(0, 0, 4, 0, 0),
                a=(2, 1, 0, 0, 0),
                e=(0, 0, 2, 1, 0),
                b=(2, 0, 0, 0, 0),
                f=(0, 0, 0, 2, 1),
                g=(0, 0, 0, 0, 4),
            ),
        },
    }


def test_the_ten_most_rewritten_pages_and_the_fifteen_most_changed_hosts_are_listed() -> None:
    """Of equally rewritten pages, longer ones come first, then those with smaller ids."""
    rows = [(0.5, 9), (0.1, 4), (0.1, 8), (0.1, 8), *((0.2 + n / 100, 1) for n in range(9))]
    changes: list[tuple[str, str, dict[str, Any]]] = [
        (f"https://h{n:02}.fr/", "updated", {"shingle_jaccard": share, "tokens_to": tokens})
        for n, (share, tokens) in enumerate(rows)
    ]
    changes += [(f"https://x{n}.fr/", "unchanged", {"shingle_jaccard": 0.0}) for n in range(9)]
    changes = [
        (url, status, {"dice": 0.5, "band": "edited", "tokens_from": 9} | values)
        for url, status, values in changes
    ]
    found = documents.document_change_statistics(changed(changes))
    twins = sorted((page(f"https://h{n:02}.fr/", "", "")["doc_id"], f"h{n:02}") for n in (2, 3))
    assert [row["url_key"][8:11] for row in found["most_rewritten"]] == [
        *(name for _, name in twins),
        "h01",
        *(f"h{n:02}" for n in range(4, 11)),
    ]
    assert [row["host"] for row in found["hosts"]["most_changed"]] == [
        *(f"h{n:02}.fr" for n in range(13)),
        "x0.fr",
        "x1.fr",
    ]


def test_documents_are_counted_by_the_snapshots_that_hold_them() -> None:
    held = [["06", "07"], ["07"], ["06", "07"], ["06"], ["07"], ["07"]]
    rows = [{"doc_id": f"d{n:016x}", "snapshots": names} for n, names in enumerate(held)]
    connection = duckdb.connect()
    connection.register("documents_map", frame(rows, DocumentsMap).to_arrow())
    patterns = documents.count_presence_patterns(connection)
    assert patterns == {("06",): 1, ("06", "07"): 2, ("07",): 3}
    assert documents.document_presence_statistics(patterns, ("06", "07")) == {
        "ids": 6,
        "core": 2,
        "returning": 0,
        "overlap": {
            "snapshots": ["06", "07"],
            "common": [[3, 2], [2, 5]],
            "jaccard": [[1.0, 2 / 6], [2 / 6, 1.0]],
        },
        "survival": [
            {"snapshot": "06", "present": 3, "present_share": 1.0}
            | {"uninterrupted": 3, "uninterrupted_share": 1.0},
            {"snapshot": "07", "present": 2, "present_share": 2 / 3}
            | {"uninterrupted": 2, "uninterrupted_share": 2 / 3},
        ],
        "intersections": [
            {"snapshots": ["07"], "ids": 3},
            {"snapshots": ["06", "07"], "ids": 2},
            {"snapshots": ["06"], "ids": 1},
        ],
    }


def series(asked: list[Rows], judged: list[Rows]) -> duckdb.DuckDBPyConnection:
    """A connection with the queries and judgements of several snapshots."""
    connection = duckdb.connect()
    held: dict[str, list[str]] = {}
    for name, contract, snapshots in (
        ("all_queries", Queries, asked),
        ("all_qrels", Qrels, judged),
    ):
        tables = [
            frame(rows, contract).with_columns(index=pl.lit(index, pl.Int64))
            for index, rows in enumerate(snapshots)
        ]
        connection.register(name, pl.concat(tables).to_arrow())
    for index, rows in enumerate(asked):
        for row in rows:
            held.setdefault(row["query_id"], []).append(f"0{6 + index}")
    rows = [{"query_id": name, "snapshots": names} for name, names in held.items()]
    connection.register("queries_map", frame(rows, QueriesMap).to_arrow())
    return connection


def three_months() -> duckdb.DuckDBPyConnection:
    """`eau` is asked in all months, `prix du pain` in the last two, `loi` in the first."""
    june = [
        query("eau", "nature", impressions=10),
        query("loi", "droit", impressions=30, topics=["zoo", "droit", "nature"]),
        query("mer", "nature", impressions=0),
    ]
    july = [query("eau", "nature", impressions=20), query("prix du pain", "prix", impressions=60)]
    august = [query("eau", "nature", impressions=0), query("prix du pain", "prix", impressions=0)]
    judged = [
        [
            qrel("eau", "a", 2, examinations=1),
            qrel("eau", "b", 0, examinations=9),
            qrel("loi", "a", 1, examinations=5),
            qrel("nuit", "a", 0, examinations=5),
        ],
        [
            qrel("eau", "a", 0, examinations=3),
            qrel("eau", "b", 0, examinations=3),
            qrel("eau", "c", 1, examinations=3),
        ],
        [qrel("eau", "a", 2, examinations=2), qrel("nuit", "a", 1, examinations=2)],
    ]
    return series([june, july, august], judged)


MONTHS = ("06", "07", "08")


def test_listed_and_judged_queries_are_counted() -> None:
    connection = three_months()
    assert queries.count_listed_and_judged_queries(connection) == {
        0: {"listed": 3, "judged": 3, "listed_only": 1, "judged_only": 1},
        1: {"listed": 2, "judged": 1, "listed_only": 1, "judged_only": 0},
        2: {"listed": 2, "judged": 2, "listed_only": 1, "judged_only": 1},
    }
    found = queries.query_statistics(connection, MONTHS)
    listed, judged = found["listed"], found["judged"]
    assert listed["overlap"]["common"] == [[3, 1, 1], [1, 2, 2], [1, 2, 2]]
    assert judged["overlap"]["common"] == [[3, 1, 2], [1, 1, 1], [2, 1, 2]]
    assert [(kind["ids"], kind["core"]) for kind in (listed, judged)] == [(4, 1), (3, 1)]
    assert judged["intersections"] == [
        {"snapshots": ["06"], "ids": 1},
        {"snapshots": ["06", "07", "08"], "ids": 1},
        {"snapshots": ["06", "08"], "ids": 1},
    ]


def test_topics_and_lengths_of_queries() -> None:
    """Of July, all 60 of 80 impressions but 20 are new; August has none."""
    found = queries.query_statistics(three_months(), MONTHS)
    assert found["lengths"] == [
        {"snapshot": "06", "queries_by_words": {"1": 3}, "mean_words": 1.0}
        | {"mean_words_shown": 1.0},
        {"snapshot": "07", "queries_by_words": {"1": 1, "3": 1}, "mean_words": 2.0}
        | {"mean_words_shown": 2.5},
        {"snapshot": "08", "queries_by_words": {"1": 1, "3": 1}, "mean_words": 2.0}
        | {"mean_words_shown": None},
    ]
    topics = found["topics"]
    assert topics["mix"] == [
        {"topic": "nature", "queries": [3, 1, 1], "impressions": [40, 20, 0]},
        {"topic": "prix", "queries": [0, 1, 1], "impressions": [0, 60, 0]},
        {"topic": "droit", "queries": [1, 0, 0], "impressions": [30, 0, 0]},
        {"topic": "zoo", "queries": [1, 0, 0], "impressions": [30, 0, 0]},
    ]
    assert topics["snapshots"] == ["06", "07", "08"]
    first, second = topics["js_bits"]
    # .6 : 0 : .2 : .2 and .5 : .5 : 0 : 0 have the mean .55 : .25 : .1 : .1, with 1.6388 bits
    assert (first, second) == (pytest.approx(0.4533, abs=1e-4), 0.0)
    assert topics["js_bits_impressions"][1] is None
    assert topics["js_bits_impressions"][0] == pytest.approx(0.6876, abs=1e-4)


def test_queries_that_moved_are_listed_by_how_far() -> None:
    """A query without impressions in both snapshots did not move."""
    before = [query(f"up {n:02}", "t", impressions=10) for n in range(12)]
    before += [query("down", "t", impressions=50), query("same", "t", impressions=7)]
    before += [query("gone", "t", impressions=3), query("never", "t", impressions=0)]
    after = [row | {"impressions": 20 + (n < 2)} for n, row in enumerate(before[:12])]
    after += [before[12] | {"impressions": 49}, before[13]]
    after += [query("new", "t", impressions=9), query("silent", "t", impressions=0)]
    connection = compare(
        (frame(before, Queries), frame([], Qrels)), (frame(after, Queries), frame([], Qrels))
    )
    found = queries.query_change_statistics(connection)
    movers = found.pop("movers")
    risen = [row["query_id"] for row in movers["risen"]]
    first = sorted(row["query_id"] for row in before[:2])
    others = sorted(row["query_id"] for row in before[2:12])
    assert risen == [*first, *others[:8]]
    assert movers["risen"][0]["impressions_to"] == 21
    for movement, text, counts in (
        ("fallen", "down", (50, 49)),
        ("gone", "gone", (3, 0)),
        ("new", "new", (0, 9)),
    ):
        (row,) = movers[movement]
        assert (row["text"], row["impressions_from"], row["impressions_to"]) == (text, *counts)
    assert found.pop("frequency_spearman") < 1
    assert found == {
        "new": 2,
        "gone": 2,
        "kept": 14,
        "impressions_from": 180,
        "impressions_to": 307,
        "impressions_kept_from": 177,
        "impressions_kept_to": 298,
    }


def counts(n: int, mean: float, *quantiles: int) -> dict[str, Any]:
    names = ("min", "p10", "median", "p90", "max")
    return {"n": n, "mean": mean} | dict(zip(names, quantiles, strict=True))


def test_judgements_of_each_snapshot() -> None:
    june, july, august = judgements.qrel_statistics_by_snapshot(three_months(), MONTHS)
    assert june == {
        "snapshot": "06",
        "grades": [2, 1, 1],
        "grade_shares": [0.5, 0.25, 0.25],
        "judged_per_query": counts(3, 4 / 3, 1, 1, 1, 2, 2),
        "relevant_per_query": counts(3, 2 / 3, 0, 0, 1, 1, 1),
        "examinations": counts(4, 5.0, 1, 1, 5, 9, 9),
    }
    assert july["relevant_per_query"] == counts(1, 1.0, 1, 1, 1, 1, 1)
    assert (august["snapshot"], august["grades"]) == ("08", [0, 1, 1])
    nothing = judgements.qrel_statistics_by_snapshot(series([[]], [[]]), ["06"])
    unknown = {"n": 0} | dict.fromkeys(("mean", "min", "p10", "median", "p90", "max"))
    assert nothing == [
        {"snapshot": "06", "grades": [0, 0, 0], "grade_shares": [None] * 3}
        | dict.fromkeys(("judged_per_query", "relevant_per_query", "examinations"), unknown)
    ]


def test_agreement_of_every_two_snapshots() -> None:
    rows = judgements.grade_agreement_between_snapshots(three_months(), MONTHS)
    assert [(row["from"], row["to"], row["transitions"]) for row in rows] == [
        ("06", "07", [[1, 0, 0], [0, 0, 0], [1, 0, 0]]),
        ("06", "08", [[0, 1, 0], [0, 0, 0], [0, 0, 1]]),
        ("07", "08", [[0, 0, 1], [0, 0, 0], [0, 0, 0]]),
    ]
    assert [(row["pairs_common"], row["kept"], row["flipped"]) for row in rows] == [
        (2, 1, 1),
        (2, 1, 0),
        (1, 0, 1),
    ]
    assert (rows[0]["kept_share"], rows[0]["flip_rate"]) == (0.5, 0.5)
    assert (rows[0]["kappa"], rows[0]["kappa_quadratic"]) == (0.0, 0.0)


def test_stability_of_labels_by_evidence_and_by_document() -> None:
    """Grades and examinations before and after; the documents d0 to d3 are updated to removed."""
    pairs = [
        ("q1", 0, (2, 9), (2, 1)),
        ("q2", 0, (2, 3), (0, 30)),
        ("q3", 0, (1, 5), (0, 6)),
        ("q4", 1, (0, 6), (2, 10)),
        ("q5", 1, (1, 200), (1, 101)),
        ("q6", 2, (1, 4), None),
        ("q7", 2, (0, 4), None),
        ("q8", 3, (1, 0), (1, 0)),
        ("q9", 0, None, (2, 4)),
    ]
    sides: list[Rows] = [[], []]
    for text, document, *held in pairs:
        for side, value in zip(sides, held, strict=True):
            if value is not None:
                side.append(qrel(text, f"d{document}", value[0], examinations=value[1]))
    connection = compare(
        (frame([], Queries), frame(sides[0], Qrels)), (frame([], Queries), frame(sides[1], Qrels))
    )
    status = [("d0", "updated"), ("d1", "unchanged"), ("d2", "removed"), ("d4", "added")]
    rows = [{"doc_id": qrel("", name, 0)["doc_id"], "status": what} for name, what in status]
    connection.register("document_changes", frame(rows, DocumentChanges).to_arrow())
    found = judgements.qrel_change_statistics(connection)
    assert (found["pairs_from"], found["pairs_to"], found["pairs_common"]) == (8, 7, 6)
    assert found["jaccard"] == 6 / 9
    assert found["transitions"] == [[0, 0, 1], [1, 2, 0], [1, 0, 1]]
    assert (found["kept"], found["flipped"]) == (3, 2)
    evidence = {
        (row["examinations_from"], row["examinations_below"]): (
            row["pairs_common"],
            row["kept"],
            row["flipped"],
        )
        for row in found["by_evidence"]
    }
    assert evidence == {
        (0, 1): (1, 1, 0),
        (1, 3): (1, 1, 0),
        (3, 6): (2, 0, 1),
        (6, 11): (1, 0, 1),
        (11, 21): (0, 0, 0),
        (21, 51): (0, 0, 0),
        (51, 101): (0, 0, 0),
        (101, None): (1, 1, 0),
    }
    assert found["by_evidence"][2] == {
        "examinations_from": 3,
        "examinations_below": 6,
        "pairs_common": 2,
        "kept": 0,
        "kept_share": 0.0,
        "flipped": 1,
        "flip_rate": 0.5,
    }
    assert found["by_document"] == [
        {"document": "absent", "pairs": 1, "same_grade": 1, "flipped": 0},
        {"document": "unchanged", "pairs": 2, "same_grade": 1, "flipped": 1},
        {"document": "updated", "pairs": 3, "same_grade": 1, "flipped": 1},
    ]
    assert found["relevant_before"] == [
        {"document": "absent", "relevant": 1, "judged_again": 1}
        | {"same_grade": 1, "not_relevant_now": 0},
        {"document": "removed", "relevant": 1, "judged_again": 0}
        | {"same_grade": 0, "not_relevant_now": 0},
        {"document": "unchanged", "relevant": 1, "judged_again": 1}
        | {"same_grade": 1, "not_relevant_now": 0},
        {"document": "updated", "relevant": 3, "judged_again": 3}
        | {"same_grade": 1, "not_relevant_now": 2},
    ]
