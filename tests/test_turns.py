"""Threads that take pieces in turn: order, one at a time, few under way, faults told."""

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.executors import in_turn


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 2), max_size=25), st.integers(1, 4))
def test_results_are_handed_on_in_order(delays: list[int], threads: int) -> None:
    handed: list[int] = []

    def work(piece: tuple[int, int]) -> int:
        time.sleep(piece[1] / 1000)
        return piece[0]

    in_turn(work, handed.append, enumerate(delays), threads)
    assert handed == list(range(len(delays)))


def test_pieces_and_results_are_never_two_at_a_time() -> None:
    """And work is: with two threads two pieces wait for each other."""
    alone = threading.Lock()
    together = threading.Barrier(2, timeout=10)

    def pieces() -> Iterator[int]:
        for number in range(10):
            assert making.acquire(blocking=False)
            time.sleep(0.001)
            making.release()
            yield number

    def work(number: int) -> int:
        together.wait()
        return number

    def hand_on(number: int) -> None:
        assert alone.acquire(blocking=False)
        time.sleep(0.002)
        handed.append(number)
        alone.release()

    making, handed = threading.Lock(), list[int]()
    in_turn(work, hand_on, pieces(), 2)
    assert handed == list(range(10))


def test_few_pieces_are_under_way() -> None:
    """While the first is worked on, the others wait after twice as many as there are threads."""
    taken, handed, most = 0, 0, 0

    def pieces() -> Iterator[int]:
        nonlocal taken, most
        for number in range(40):
            taken += 1
            most = max(most, taken - handed)
            yield number

    def work(number: int) -> int:
        if number == 0:
            time.sleep(0.1)
        return number

    def hand_on(_: int) -> None:
        nonlocal handed
        handed += 1

    in_turn(work, hand_on, pieces(), 2)
    assert handed == 40
    assert most == 4


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("where", ["pieces", "work", "hand_on"])
def test_what_is_raised_is_raised_here(where: str, threads: int) -> None:
    handed = []

    def fail(name: str, number: int) -> None:
        if name == where and number == 5:
            raise ValueError(name)

    def pieces() -> Iterator[int]:
        for number in range(50):
            fail("pieces", number)
            yield number

    def work(number: int) -> int:
        fail("work", number)
        return number

    def hand_on(number: int) -> None:
        fail("hand_on", number)
        handed.append(number)

    with pytest.raises(ValueError, match=where):
        in_turn(work, hand_on, pieces(), threads)
    assert handed == list(range(5))[: len(handed)]
    assert threading.active_count() < 10


def test_no_pieces() -> None:
    in_turn(abs, print, [], 2)
