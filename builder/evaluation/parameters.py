"""Parameters of an evaluation."""

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
        pivot: System that the others are compared with; None to omit these comparisons.
        depth: Documents evaluated per query, the same for every run; None for all.
        pairs: Snapshots to compare: the first one with each later one, each with its successor, or
            each with every later one.
        resamples: Number of bootstrap resamples; 0 for no intervals.
        confidence: Coverage of the intervals.
        seed: Seed of the bootstrap.
        rbo_p: Persistence of rank-biased overlap.
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
        require(0 <= self.resamples <= 10**6, "resamples from 0 to 1000000", self.resamples)
        require(0 < self.confidence < 1, "a confidence between 0 and 1", self.confidence)
        require(0 <= self.seed < 2**64, "a seed from 0 to 2^64 - 1", self.seed)
        require(0 < self.rbo_p < 1, "an RBO persistence between 0 and 1", self.rbo_p)

    def snapshot_pairs(self, snapshots: int) -> list[tuple[int, int]]:
        """Return the index pairs of the snapshots to compare, the earlier snapshot first."""
        every = [(i, j) for i in range(snapshots) for j in range(i + 1, snapshots)]
        if self.pairs == "first":
            return [pair for pair in every if pair[0] == 0]
        if self.pairs == "consecutive":
            return [pair for pair in every if pair[1] == pair[0] + 1]
        return every
