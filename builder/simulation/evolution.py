"""Evolution of pages over snapshots: pages are added, edited, rewritten, moved and removed.

The state of a page is a pure function of the parameters, the page number and the zero-based index
of the snapshot. Pages are numbered in the order in which they are added.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from builder.simulation.parameters import SimulationParameters
from builder.simulation.rng import UInt64Array, hash_arrays_to_uniform

REMOVED, EDITED, REWRITTEN, MOVED = range(4)
CountArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PageStates:
    """States of pages in a snapshot, as arrays with one element per page.

    Args:
        pages: uint64[pages]; page numbers.
        alive: bool[pages]; whether the search engine has the page in its index.
        edits: int64[pages]; number of sentences replaced since the page was last rewritten.
        versions: int64[pages]; number of times that the page was rewritten.
        moves: int64[pages]; number of times that the URL of the page changed.
    """

    pages: UInt64Array
    alive: npt.NDArray[np.bool_]
    edits: CountArray
    versions: CountArray
    moves: CountArray


def count_pages_ever_added(params: SimulationParameters, snapshot: int) -> int:
    """Return the number of pages ever added up to a snapshot, including pages removed since."""
    return params.documents + snapshot * round(params.added * params.documents)


def page_states(params: SimulationParameters, pages: UInt64Array, snapshot: int) -> PageStates:
    """Return the states of pages in a snapshot.

    Args:
        params: Parameters of the simulation.
        pages: uint64[pages]; page numbers.
        snapshot: Zero-based index of the snapshot.
    """
    numbers = pages.astype(np.int64)
    added_at = np.zeros(len(pages), dtype=np.int64)
    for step in range(1, snapshot + 1):
        added_at[numbers >= count_pages_ever_added(params, step - 1)] = step
    alive = numbers < count_pages_ever_added(params, snapshot)
    edits, versions, moves = (np.zeros(len(pages), dtype=np.int64) for _ in range(3))
    for step in range(1, snapshot + 1):
        existed = added_at < step
        alive &= ~(existed & _draw_events(params, pages, step, REMOVED, params.removed))
        rewritten = existed & _draw_events(params, pages, step, REWRITTEN, params.rewritten)
        edited = existed & ~rewritten & _draw_events(params, pages, step, EDITED, params.edited)
        moves += existed & _draw_events(params, pages, step, MOVED, params.moved)
        versions += rewritten
        edits = np.where(rewritten, 0, edits + edited)
    return PageStates(pages, alive, edits, versions, moves)


def _draw_events(
    params: SimulationParameters, pages: UInt64Array, snapshot: int, event: int, probability: float
) -> npt.NDArray[np.bool_]:
    """Draw, per page, whether an event affects it between the previous and the given snapshot."""
    return np.asarray(hash_arrays_to_uniform(params.seed, pages, snapshot, event) < probability)
