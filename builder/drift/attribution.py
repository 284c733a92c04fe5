"""Attributes the change in a system's mean score to documents, queries and judgements.

Takes the runs of one system on two snapshots, the qrels of both snapshots, the ids of the documents
that did not change, and a function that scores a run. Returns the change in the mean score, the
contribution of each component (documents, queries, judgements), and the residual: the part of the
change that no component explains.

A component is *held* by making it equal for both snapshots:

- documents: runs and qrels are reduced to documents that have the same words in both snapshots;
- queries: only queries judged in both snapshots are averaged;
- judgements: for a query and an unchanged document that are in both snapshots, the earlier
  judgement (or its absence) is used for both snapshots; other judgements stay, because they have
  no earlier counterpart.

Let c(S) be the change in the mean score while the components in S are held. If S is empty, c(S) is
the total change. If S has all components, c(S) is the residual: the change on equal queries,
documents and qrels. The residual comes from the system itself and from the collection statistics
that its ranker uses (document frequencies and lengths for BM25), which also depend on the documents
that are left out: in simulated worlds where only documents changed, the residual was 5 to 13 % of
the change. A run on the later snapshot that was ranked with the statistics of the earlier one
splits the residual: the change from the earlier run to that run comes from the system, the rest
from the statistics.

Holding the components one after another reduces the total change to the residual. How much each
step removes depends on the order, so the contribution of a component is its mean over all six
orders: the Shapley value (Shapley 1953). Contributions and residual add up to the change. The
mean scores are returned for all eight subsets of held components, with their numbers of queries,
because a mean over few queries is unreliable.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from math import fsum

import polars as pl

from builder.errors import DataError

COMPONENTS = ("documents", "queries", "judgements")
RESIDUAL_PARTS = ("statistics_part", "system_part")

HeldComponents = frozenset[str]
Scorer = Callable[[pl.DataFrame, pl.DataFrame], Mapping[str, float]]
"""Function from a run (`query_id`, `doc_id`, `score`) and qrels (`query_id`, `doc_id`, `grade`) to
the score of each judged query."""


@dataclass(frozen=True)
class RunWithQrels:
    """Run of a system on one snapshot, with the qrels of that snapshot.

    Args:
        run: DataFrame with the columns `query_id`, `doc_id` and `score`; higher scores rank first.
        qrels: DataFrame with the columns `query_id`, `doc_id` and `grade`.
    """

    run: pl.DataFrame
    qrels: pl.DataFrame


@dataclass(frozen=True)
class AttributionCell:
    """Mean scores of a system on two snapshots while some components are held fixed.

    Args:
        held: Components (documents, queries or judgements) that are made equal for both snapshots.
        mean_from: Mean score on the earlier snapshot; None if no query remains.
        mean_to: Mean score on the later snapshot; None if no query remains.
        n_from: Number of queries averaged on the earlier snapshot.
        n_to: Number of queries averaged on the later snapshot.
    """

    held: HeldComponents
    mean_from: float | None
    mean_to: float | None
    n_from: int
    n_to: int

    @property
    def score_change(self) -> float | None:
        """Later minus earlier mean score; None if either mean is missing."""
        if self.mean_from is None or self.mean_to is None:
            return None
        return self.mean_to - self.mean_from


@dataclass(frozen=True)
class Attribution:
    """Change in a mean score, split into contributions and a residual.

    Args:
        change: Later minus earlier mean score.
        contributions: Contribution of each component; None if no query remains while some
            components are held.
        statistics_and_system: The residual, i.e. the change in the mean score when all components
            are made equal for both snapshots. It comes from the collection statistics of the ranker
            and from the system itself. None if no query remains.
        cells: One cell for each of the eight subsets of held components, smallest subset first.
        residual_parts: `statistics_part` and `system_part`, which add up to the residual; None if
            no query remains. Empty if no run was ranked with earlier statistics.
    """

    change: float
    contributions: Mapping[str, float | None]
    statistics_and_system: float | None
    cells: tuple[AttributionCell, ...]
    residual_parts: Mapping[str, float | None] = field(default_factory=dict)


def attribute_score_change(
    before: RunWithQrels,
    after: RunWithQrels,
    unchanged_ids: pl.Series,
    score: Scorer,
    run_with_earlier_statistics: pl.DataFrame | None = None,
) -> Attribution:
    """Split the change in a mean score into contributions of documents, queries and judgements.

    Args:
        before: The system's run on the earlier snapshot, with its qrels.
        after: The same system's run on the later snapshot, with its qrels.
        unchanged_ids: Ids of the documents with the same words in both snapshots (status
            `unchanged` of `document_changes`).
        score: Function from a run and qrels to the score of each judged query.
        run_with_earlier_statistics: Run of the same system on the later snapshot, ranked with the
            collection statistics of the earlier snapshot; used to split the residual.

    Raises:
        DataError: a snapshot has no judgement, or the measure scores no query.
    """
    for side, run_with_qrels in (("earlier", before), ("later", after)):
        if run_with_qrels.qrels.is_empty():
            raise DataError(
                f"expected judgements of the {side} snapshot, found none; attribution needs the "
                "judgements of both snapshots"
            )
    cells = {
        held: _compute_attribution_cell(before, after, unchanged_ids, held, score)
        for held in _component_subsets()
    }
    changes = {held: cell.score_change for held, cell in cells.items()}
    whole = changes[frozenset()]
    if whole is None:
        raise DataError("expected a score for every judged query, found none; check the measure")
    residual = changes[frozenset(COMPONENTS)]
    return Attribution(
        change=whole,
        contributions={name: shapley_value(changes, name) for name in COMPONENTS},
        statistics_and_system=residual,
        cells=tuple(cells.values()),
        residual_parts={}
        if run_with_earlier_statistics is None
        else _split_residual(
            residual, before, replace(after, run=run_with_earlier_statistics), unchanged_ids, score
        ),
    )


def _split_residual(
    residual: float | None,
    before: RunWithQrels,
    after: RunWithQrels,
    unchanged_ids: pl.Series,
    score: Scorer,
) -> dict[str, float | None]:
    """Split the residual of a score change into effects of collection statistics and of the system.

    `after.run` must be ranked with the collection statistics of the earlier snapshot, so that the
    change from the score of `before.run` to that of `after.run` is the effect of the system; the
    rest of the residual is the effect of the statistics.
    """
    system = _compute_attribution_cell(
        before, after, unchanged_ids, frozenset(COMPONENTS), score
    ).score_change
    if residual is None or system is None:
        return dict.fromkeys(RESIDUAL_PARTS)
    return dict(zip(RESIDUAL_PARTS, (residual - system, system), strict=True))


def shapley_value(changes: Mapping[HeldComponents, float | None], component: str) -> float | None:
    """Return a component's Shapley value, i.e. its mean effect over all orders of the components.

    Args:
        changes: For every subset of `COMPONENTS`, the change in the mean score while the components
            in the subset are held (made equal for both snapshots).
        component: One of `COMPONENTS`.

    Returns:
        The Shapley value; None if any of the changes is None.
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


def _compute_attribution_cell(
    before: RunWithQrels,
    after: RunWithQrels,
    unchanged_ids: pl.Series,
    held_components: HeldComponents,
    score: Scorer,
) -> AttributionCell:
    sides = [before, after]
    if "judgements" in held_components:
        sides[1] = RunWithQrels(
            after.run, reuse_earlier_judgements(before.qrels, after.qrels, unchanged_ids)
        )
    if "documents" in held_components:
        sides = [_keep_documents(side, unchanged_ids) for side in sides]
    if "queries" in held_components:
        first, second = (side.qrels for side in sides)
        common = first.join(second, on="query_id", how="semi")["query_id"].unique()
        sides = [_keep_queries(side, common) for side in sides]
    scores = [list(score(side.run, side.qrels).values()) for side in sides]
    means = [fsum(values) / len(values) if values else None for values in scores]
    return AttributionCell(held_components, means[0], means[1], len(scores[0]), len(scores[1]))


def reuse_earlier_judgements(
    earlier_qrels: pl.DataFrame, later_qrels: pl.DataFrame, unchanged_ids: pl.Series
) -> pl.DataFrame:
    """Return the later qrels, with the earlier judgements of documents that did not change.

    Only queries that both qrels contain are affected. An unchanged document without an earlier
    judgement has no judgement in the result either.

    Args:
        earlier_qrels: Qrels of the earlier snapshot.
        later_qrels: Qrels of the later snapshot.
        unchanged_ids: Ids of unchanged documents.
    """
    columns = ("query_id", "doc_id", "grade")
    of_both = pl.col("doc_id").is_in(unchanged_ids.implode())
    old = earlier_qrels.select(columns).join(later_qrels, on="query_id", how="semi").filter(of_both)
    is_old_query = pl.col("query_id").is_in(earlier_qrels["query_id"].unique().implode())
    new = later_qrels.select(columns).filter(~(of_both & is_old_query))
    return pl.concat([old, new])


def _keep_documents(run_with_qrels: RunWithQrels, doc_ids: pl.Series) -> RunWithQrels:
    kept = pl.col("doc_id").is_in(doc_ids.implode())
    return RunWithQrels(run_with_qrels.run.filter(kept), run_with_qrels.qrels.filter(kept))


def _keep_queries(run_with_qrels: RunWithQrels, query_ids: pl.Series) -> RunWithQrels:
    kept = pl.col("query_id").is_in(query_ids.implode())
    return RunWithQrels(run_with_qrels.run.filter(kept), run_with_qrels.qrels.filter(kept))
