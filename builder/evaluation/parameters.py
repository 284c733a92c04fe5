"""Parameters of an evaluation of runs."""

from dataclasses import dataclass
from typing import Literal, get_args

from builder.evaluation.checks import require
from builder.evaluation.measures.registry import DEFAULT_MEASURES, parse_measures
from builder.statistics.rankings import DEFAULT_RBO_P
from builder.trec.runs import DEFAULT_DEPTH, check_depth

Pairs = Literal["first", "consecutive", "all"]


@dataclass(frozen=True)
class EvaluationParameters:
    """Parameters of an evaluation of runs over time.

    Args:
        measures: Names of effectiveness measures; stored in canonical form.
        pivot: System with which all others are compared; None to compare no systems.
        depth: Number of documents evaluated per query, the same for every run; None for all.
        pairs: Pairs of snapshots to compare. `first`: the first snapshot with each later one;
            `consecutive`: each snapshot with the next one; `all`: each snapshot with every
            later one.
        resamples: Number of bootstrap resamples; 0 for no intervals.
        confidence: Coverage of the bootstrap intervals, between 0 and 1.
        seed: Seed of the bootstrap.
        rbo_p: Persistence p of rank-biased overlap, between 0 and 1.
        splits: Evaluate only queries of these splits of a collection (such as `heldout`, `test`);
            None for all judged queries.

    Raises:
        UsageError: A value is out of range.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    pivot: str | None = None
    depth: int | None = DEFAULT_DEPTH
    pairs: Pairs = "first"
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    rbo_p: float = DEFAULT_RBO_P
    splits: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        names = tuple(str(measure) for measure in parse_measures(self.measures))
        object.__setattr__(self, "measures", names)
        check_depth(self.depth)
        known = get_args(Pairs)
        require(self.pairs in known, f"pairs to be one of {', '.join(known)}", self.pairs)
        require(
            0 <= self.resamples <= 10**6, "a number of resamples from 0 to 1000000", self.resamples
        )
        require(0 < self.confidence < 1, "a confidence level between 0 and 1", self.confidence)
        require(0 <= self.seed < 2**64, "a seed from 0 to 2^64 - 1", self.seed)
        require(0 < self.rbo_p < 1, "an RBO persistence between 0 and 1", self.rbo_p)

    def snapshot_pairs(self, n_snapshots: int) -> list[tuple[int, int]]:
        """Return the pairs of snapshots to compare, as pairs of indexes (earlier, later)."""
        every = [(i, j) for i in range(n_snapshots) for j in range(i + 1, n_snapshots)]
        if self.pairs == "first":
            return [pair for pair in every if pair[0] == 0]
        if self.pairs == "consecutive":
            return [pair for pair in every if pair[1] == pair[0] + 1]
        return every
