"""Pieces in threads: results in order, few at a time; what goes wrong is told; work beside work."""

import threading
from collections.abc import Iterator

import pytest

from builder.io.threads import BackgroundThread, ordered_map


def counted(stop: int, made: list[int]) -> Iterator[int]:
    """Numbers, of which a note is taken as they are made."""
    for number in range(stop):
        made.append(number)
        yield number


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("pieces", [0, 1, 3, 50])
def test_results_are_in_the_order_of_the_pieces(threads: int, pieces: int) -> None:
    found = list(ordered_map(lambda number: number * number, range(pieces), threads))
    assert found == [number * number for number in range(pieces)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_are_made_as_they_are_needed(threads: int) -> None:
    made: list[int] = []
    results = ordered_map(lambda number: number, counted(1000, made), threads)
    for expected in range(10):
        assert next(results) == expected
        assert len(made) <= expected + 1 + threads + 2
    results.close()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_pieces_raise_is_raised(threads: int) -> None:
    def pieces() -> Iterator[int]:
        yield from range(3)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(ordered_map(lambda number: number, pieces(), threads))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_work_raises_is_raised(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(lambda number: 1 // (number - 2), range(10), threads))


def test_work_beside_is_done_one_piece_at_a_time_and_its_errors_are_raised_once() -> None:
    beside = BackgroundThread("test")
    done: list[int] = []
    begun, go = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go.wait(10)
        done.append(1)

    beside.start(slow)
    assert begun.wait(10)
    assert done == []
    go.set()
    beside.start(lambda: done.append(2))
    beside.wait()
    assert done == [1, 2]
    beside.start(lambda: done.append(1 // 0))
    with pytest.raises(ZeroDivisionError):
        beside.start(lambda: done.append(3))
    beside.wait()
    beside.start(lambda: done.append(4))
    beside.close()
    assert done == [1, 2, 4]
