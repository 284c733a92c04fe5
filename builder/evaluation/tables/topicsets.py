"""The two sets of queries over which means are taken, and everything computed once for each.

In: the scores of all snapshots. Out: `TopicSet`s: `full`, every judged query of each snapshot, and
`core`, the queries that are judged in every snapshot (Keller et al. 2024, section 4.1), with means
and resampled means.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from builder.evaluation.measures.effectiveness import SnapshotScores
from builder.evaluation.measures.family import Floats
from builder.evaluation.parameters import EvaluationParameters
from builder.statistics.bootstrap import resampled_means

TOPIC_SETS = ("full", "core")


@dataclass(frozen=True)
class TopicSet:
    """Scores over one set of queries, in every snapshot.

    Args:
        name: `full` or `core`.
        snapshots: Scores in the order of time.
        means: For each snapshot, shape (systems, measures).
        samples: For each snapshot, shape (resamples, systems, measures).
    """

    name: str
    snapshots: tuple[SnapshotScores, ...]
    means: tuple[Floats, ...]
    samples: tuple[Floats, ...]


def core_queries(snapshots: Sequence[SnapshotScores]) -> set[str]:
    """Keys of the queries judged in every snapshot."""
    judged = [set(scores.keys) for scores in snapshots]
    return set.intersection(*judged) if judged else set()


def topic_sets(
    snapshots: Sequence[SnapshotScores], parameters: EvaluationParameters
) -> list[TopicSet]:
    """The full and the core set."""
    core = core_queries(snapshots)
    kept = {"full": list(snapshots), "core": [scores.restrict(core) for scores in snapshots]}
    sets = []
    for stream, name in enumerate(TOPIC_SETS):
        samples = resampled_means(kept[name], parameters.resamples, parameters.seed, stream)
        means = tuple(scores.means() for scores in kept[name])
        sets.append(TopicSet(name, tuple(kept[name]), means, tuple(samples)))
    return sets
