"""Attribution: exact in worlds where one component changes, additive in all."""

import math
from collections.abc import Mapping
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from builder.drift.attribution import (
    COMPONENTS,
    AttributionCell,
    RunWithQrels,
    attribute_score_change,
    reuse_earlier_judgements,
    shapley_value,
)
from builder.errors import DataError


def ndcg(run: pl.DataFrame, qrels: pl.DataFrame) -> Mapping[str, float]:
    """nDCG at 10 with linear gains, for every judged query."""
    scores = {}
    ranked: dict[str, list[str]] = {}
    for query, document in run.sort("score", descending=True).select(QUERY_DOCUMENT).iter_rows():
        ranked.setdefault(query, []).append(document)
    for (query,), rows in qrels.group_by("query_id", maintain_order=True):
        grades = dict(rows.select("doc_id", "grade").iter_rows())
        gains = [grades.get(document, 0) for document in ranked.get(str(query), [])[:10]]
        ideal = sorted(grades.values(), reverse=True)[:10]
        scores[str(query)] = _dcg(gains) / _dcg(ideal) if any(ideal) else 0.0
    return scores


QUERY_DOCUMENT = ["query_id", "doc_id"]


def _dcg(gains: list[int]) -> float:
    return math.fsum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))


class World:
    """Queries over documents: a run that ranks by noisy relevance, and judgements."""

    def __init__(self, seed: int, queries: int = 60, pages: int = 12) -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        rows = [(f"q{q}", f"d{q}-{p}") for q in range(queries) for p in range(pages)]
        grade = rng.choice(3, len(rows), p=[0.6, 0.25, 0.15])
        frame = pl.DataFrame(rows, schema=QUERY_DOCUMENT, orient="row")
        self.qrels = frame.with_columns(pl.Series("grade", grade))
        self.run = frame.with_columns(pl.Series("score", grade + rng.normal(0, 1, len(rows))))

    @property
    def evaluated(self) -> RunWithQrels:
        return RunWithQrels(self.run, self.qrels)

    @property
    def ids(self) -> pl.Series:
        return self.qrels["doc_id"].unique().sort()

    def jitter(self, share: float) -> "RunWithQrels":
        """The same world a month later: a few judgements differ by chance."""
        noisy = self.rng.random(self.qrels.height) < share
        grade = pl.when(pl.Series(noisy)).then((pl.col("grade") + 1) % 3).otherwise(pl.col("grade"))
        return RunWithQrels(self.run, self.qrels.with_columns(grade))


def share_of(attributed: Mapping[str, float | None], component: str) -> float:
    parts = {name: abs(value or 0.0) for name, value in attributed.items()}
    return parts[component] / sum(parts.values())


@pytest.mark.parametrize("seed", range(5))
def test_only_documents_change(seed: int) -> None:
    world = World(seed)
    later = world.jitter(0.005)
    gone = world.qrels.filter(pl.col("grade") == 2).sample(fraction=0.7, seed=seed)["doc_id"]
    new = gone.to_frame().with_columns(
        pl.col("doc_id").str.replace(r"d(\d+)-.*", "q$1").alias("query_id"),
        (pl.col("doc_id") + "-new").alias("doc_id"),
    )
    stays = ~pl.col("doc_id").is_in(gone.implode())
    after = RunWithQrels(
        pl.concat(
            [later.run.filter(stays), new.select(*QUERY_DOCUMENT, pl.lit(9.0).alias("score"))]
        ),
        pl.concat(
            [
                later.qrels.filter(stays),
                new.select(*QUERY_DOCUMENT, pl.lit(0, pl.Int64).alias("grade")),
            ]
        ),
    )
    unchanged = world.ids.filter(~world.ids.is_in(gone.implode()))
    found = attribute_score_change(world.evaluated, after, unchanged, ndcg)
    assert found.change < -0.05
    assert share_of(found.contributions, "documents") > 0.9
    assert abs(found.statistics_and_system or 0.0) < 0.1 * abs(found.change)


@pytest.mark.parametrize("seed", range(5))
def test_only_queries_change(seed: int) -> None:
    world, other = World(seed), World(seed + 100)
    later = world.jitter(0.005)
    harder = other.run.with_columns(
        -pl.col("score"), (pl.lit("new") + pl.col("query_id")).alias("query_id")
    )
    asked = pl.col("query_id").is_in([f"q{n}" for n in range(30)])
    after = RunWithQrels(
        pl.concat([later.run.filter(asked), harder.select(world.run.columns)]),
        pl.concat(
            [
                later.qrels.filter(asked),
                other.qrels.with_columns((pl.lit("new") + pl.col("query_id")).alias("query_id")),
            ]
        ),
    )
    found = attribute_score_change(world.evaluated, after, world.ids, ndcg)
    assert found.change < -0.05
    assert share_of(found.contributions, "queries") > 0.9
    cells = {cell.held: (cell.n_from, cell.n_to) for cell in found.cells}
    assert cells[frozenset()] == (60, 90)
    assert cells[frozenset({"queries"})] == (30, 30)


@pytest.mark.parametrize("seed", range(5))
def test_only_judgements_change(seed: int) -> None:
    world = World(seed)
    after = world.jitter(0.4)
    found = attribute_score_change(world.evaluated, after, world.ids, ndcg)
    assert found.change < -0.03
    assert share_of(found.contributions, "judgements") > 0.9
    assert found.statistics_and_system == pytest.approx(0.0, abs=1e-12)


def test_a_new_system_is_the_residual() -> None:
    world = World(3)
    after = RunWithQrels(world.run.with_columns(-pl.col("score")), world.qrels)
    found = attribute_score_change(world.evaluated, after, world.ids, ndcg)
    assert found.statistics_and_system == pytest.approx(found.change)
    assert found.contributions == dict.fromkeys(COMPONENTS, 0.0)


def test_parts_and_residual_add_up() -> None:
    world, other = World(1), World(2)
    unchanged = world.ids.sort().head(400)
    after = RunWithQrels(other.run.filter(pl.col("query_id") != "q1"), other.jitter(0.2).qrels)
    found = attribute_score_change(world.evaluated, after, unchanged, ndcg)
    parts = [value or 0.0 for value in found.contributions.values()]
    assert sum(parts) + (found.statistics_and_system or 0.0) == pytest.approx(found.change)
    assert len(found.cells) == 8
    assert found.cells[0].score_change == found.change


def test_shapley_of_a_known_game() -> None:
    worth = {"documents": 3.0, "queries": 1.0, "judgements": 0.5}
    changes: dict[frozenset[str], float | None] = {}
    for order in permutations(COMPONENTS):
        for size in range(4):
            held = frozenset(order[:size])
            both = 0.6 if {"documents", "queries"} <= held else 0.0
            changes[held] = 5.0 - sum(worth[name] for name in held) - both
    assert shapley_value(changes, "documents") == pytest.approx(3.3)
    assert shapley_value(changes, "queries") == pytest.approx(1.3)
    assert shapley_value(changes, "judgements") == pytest.approx(0.5)
    changes[frozenset()] = None
    assert shapley_value(changes, "queries") is None


def test_frozen_judgements() -> None:
    columns = [*QUERY_DOCUMENT, "grade"]
    before = pl.DataFrame(
        [("q1", "a", 2), ("q1", "b", 1), ("q1", "x", 1), ("q2", "a", 1)],
        schema=columns,
        orient="row",
    )
    after = pl.DataFrame(
        [("q1", "a", 0), ("q1", "c", 1), ("q1", "x", 2), ("q3", "a", 2)],
        schema=columns,
        orient="row",
    )
    frozen = reuse_earlier_judgements(before, after, pl.Series(["a", "b", "c"]))
    assert set(frozen.iter_rows()) == {
        ("q1", "a", 2),  # in both: the earlier grade
        ("q1", "b", 1),  # judged before only: still counts
        ("q1", "x", 2),  # the document changed: its own grade
        ("q3", "a", 2),  # a new query: its own grade
    }  # (q1, c) was not judged before; q2 is not asked any more


def test_no_common_query_gives_no_parts() -> None:
    world = World(1)
    renamed = RunWithQrels(
        world.run.with_columns((pl.lit("n") + pl.col("query_id")).alias("query_id")),
        world.qrels.with_columns((pl.lit("n") + pl.col("query_id")).alias("query_id")),
    )
    found = attribute_score_change(world.evaluated, renamed, world.ids, ndcg)
    assert found.statistics_and_system is None
    assert found.contributions == dict.fromkeys(COMPONENTS)
    assert found.change == pytest.approx(0.0)


def test_judgements_are_needed() -> None:
    world = World(1)
    nothing = RunWithQrels(world.run, world.qrels.clear())
    for pair, side in (
        ((world.evaluated, nothing), "later"),
        ((nothing, world.evaluated), "earlier"),
        ((nothing, nothing), "earlier"),
    ):
        with pytest.raises(DataError) as caught:
            attribute_score_change(*pair, world.ids, ndcg)
        assert str(caught.value) == (
            f"expected judgements of the {side} snapshot, found none; attribution needs the "
            "judgements of both snapshots"
        )
    with pytest.raises(DataError) as caught:
        attribute_score_change(world.evaluated, world.evaluated, world.ids, lambda _, __: {})
    assert str(caught.value) == (
        "expected a score for every judged query, found none; check the measure"
    )


def sum_of_grades(run: pl.DataFrame, qrels: pl.DataFrame) -> Mapping[str, float]:
    """The sum of the grades of the documents that were found, for every judged query."""
    found = qrels.join(run, on=QUERY_DOCUMENT, how="left")
    gained = pl.when(pl.col("score").is_not_null()).then("grade").otherwise(0).sum()
    return dict(found.group_by("query_id").agg(gained.cast(pl.Float64)).iter_rows())


def test_an_attribution_by_hand() -> None:
    """Of four documents, `b` is gone and `d` is new; `q1` is asked in both snapshots."""
    schema = [*QUERY_DOCUMENT, "grade"]
    sides = []
    for rows in (
        [("q1", "a", 1), ("q1", "b", 0), ("q2", "c", 1)],
        [("q1", "a", 0), ("q1", "d", 1), ("q3", "e", 0)],
    ):
        qrels = pl.DataFrame(rows, schema=schema, orient="row")
        run = qrels.select(*QUERY_DOCUMENT, score=pl.lit(1.0))
        sides.append(RunWithQrels(run, qrels))
    unchanged = pl.Series(["a", "c", "e"])
    found = attribute_score_change(sides[0], sides[1], unchanged, sum_of_grades)
    assert (found.change, found.statistics_and_system) == (-0.5, 0.0)
    assert found.contributions == {"documents": 0.75, "queries": -0.5, "judgements": -0.75}
    assert found.cells == tuple(
        AttributionCell(frozenset(held.split()), *values)
        for held, *values in (
            ("", 1.0, 0.5, 2, 2),
            ("documents", 1.0, 0.0, 2, 2),
            ("queries", 1.0, 1.0, 1, 1),
            ("judgements", 1.0, 1.0, 2, 2),
            ("documents queries", 1.0, 0.0, 1, 1),
            ("documents judgements", 1.0, 0.5, 2, 2),
            ("queries judgements", 1.0, 2.0, 1, 1),
            ("documents queries judgements", 1.0, 1.0, 1, 1),
        )
    )


def test_a_change_is_unknown_if_a_mean_is() -> None:
    held: frozenset[str] = frozenset()
    assert AttributionCell(held, 0.25, 0.75, 2, 2).score_change == 0.5
    assert AttributionCell(held, None, 0.75, 0, 2).score_change is None
    assert AttributionCell(held, 0.25, None, 2, 0).score_change is None


def test_a_run_with_earlier_statistics_splits_the_residual() -> None:
    world = World(3)
    order = world.run.sort("query_id", "doc_id")
    noise = pl.Series("score", np.random.default_rng(1).normal(0, 1, order.height))
    later = RunWithQrels(order.with_columns(pl.col("score") + noise), world.qrels)
    same = attribute_score_change(world.evaluated, later, world.ids, ndcg, world.run)
    assert same.statistics_and_system
    assert same.residual_parts == {
        "statistics_part": same.statistics_and_system,
        "system_part": 0.0,
    }
    other = attribute_score_change(world.evaluated, later, world.ids, ndcg, later.run)
    assert other.residual_parts == {
        "statistics_part": 0.0,
        "system_part": same.statistics_and_system,
    }
    assert attribute_score_change(world.evaluated, later, world.ids, ndcg).residual_parts == {}


def test_a_residual_of_no_query_is_not_split() -> None:
    world = World(3)
    found = attribute_score_change(
        world.evaluated, world.evaluated, world.ids.head(0), ndcg, world.run
    )
    assert found.residual_parts == {"statistics_part": None, "system_part": None}
