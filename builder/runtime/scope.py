"""Scopes of stages, and the keys of the steps that a stage has in each scope."""

from enum import Enum
from itertools import pairwise

from builder.definition.model import Workflow


class Scope(Enum):
    """Whether a stage runs per snapshot, per pair of consecutive snapshots, or per collection."""

    SNAPSHOT = "snapshot"
    PAIR = "pair"
    COLLECTION = "collection"

    def keys(self, workflow: Workflow) -> tuple[str, ...]:
        """Return the keys of a stage's steps: snapshot names, pairs `<from>_<to>`, or `all`."""
        names = workflow.snapshot_names
        if self is Scope.SNAPSHOT:
            return names
        if self is Scope.PAIR:
            return tuple(f"{a}_{b}" for a, b in pairwise(names))
        return ("all",)


def split_pair_key(key: str) -> tuple[str, str]:
    """Split the key of a pair, such as `2022-06_2022-09`, into its two snapshots.

    For the key of a single snapshot, its name is returned twice.
    """
    first, _, second = key.partition("_")
    return first, second or first
