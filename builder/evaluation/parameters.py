"""The parameters of an evaluation, all recorded in what it returns."""

from dataclasses import dataclass
from typing import Literal, get_args

from builder.errors import UsageError
from builder.evaluation.measures.registry import DEFAULT_MEASURES, parse_measures
from builder.statistics.rankings import DEFAULT_RBO_P
from builder.trec.runs import DEFAULT_DEPTH, check_depth

Pairs = Literal["first", "consecutive", "all"]


@dataclass(frozen=True)
class EvaluationParameters:
    """How runs are evaluated over time.

    Args:
        measures: Names of effectiveness measures; stored in their canonical form.
        pivot: The system that the others are related to; None leaves such quantities out.
        depth: Documents looked at per query, the same for every run; None looks at all.
        pairs: Snapshots to compare: the first with each later one, each with its successor, or
            each with every later one.
        resamples: Bootstrap resamples; 0 gives no intervals.
        confidence: Coverage of the intervals.
        seed: Key of the bootstrap's generator.
        rbo_p: Persistence of rank-biased overlap.
        splits: Judge only queries of these splits of a collection (such as `heldout`, `test`);
            None judges every query that has judgements.

    Raises:
        UsageError: a value is outside its range.
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
        _require(self.pairs in known, f"pairs to be one of {', '.join(known)}", self.pairs)
        _require(0 <= self.resamples <= 10**6, "resamples from 0 to 1000000", self.resamples)
        _require(0 < self.confidence < 1, "a confidence between 0 and 1", self.confidence)
        _require(0 <= self.seed < 2**64, "a seed from 0 to 2^64 - 1", self.seed)
        _require(0 < self.rbo_p < 1, "an RBO persistence between 0 and 1", self.rbo_p)

    def snapshot_pairs(self, snapshots: int) -> list[tuple[int, int]]:
        """Positions of the snapshots to compare, earlier one first."""
        every = [(i, j) for i in range(snapshots) for j in range(i + 1, snapshots)]
        if self.pairs == "first":
            return [pair for pair in every if pair[0] == 0]
        if self.pairs == "consecutive":
            return [pair for pair in every if pair[1] == pair[0] + 1]
        return every


def _require(holds: bool, expected: str, found: object) -> None:
    if not holds:
        raise UsageError(f"expected {expected}, found {found!r}")
