"""Places of keys in a hash table, against a dictionary: few slots, equal first columns, growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder import hash_table
from builder.hash_table import HashTable
from builder.sorting import Keys

keys_of_two_columns = st.tuples(st.sampled_from([0, 1, 2, 255, 2**64 - 1]), st.integers(0, 3))


def _columns(pairs: list[tuple[int, int]]) -> list[Keys]:
    return list(np.array(pairs, dtype=np.uint64).reshape(-1, 2).T.copy())


@settings(deadline=None)
@given(
    st.lists(st.sets(keys_of_two_columns), max_size=8),
    st.lists(keys_of_two_columns),
    st.integers(1, 4),
)
def test_places_are_in_the_order_of_adding(
    batches: list[set[tuple[int, int]]], asked: list[tuple[int, int]], slots: int
) -> None:
    known: dict[tuple[int, int], int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_table, "SLOTS", slots + 1)
        patch.setattr(hash_table, "LEAST_ROOM", 1)
        table = HashTable(2)
        for batch in batches:
            new = sorted(batch - known.keys())
            table = table.with_room(len(new))
            table.add(_columns(new))
            known |= {key: len(known) + at for at, key in enumerate(new)}
        found = table.find(_columns(asked))
    assert len(table) == len(known)
    assert found.tolist() == [known.get(key, -1) for key in asked]


def test_what_is_being_added_is_not_found_before_it_is_complete() -> None:
    """A thread that looks while another adds finds the entries that there were before."""
    table = HashTable(1, 100)
    keys = np.array([5, 6, 7], dtype=np.uint64)
    table.add([keys])
    table._count = 2
    assert table.find([keys]).tolist() == [0, 1, -1]


def test_a_table_with_room_stays_and_tells_what_it_takes() -> None:
    table = HashTable(1, 100)
    assert table.with_room(table.room) is table
    larger = table.with_room(table.room + 1)
    assert larger.room > table.room
    assert larger.bytes > table.bytes > 100 * 8
