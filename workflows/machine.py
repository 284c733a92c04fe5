"""One machine for benchmarks and for work in the background: the latter waits for the former.

A benchmark takes an exclusive lock on a file while it measures; the system releases it when the
process ends, however it ends.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = Path(tempfile.gettempdir()) / f"longeval-benchmark-{os.getuid()}.lock"


@contextmanager
def benchmark(lock: Path = LOCK) -> Iterator[None]:
    """Pause background work of this user, and wait for a benchmark that is running."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait_for_benchmark(lock: Path = LOCK) -> None:
    """Return at once, or when no benchmark runs any more."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)


def lowest_priority() -> None:
    """Leave the processor to everything else."""
    os.nice(19)
