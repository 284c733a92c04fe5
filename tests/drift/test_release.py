"""Two real months of a published release, and its broken first edition."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from builder.drift import judgements, queries
from builder.drift.checks import attachment, lists
from builder.text.keys import doc_id, key64, query_id
from schemas import DocumentChanges, Qrels, Queries
from tests.drift.worlds import compare, frame

Edition = tuple[dict[str, str], dict[tuple[str, str], int]]
"""Texts of listed queries by id, and grades by query and document."""


def read(shared: Path, name: str) -> Edition:
    """Query texts and grades; of repeated lines the last counts."""
    folder = shared / "longeval-web"
    month, _, edition = name.partition(" ")
    with gzip.open(folder / f"{month}_queries{edition}.txt.gz", "rt", newline="\n") as file:
        texts = dict(line.rstrip("\r\n").split("\t", 1) for line in file)
    with gzip.open(folder / f"{month}_qrels{edition}.txt.gz", "rt") as file:
        grades = {(q, d): int(g) for q, _, d, g in map(str.split, file)}
    return texts, grades


def tables(edition: Edition) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Queries and qrels; the release has one id for a text in both months."""
    texts, grades = edition
    ids = {q: query_id(key64(q)) for q in {*texts, *(q for q, _ in grades)}}
    listed = {
        ids[q]: {"query_id": ids[q], "text": texts[q], "topics": ["unknown"], "split": "train"}
        | dict.fromkeys(("impressions", "users", "judged"), 1)
        | dict.fromkeys(("clicks", "relevant"), 0)
        for q in texts
    }
    judged = {
        (ids[q], d): {"query_id": ids[q], "doc_id": doc_id(key64(d)), "grade": g, "source": "click"}
        | dict.fromkeys(("impressions", "examinations", "clicks", "last_clicks"), 0)
        for (q, d), g in grades.items()
    }
    return frame(list(listed.values()), Queries), frame(list(judged.values()), Qrels)


@pytest.fixture(scope="module")
def editions(shared: Path) -> dict[str, Edition]:
    return {name: read(shared, name) for name in ("2022-06", "2022-07", "2022-06 _broken_release")}


def connected(
    editions: dict[str, Edition], first: str, second: str
) -> tuple[duckdb.DuckDBPyConnection, dict[str, Any]]:
    connection = compare(tables(editions[first]), tables(editions[second]))
    connection.register("document_changes", frame([], DocumentChanges).to_arrow())
    return connection, judgements.qrel_change_statistics(connection)


def test_two_real_months(editions: dict[str, Edition]) -> None:
    connection, found = connected(editions, "2022-06", "2022-07")
    overlaps = lists.check_query_overlaps(connection)
    (texts, before), (later_texts, after) = editions["2022-06"], editions["2022-07"]
    listed = [texts.keys(), later_texts.keys()]
    judged = [{q for q, _ in grades} for grades in (before, after)]
    assert overlaps.numbers["listed_jaccard"] == len(listed[0] & listed[1]) / len(
        listed[0] | listed[1]
    )
    assert overlaps.numbers["judged_jaccard"] == len(judged[0] & judged[1]) / len(
        judged[0] | judged[1]
    )
    common = before.keys() & after.keys()
    counts = Counter((before[pair], after[pair]) for pair in common)
    assert found["transitions"] == [[counts[a, b] for b in range(3)] for a in range(3)]
    assert found["flip_rate"] == (counts[0, 2] + counts[2, 0]) / len(common)
    assert 0.645 <= found["kept_share"] <= 0.678
    assert 0.066 <= found["flip_rate"] <= 0.088


def test_half_of_the_listed_queries_have_no_judgement(editions: dict[str, Edition]) -> None:
    connection, _ = connected(editions, "2022-06", "2022-07")
    for side in ("from", "to"):
        connection.execute(f"CREATE OR REPLACE VIEW queries AS FROM queries_{side}")
        connection.execute(f"CREATE OR REPLACE VIEW qrels AS FROM qrels_{side}")
        assert lists.check_listed_queries_are_judged(connection).is_construction is True
        assert lists.check_judged_queries_are_listed(connection).is_construction is False
    overlaps = lists.check_query_overlaps(connection)
    assert overlaps.is_construction is True
    assert "the set of judged queries was built differently" in overlaps.evidence


def test_the_broken_edition_is_found(editions: dict[str, Edition]) -> None:
    connection, _ = connected(editions, "2022-06 _broken_release", "2022-07")
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    missing = lists.check_judged_queries_are_listed(connection)
    assert missing.is_construction is True
    assert "2,667 of" in missing.evidence
    gathered = attachment.check_judgements_per_query(connection)
    assert gathered.is_construction is True
    assert gathered.numbers["most_from"] > 10 * gathered.numbers["most_to"]
    assert lists.check_query_overlaps(connection).is_construction is True
    assert attachment.check_recurring_pairs(connection).is_construction is None


def test_the_repaired_edition_is_not(editions: dict[str, Edition]) -> None:
    connection, found = connected(editions, "2022-06", "2022-07")
    assert attachment.check_judgements_per_query(connection).is_construction is False
    assert attachment.check_recurring_pairs(connection).is_construction is False
    assert found["kappa"] > 0.4
    connection.register("all_queries", tables(editions["2022-06"])[0].to_arrow())
    assert queries.query_change_statistics(connection)["kept"] > 20000
