"""Pieces are worked on by a fixed number of threads, which also do what must be done in order.

Where a thread of its own waits for results, and another one makes pieces, there are more threads
than cores, and each that wakes takes Python's lock from one that works. Here whoever is done takes
the next piece, and one of them hands on what is ready.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Lock
from typing import Generic

from builder.executors.base import Item, Result


def in_turn(
    work: Callable[[Item], Result],
    hand_on: Callable[[Result], None],
    pieces: Iterable[Item],
    threads: int,
) -> None:
    """Call `hand_on` with `work` of each piece, in the order of the pieces, never two at a time.

    Pieces are made one at a time, too; no more than twice as many as there are threads are under
    way. What a call raises is raised here, when the others are done.

    Args:
        work: Called by several threads at a time.
        hand_on: Called by any of them.
        pieces: The pieces.
        threads: How many, this one included.
    """
    if threads == 1:
        for piece in pieces:
            hand_on(work(piece))
        return
    turns = _Turns(work, hand_on, iter(pieces), 2 * threads)
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="turns") as pool:
        others = [pool.submit(turns.run) for _ in range(threads - 1)]
        turns.run()
    for other in others:
        other.result()


class _Turns(Generic[Item, Result]):
    """What threads share that work in turn."""

    def __init__(
        self,
        work: Callable[[Item], Result],
        hand_on: Callable[[Result], None],
        pieces: Iterator[Item],
        most: int,
    ) -> None:
        self._work, self._hand_on, self._pieces, self._most = work, hand_on, pieces, most
        self._taking, self._changed = Lock(), Condition()
        self._ready: dict[int, Result] = {}
        self._taken = self._handed = 0
        self._is_handing = self._has_failed = False

    def run(self) -> None:
        """Take pieces and work on them until there are no more."""
        try:
            while taken := self._take():
                number, piece = taken
                result = self._work(piece)
                self._give(number, result)
        except BaseException:
            with self._changed:
                self._has_failed = True
                self._changed.notify_all()
            raise

    def _take(self) -> tuple[int, Item] | None:
        """The next piece and its number; None after the last, and where a call has failed."""
        with self._taking:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._has_failed or self._taken - self._handed < self._most
                )
                if self._has_failed:
                    return None
            for piece in self._pieces:
                self._taken += 1
                return self._taken - 1, piece
            return None

    def _give(self, number: int, result: Result) -> None:
        """Put a result to those that are ready, and hand these on unless another thread does."""
        with self._changed:
            self._ready[number] = result
            if self._is_handing:
                return
            self._is_handing = True
        while found := self._next_ready():
            self._hand_on(*found)
            with self._changed:
                self._handed += 1
                self._changed.notify_all()

    def _next_ready(self) -> tuple[Result] | None:
        """The next result, packed; None where it is not ready, and another thread hands it on."""
        with self._changed:
            if self._handed in self._ready:
                return (self._ready.pop(self._handed),)
            self._is_handing = False
            return None
