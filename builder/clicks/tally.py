"""What the diagnostics count over impressions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from builder.clicks.pieces import Clicks, Piece
from builder.sorting import Integers


@dataclass
class Tally:
    """What the diagnostics count over impressions.

    Args:
        total: Impressions.
        without_click: Those whose own page has no click.
        never_clicked: Those of which no page has a click.
        reordered: Those whose clicks are not in the order of ranks.
        repeated: Those with a rank clicked twice.
        with_duplicate: Those that show a document twice.
        anonymous: Those without a user.
        lengths: Impressions by number of results.
        clicks: Impressions in which each rank was clicked, by rank.
    """

    total: int = 0
    without_click: int = 0
    never_clicked: int = 0
    reordered: int = 0
    repeated: int = 0
    with_duplicate: int = 0
    anonymous: int = 0
    lengths: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    clicks: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    def __add__(self, other: "Tally") -> "Tally":
        sums: dict[str, Any] = {
            name: _added(mine, vars(other)[name])
            if isinstance(mine, np.ndarray)
            else mine + vars(other)[name]
            for name, mine in vars(self).items()
        }
        return Tally(**sums)


def _added(one: Integers, other: Integers) -> Integers:
    size = max(len(one), len(other))
    return np.pad(one, (0, size - len(one))) + np.pad(other, (0, size - len(other)))


def tally_of(piece: Piece, clicks: Clicks) -> Tally:
    """The tally of some impressions, but for users and documents shown twice.

    Args:
        piece: The impressions.
        clicks: Their distinct clicks.
    """
    return Tally(
        total=len(piece.lengths),
        without_click=int((piece.clicks.lengths == 0).sum()),
        never_clicked=int((~piece.clicked).sum()),
        reordered=_reordered(piece),
        repeated=_distinct(clicks.repeated, len(piece.lengths)),
        lengths=np.bincount(piece.lengths),
        clicks=np.bincount(clicks.rank),
    )


def _reordered(piece: Piece) -> int:
    """Impressions with a click above the one before it."""
    several = np.flatnonzero(piece.clicks.lengths > 1)
    clicks = piece.clicks.take(several)
    owner = np.repeat(np.arange(len(several)), clicks.lengths)
    back = (owner[1:] == owner[:-1]) & (clicks.values[1:] < clicks.values[:-1])
    return _distinct(owner[1:][back], len(several))


def _distinct(numbers: Integers, size: int) -> int:
    """How many different numbers there are."""
    found = np.zeros(size, dtype=np.bool_)
    found[numbers] = True
    return int(found.sum())
