"""The most memory that this process has held, alone or with those that it started."""

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Self

PROCESSES = Path("/proc")
STATUS = PROCESSES / "self" / "status"
SECONDS = 0.05
"""How often the memory of other processes is looked at."""


def peak_bytes() -> int:
    """Bytes of the largest resident set of this process.

    `ru_maxrss` is no less than that of the process that started this one, so that what a bench
    holds itself would count as what it measures; Linux says what this program alone has held.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text("ascii"))
    except OSError:
        found = None
    kilobytes = int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024


class PeakWithWorkers:
    """The most memory that this process and its children have held at once, as a context.

    What they share, such as the code of libraries, counts for each. Where there is no `/proc`, this
    process alone counts.

    Attributes:
        bytes: That of this process alone if it is more.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._done.wait(SECONDS):
            self.bytes = max(self.bytes, sum(_resident()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
        self.bytes = max(self.bytes, peak_bytes())


def _resident() -> Iterator[int]:
    """Bytes of this process and of each of its children."""
    us = str(os.getpid())
    for path in PROCESSES.glob("[0-9]*/status"):
        try:
            status = path.read_text("ascii", errors="replace")
        except OSError:
            continue
        parent = re.search(r"PPid:\s+(\d+)", status)
        held = re.search(r"VmRSS:\s+(\d+) kB", status)
        if held and (path.parent.name == us or (parent and parent[1] == us)):
            yield int(held[1]) * 1024
