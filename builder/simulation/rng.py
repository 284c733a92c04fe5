"""Stateless pseudo-random numbers: hashes of integers such as seed, page and snapshot.

Every simulated value is a pure function of the seed and other integers, so that each part of the
data can be generated independently. The hash is the mixing function of splitmix64 (Steele, Lea &
Flood 2014). The scalar and the array functions return the same numbers.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

UINT64_MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15
"""Increment of splitmix64: 2^64 divided by the golden ratio, rounded to an odd integer."""
T = TypeVar("T")
UInt64Array = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]


def hash_integers(*integers: int) -> int:
    """Return a 64-bit hash of a sequence of integers."""
    state = 0
    for integer in integers:
        state = (state + GAMMA + (integer & UINT64_MASK)) & UINT64_MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & UINT64_MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & UINT64_MASK
        state ^= state >> 31
    return state


def hash_arrays(*arrays: UInt64Array | int) -> UInt64Array:
    """Broadcast arrays, and apply `hash_integers` to the elements at each position."""
    state: UInt64Array = np.zeros(1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for array in arrays:
            state = state + np.uint64(GAMMA) + np.asarray(array, dtype=np.uint64)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state


def hash_integers_to_uniform(*integers: int) -> float:
    """Hash a sequence of integers to a number that is uniformly distributed in [0, 1)."""
    return float((hash_integers(*integers) >> 11) / 2**53)


def hash_arrays_to_uniform(*arrays: UInt64Array | int) -> FloatArray:
    """Broadcast arrays, and apply `hash_integers_to_uniform` to the elements at each position."""
    return np.asarray((hash_arrays(*arrays) >> np.uint64(11)) / 2**53, dtype=np.float64)


class Rng:
    """Pseudo-random number generator whose seed is a sequence of integers."""

    def __init__(self, *seed: int) -> None:
        self._state = hash_integers(*seed)

    def randrange(self, stop: int) -> int:
        """Return a random integer in [0, stop)."""
        # `hash_integers` of the state, inlined because page generation calls this very often.
        state = (self._state + GAMMA) & UINT64_MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & UINT64_MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & UINT64_MASK
        self._state = state = state ^ (state >> 31)
        return state % stop

    def choice(self, items: Sequence[T]) -> T:
        """Return a random item of a non-empty sequence."""
        return items[self.randrange(len(items))]
