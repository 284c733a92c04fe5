"""How pages come, go, change and move: a pure function of page number and snapshot.

In: page numbers and a snapshot (0, 1, ...). Out: whether the page is there, how often it was
edited, written anew and moved so far. Pages are numbered in the order in which they appear.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from builder.simulation.draw import Integers, units
from builder.simulation.parameters import Simulation

REMOVED, EDITED, REWRITTEN, MOVED = range(4)
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class States:
    """The state of some pages at a snapshot; arrays of one length.

    Args:
        pages: Page numbers.
        alive: Whether the page is in the index.
        edits: Sentences changed since it was last written anew.
        versions: Times written anew.
        moves: Times moved.
    """

    pages: Integers
    alive: npt.NDArray[np.bool_]
    edits: Counts
    versions: Counts
    moves: Counts


def pages_until(params: Simulation, snapshot: int) -> int:
    """How many pages have ever appeared up to a snapshot."""
    return params.documents + snapshot * round(params.added * params.documents)


def states(params: Simulation, pages: Integers, snapshot: int) -> States:
    """The state of pages at a snapshot."""
    numbers = pages.astype(np.int64)
    birth = np.zeros(len(pages), dtype=np.int64)
    for step in range(1, snapshot + 1):
        birth[numbers >= pages_until(params, step - 1)] = step
    alive = numbers < pages_until(params, snapshot)
    edits, versions, moves = (np.zeros(len(pages), dtype=np.int64) for _ in range(3))
    for step in range(1, snapshot + 1):
        old = birth < step
        alive &= ~(old & _happens(params, pages, step, REMOVED, params.removed))
        anew = old & _happens(params, pages, step, REWRITTEN, params.rewritten)
        edited = old & ~anew & _happens(params, pages, step, EDITED, params.edited)
        moves += old & _happens(params, pages, step, MOVED, params.moved)
        versions += anew
        edits = np.where(anew, 0, edits + edited)
    return States(pages, alive, edits, versions, moves)


def _happens(
    params: Simulation, pages: Integers, step: int, event: int, chance: float
) -> npt.NDArray[np.bool_]:
    return np.asarray(units(params.seed, pages, step, event) < chance)
