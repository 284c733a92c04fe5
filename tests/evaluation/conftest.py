"""Builders of judgements and runs from plain rows."""

from collections.abc import Callable, Iterable

import polars as pl
import pytest

from builder.trec.runs import Run

Qrels = Callable[[Iterable[tuple[str, str, int]]], pl.DataFrame]
Runs = Callable[..., Run]


@pytest.fixture(scope="session")
def make_qrels() -> Qrels:
    """Judgements of (query, document, grade) rows."""

    def make(rows: Iterable[tuple[str, str, int]]) -> pl.DataFrame:
        schema = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int32}
        return pl.DataFrame(list(rows), schema=schema, orient="row")

    return make


@pytest.fixture(scope="session")
def make_run() -> Runs:
    """A run of `{query: [documents in rank order]}`."""

    def make(rankings: dict[str, list[str]], tag: str = "run", depth: int | None = 1000) -> Run:
        rows = [
            (query, document, float(-rank))
            for query, documents in rankings.items()
            for rank, document in enumerate(documents)
        ]
        schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
        return Run.from_scores(pl.DataFrame(rows, schema=schema, orient="row"), tag, depth)

    return make
