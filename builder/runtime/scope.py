"""How often a stage runs: per snapshot, per pair of consecutive snapshots, or per collection."""

from enum import Enum
from itertools import pairwise

from builder.definition.model import Workflow


class Scope(Enum):
    """How often a stage runs."""

    SNAPSHOT = "snapshot"
    PAIR = "pair"
    COLLECTION = "collection"

    def keys(self, workflow: Workflow) -> tuple[str, ...]:
        """Keys of the units of this scope: snapshot names, `<from>_<to>`, or `all`."""
        names = workflow.snapshot_names
        if self is Scope.SNAPSHOT:
            return names
        if self is Scope.PAIR:
            return tuple(f"{a}_{b}" for a, b in pairwise(names))
        return ("all",)


def pair(key: str) -> tuple[str, str]:
    """The snapshots of the pair `2022-06_2022-09`; for a snapshot's key, that snapshot twice."""
    first, _, second = key.partition("_")
    return first, second or first
