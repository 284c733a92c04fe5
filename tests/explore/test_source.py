"""The source of the explorer: folding, ids, and its end."""

import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import DataError
from builder.explore import CollectionSource, open_collection_source
from builder.explore.statements import Statement
from builder.text.keys import fold_texts

ENDLESS = "SELECT sum(sqrt(a.range * b.range)) FROM range(10000000) a, range(1000000) b"
LETTERS = st.text(
    st.sampled_from("aàâäçéèêëîïôöùûüÿœæßøłđABCÉÈŒÆ0129 '’-.,;:!?«»\u00a0\n"), max_size=40
)


@given(text=LETTERS)
def test_search_folds_as_identity_does(text: str, source: CollectionSource) -> None:
    found = source.fetch_scalar(Statement("SELECT folded($text) AS folded", {"text": text}))
    assert found == fold_texts([text])[0]


def test_stopping_interrupts_what_runs(explored: Path) -> None:
    source = open_collection_source(explored)
    errors: list[str] = []

    def ask() -> None:
        try:
            source.fetch_rows(Statement(ENDLESS))
        except DataError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    while not source._running:
        thread.join(0.01)
    thread.join(0.2)
    source.stop_statements()
    thread.join(60)
    assert not thread.is_alive()
    assert len(errors) == 1
    with pytest.raises(DataError, match="shutting down"):
        source.fetch_rows(Statement("SELECT 1 AS one"))
    source.close()


def test_a_statement_that_needs_more_memory_is_an_error(explored: Path) -> None:
    source = open_collection_source(explored, memory_limit="16MiB")
    statement = "SELECT max(len(l)) AS m FROM (SELECT list(range) AS l FROM range(30000000))"
    with pytest.raises(DataError, match="memory limit of 16MiB"):
        source.fetch_rows(Statement(statement))
    assert source.fetch_scalar(Statement("SELECT 1 AS one")) == 1
    source.close()


def test_tables_that_are_not_there_are_empty(explored: Path) -> None:
    source = open_collection_source(explored)
    assert source.fetch_rows(Statement("SELECT * FROM release_ids")) == []
    assert source.has_rows("documents")
    names = {
        row["snapshot"] for row in source.fetch_rows(Statement("SELECT snapshot FROM documents"))
    }
    assert names == set(source.snapshots)
    one = source.fetch_rows(Statement("SELECT * FROM queries LIMIT 1"))[0]
    assert one["query_key"] == one["query_id"]
    source.close()


def test_ids_of_a_release_are_aligned(release: Path) -> None:
    source = open_collection_source(release)
    rows = source.fetch_rows(Statement("SELECT snapshot, query_id, query_key, text FROM queries"))
    keys = (
        pl.DataFrame(rows)
        .group_by("text")
        .agg(pl.col("query_key").n_unique(), own=pl.col("query_id").n_unique())
    )
    assert set(keys["query_key"]) == {1}  # one aligned id in both months
    assert set(keys["own"]) == {2}  # under two ids of the release
    source.close()
