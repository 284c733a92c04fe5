"""Numbers out of nothing but names: hashes instead of a generator's state.

Everything simulated is a pure function of the seed and of what it is about (a page, a query, a
snapshot), so that nothing must be kept and any part of a world can be made alone. The mixing
function is splitmix64's (Steele, Lea & Flood 2014); vectors and scalars give the same numbers.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15
Item = TypeVar("Item")
Integers = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


def mix(*parts: int) -> int:
    """A 64-bit hash of some integers."""
    state = 0
    for part in parts:
        state = (state + GAMMA + (part & MASK)) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return state


def mix_arrays(*parts: Integers | int) -> Integers:
    """`mix` of arrays that broadcast."""
    state: Integers = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for part in parts:
            added = np.asarray(part, dtype=np.uint64)
            state = state + np.uint64(GAMMA) + added
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state


def unit(*parts: int) -> float:
    """A number in [0, 1) from some integers."""
    return float((mix(*parts) >> 11) / 2**53)


def units(*parts: Integers | int) -> Floats:
    """`unit` of arrays that broadcast."""
    return np.asarray((mix_arrays(*parts) >> np.uint64(11)) / 2**53, dtype=np.float64)


class Draw:
    """A sequence of choices that depends on its name alone."""

    def __init__(self, *name: int) -> None:
        self._state = mix(*name)

    def below(self, limit: int) -> int:
        """The next integer in [0, limit)."""
        state = (self._state + GAMMA) & MASK  # `mix` of the state, written out: pages draw a lot
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        self._state = state = state ^ (state >> 31)
        return state % limit

    def choose(self, items: Sequence[Item]) -> Item:
        """The next choice of one item."""
        return items[self.below(len(items))]
