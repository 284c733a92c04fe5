"""Threads that take what is left: all is taken once, numbers differ, faults are told."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.executors import in_shares


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 40), st.integers(1, 4))
def test_every_item_is_taken_once(count: int, threads: int) -> None:
    shares = list(in_shares(lambda number, left: (number, list(left)), range(count), threads))
    assert [number for number, _ in shares] == list(range(threads))
    assert sorted(item for _, share in shares for item in share) == list(range(count))


def test_items_are_made_one_at_a_time_while_others_are_worked_on() -> None:
    making, together = threading.Lock(), threading.Barrier(2, timeout=10)

    def items() -> Iterator[int]:
        for item in range(10):
            assert making.acquire(blocking=False)
            making.release()
            yield item

    def work(_: int, left: Iterator[int]) -> int:
        taken = 0
        for _ in left:
            together.wait()
            taken += 1
        return taken

    assert list(in_shares(work, items(), 2)) == [5, 5]


@pytest.mark.parametrize("threads", [1, 3])
def test_where_one_fails_the_others_find_no_more(threads: int) -> None:
    taken: list[int] = []
    failed = threading.Event()

    def work(_: int, left: Iterator[int]) -> None:
        for item in left:
            if item == 5:
                failed.set()
                raise ValueError("the fifth")
            taken.append(item)
            if item > 5:
                assert failed.wait(10)

    with pytest.raises(ValueError, match="the fifth"):
        list(in_shares(work, range(1000), threads))
    assert len(taken) < 5 + 1000 // 2
