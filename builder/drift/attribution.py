"""Where the change of a system's score comes from: documents, queries or judgements.

In: the runs of one system on two snapshots, both sets of judgements, the ids of the documents that
did not change, and a function that scores a run. Out: the change of the mean score, what each of
the three components contributes, and what remains.

A component is *held* when it is made the same on both sides with what both snapshots have:

- documents: only documents that are in both snapshots with the same words remain, in runs and
  judgements alike;
- queries: only queries judged in both snapshots are averaged;
- judgements: of a query and a document that are both in both snapshots, the earlier judgement (or
  its absence) counts on both sides; other judgements stay, since nobody made them before.

Let c(S) be the change of the mean score while the components S are held. c of none is the whole
change, c of all three the residual: what differs on the same queries, documents and judgements.
That is the system itself, and the statistics of the collection that its ranker uses (document
frequencies and lengths, for BM25), which change with the documents that are not held: where only
documents changed, a residual of 5 to 13 % of the change was measured. Holding one component after
another takes c from the first to the second; what each takes away depends on the order, so its
contribution is the mean over all six orders: the Shapley value (Shapley 1953). Contributions and
residual add up to the change. The eight cells are given with their numbers of queries, because a
cell over few queries says little.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from math import fsum

import polars as pl

from builder.errors import DataError

COMPONENTS = ("documents", "queries", "judgements")

HeldComponents = frozenset[str]
Scorer = Callable[[pl.DataFrame, pl.DataFrame], Mapping[str, float]]
"""From a run (`query_id`, `doc_id`, `score`) and judgements (`query_id`, `doc_id`, `grade`) to a
score for each judged query."""


@dataclass(frozen=True)
class RunWithQrels:
    """A run on one snapshot, and its judgements.

    Args:
        run: `query_id`, `doc_id`, `score`; a higher score ranks first.
        qrels: `query_id`, `doc_id`, `grade`.
    """

    run: pl.DataFrame
    qrels: pl.DataFrame


@dataclass(frozen=True)
class AttributionCell:
    """The mean scores while some components are held.

    Args:
        held: The components that are the same on both sides.
        mean_from: Mean score on the earlier snapshot; None where no query is left.
        mean_to: Mean score on the later snapshot.
        n_from: Queries averaged on the earlier snapshot.
        n_to: Queries averaged on the later snapshot.
    """

    held: HeldComponents
    mean_from: float | None
    mean_to: float | None
    n_from: int
    n_to: int

    @property
    def change(self) -> float | None:
        """Later minus earlier mean: negative where the system got worse."""
        if self.mean_from is None or self.mean_to is None:
            return None
        return self.mean_to - self.mean_from


@dataclass(frozen=True)
class Attribution:
    """The change of a mean score and its parts.

    Args:
        change: Later minus earlier mean score.
        contributions: Part of each component; None where a cell has no query.
        statistics_and_system: Change while everything is held: by collection statistics of the
            ranker, and by the system itself; None where no query is left.
        cells: All eight cells, from nothing held to everything held.
    """

    change: float
    contributions: Mapping[str, float | None]
    statistics_and_system: float | None
    cells: tuple[AttributionCell, ...]


def attribute_change(
    before: RunWithQrels, after: RunWithQrels, unchanged_ids: pl.Series, score: Scorer
) -> Attribution:
    """Attribute the change of a mean score to documents, queries and judgements.

    Args:
        before: The system on the earlier snapshot.
        after: The same system on the later snapshot.
        unchanged: Ids of the documents in both snapshots with the same words (status `unchanged`
            of `document_changes`).
        score: The measure, for each judged query.

    Raises:
        DataError: a snapshot has no judgement.
    """
    for side, evaluated in (("earlier", before), ("later", after)):
        if evaluated.qrels.is_empty():
            raise DataError(
                f"expected judgements of the {side} snapshot, found none; a change of score "
                "needs both"
            )
    cells = {
        held: _score_cell(before, after, unchanged_ids, held, score)
        for held in _component_subsets()
    }
    changes = {held: cell.change for held, cell in cells.items()}
    whole = changes[frozenset()]
    if whole is None:
        raise DataError("expected a score for every judged query, found none; check the measure")
    return Attribution(
        change=whole,
        contributions={name: shapley_value(changes, name) for name in COMPONENTS},
        statistics_and_system=changes[frozenset(COMPONENTS)],
        cells=tuple(cells.values()),
    )


def shapley_value(changes: Mapping[HeldComponents, float | None], component: str) -> float | None:
    """What holding a component takes away from the change, over all orders of holding.

    Args:
        changes: Change while each subset of the components is held.
        component: One of them.

    Returns:
        The mean; None where the change of a subset is unknown.
    """
    if any(change is None for change in changes.values()):
        return None
    orders = list(permutations(COMPONENTS))
    taken = []
    for order in orders:
        held = frozenset(order[: order.index(component)])
        taken.append((changes[held] or 0.0) - (changes[held | {component}] or 0.0))
    return fsum(taken) / len(orders)


def _component_subsets() -> Iterable[HeldComponents]:
    for size in range(len(COMPONENTS) + 1):
        yield from map(frozenset, combinations(COMPONENTS, size))


def _score_cell(
    before: RunWithQrels,
    after: RunWithQrels,
    unchanged: pl.Series,
    held: HeldComponents,
    score: Scorer,
) -> AttributionCell:
    sides = [before, after]
    if "judgements" in held:
        sides[1] = RunWithQrels(after.run, freeze_qrels(before.qrels, after.qrels, unchanged))
    if "documents" in held:
        sides = [_keep_documents(side, unchanged) for side in sides]
    if "queries" in held:
        first, second = (side.qrels for side in sides)
        common = first.join(second, on="query_id", how="semi")["query_id"].unique()
        sides = [_keep_queries(side, common) for side in sides]
    scores = [list(score(side.run, side.qrels).values()) for side in sides]
    means = [fsum(values) / len(values) if values else None for values in scores]
    return AttributionCell(held, means[0], means[1], len(scores[0]), len(scores[1]))


def freeze_qrels(
    before: pl.DataFrame, after: pl.DataFrame, unchanged_ids: pl.Series
) -> pl.DataFrame:
    """Later judgements, but the earlier ones on queries and documents that both snapshots have.

    Args:
        before: Earlier judgements.
        after: Later judgements.
        unchanged: Ids of unchanged documents.
    """
    columns = ("query_id", "doc_id", "grade")
    of_both = pl.col("doc_id").is_in(unchanged_ids.implode())
    old = before.select(columns).join(after, on="query_id", how="semi").filter(of_both)
    is_old_query = pl.col("query_id").is_in(before["query_id"].unique().implode())
    new = after.select(columns).filter(~(of_both & is_old_query))
    return pl.concat([old, new])


def _keep_documents(side: RunWithQrels, doc_ids: pl.Series) -> RunWithQrels:
    kept = pl.col("doc_id").is_in(doc_ids.implode())
    return RunWithQrels(side.run.filter(kept), side.qrels.filter(kept))


def _keep_queries(side: RunWithQrels, query_ids: pl.Series) -> RunWithQrels:
    kept = pl.col("query_id").is_in(query_ids.implode())
    return RunWithQrels(side.run.filter(kept), side.qrels.filter(kept))
