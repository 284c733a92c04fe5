"""Addresses that are their own URL key: their document keys, all at once, each written down once.

In: distinct addresses in columns. Out: the first 64 bits of their md5 (see `keys.key64`), and which
of them were not seen before. Nothing becomes an object of Python. All 128 bits are remembered, so
that two addresses with one key are told apart, and are an error, as everywhere.
"""

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from builder.errors import DataError

MD5 = "SELECT unhex(md5(address)) AS digest FROM addresses"
DIGEST = pa.binary(16)
MOST_RECENT = 2**18
"""Keys that are held apart before they go to the others."""

Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Halves = tuple[Keys, Keys]


def md5_halves(addresses: pa.Array, connection: duckdb.DuckDBPyConnection) -> tuple[Keys, Keys]:
    """The first and the last 64 bits of the md5 of each text, big-endian."""
    connection.register("addresses", pa.table({"address": addresses}))
    digests = connection.sql(MD5).to_arrow_table()["digest"].cast(DIGEST).chunks
    connection.unregister("addresses")
    halves = [
        np.frombuffer(part.buffers()[1], ">u8", 2 * len(part), part.offset * DIGEST.byte_width)
        for part in digests
    ]
    numbers = np.concatenate([*halves, np.zeros(0, ">u8")]).astype(np.uint64).reshape(-1, 2)
    return numbers[:, 0].copy(), numbers[:, 1].copy()


class Seen:
    """Keys that were seen, with the other half of what they are half of.

    Args:
        most: Keys that are remembered; with more, all are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._forget()

    def _forget(self) -> None:
        nothing = np.zeros(0, dtype=np.uint64)
        self._old = self._recent = (nothing, nothing)

    def add(self, keys: Keys, others: Keys) -> Flags:
        """Which keys are new; of equal ones the first.

        Raises:
            DataError: a key was seen with another half.
        """
        found = _among(keys, others, self._old) | _among(keys, others, self._recent)
        places = np.flatnonzero(~found)
        unique, first = np.unique(keys[places], return_index=True)
        fresh = (unique, others[places[first]])
        _among(keys[places], others[places], fresh)
        self._remember(fresh)
        new = np.zeros(len(keys), dtype=np.bool_)
        new[places[first]] = True
        return new

    def _remember(self, fresh: Halves) -> None:
        merged = _merged(self._recent, fresh)
        if len(merged[0]) > MOST_RECENT:
            self._old = _merged(self._old, merged)
            merged = (merged[0][:0], merged[1][:0])
        self._recent = merged
        if len(self._old[0]) > self._most:
            self._forget()


def _among(keys: Keys, others: Keys, known: Halves) -> Flags:
    if not len(known[0]):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known[0], keys), len(known[0]) - 1)
    found: Flags = known[0][places] == keys
    if (known[1][places[found]] != others[found]).any():
        raise DataError("two different addresses of a log have one key; leave one of them out")
    return found


def _merged(one: Halves, other: Halves) -> Halves:
    keys, halves = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.argsort(keys, kind="stable")
    return keys[order], halves[order]
