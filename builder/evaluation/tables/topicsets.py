"""Mean scores and their bootstrap resamples for two sets of queries, `full` and `core`.

`full` contains every judged query of a snapshot, `core` only the queries that are judged in every
snapshot (Keller et al. 2024, section 4.1).
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
    """Scores of a set of queries in every snapshot.

    Args:
        name: `full` or `core`.
        snapshots: Scores of each snapshot, in the order of `Evaluation.snapshots`.
        means: Mean scores per snapshot, shape (systems, measures).
        samples: Bootstrap means per snapshot, shape (resamples, systems, measures).
    """

    name: str
    snapshots: tuple[SnapshotScores, ...]
    means: tuple[Floats, ...]
    samples: tuple[Floats, ...]

    @property
    def query_count(self) -> int:
        """Number of distinct queries in all snapshots, from which the bootstrap draws."""
        return len({key for scores in self.snapshots for key in scores.keys})


def core_query_ids(snapshots: Sequence[SnapshotScores]) -> set[str]:
    """Return the aligned ids of the queries that are judged in every snapshot."""
    judged = [set(scores.keys) for scores in snapshots]
    return set.intersection(*judged) if judged else set()


def topic_sets(
    snapshots: Sequence[SnapshotScores], parameters: EvaluationParameters
) -> list[TopicSet]:
    """Return the query sets `full` and `core` with their mean scores and bootstrap means."""
    core = core_query_ids(snapshots)
    scores_by_set = {
        "full": list(snapshots),
        "core": [scores.select_queries(core) for scores in snapshots],
    }
    sets = []
    for stream, name in enumerate(TOPIC_SETS):
        samples = resampled_means(
            scores_by_set[name], parameters.resamples, parameters.seed, stream
        )
        means = tuple(scores.means() for scores in scores_by_set[name])
        sets.append(TopicSet(name, tuple(scores_by_set[name]), means, tuple(samples)))
    return sets
