"""Resource limits of a run: threads, memory and scratch space.

Stages receive these limits and never query the machine themselves.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from builder.errors import UsageError
from builder.runtime.executors import Executor, LocalExecutor

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import duckdb

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
DEFAULT_MEMORY = "4GiB"
MINIMUM_MEMORY = 256 * 2**20
MIN_ENGINE_MEMORY = 128 * 2**20
"""Minimum memory of a DuckDB connection in bytes, enough to join a million keys."""
CONTROL_GROUP = Path("/sys/fs/cgroup")


def parse_memory(size: str) -> int:
    """Return the number of bytes of a memory size such as `4GiB`, `900MB` or `2g`.

    Raises:
        UsageError: The argument is not a size, or the size is less than 256 MiB.
    """
    byte_count = parse_byte_size(size, "--memory")
    if byte_count < MINIMUM_MEMORY:
        raise UsageError(f"--memory: the minimum is 256MiB, found {size!r}")
    return byte_count


def parse_byte_size(size: str, option: str) -> int:
    """Return the number of bytes of a positive size such as `4GiB`.

    Raises:
        UsageError: The argument is not a size. The message starts with `option`, the name of the
            command-line option.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?)?b?\s*", size.lower())
    if match is None:
        raise UsageError(f"{option}: expected a size such as 4GiB or 900MB, found {size!r}")
    return max(1, int(float(match[1]) * _UNITS[match[2] or ""]))


def check_thread_count(threads: int) -> int:
    """Return the given number of threads; raise a UsageError if it is below 1."""
    if threads < 1:
        raise UsageError(f"--threads: expected at least 1, found {threads}")
    return threads


def count_usable_cores() -> int:
    """Return the number of CPU cores that affinity and cgroup quota allow this process to use."""
    known = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    quota, _, period = _read_cgroup_setting("cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period):
        cores = min(cores, -(-int(quota) // int(period)))
    return max(1, cores)


def usable_memory_bytes() -> int | None:
    """Return the physical memory, or a lower cgroup limit, in bytes; None if unknown."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    bound = _read_cgroup_setting("memory.max")
    return min(memory, int(bound)) if bound.isdecimal() else memory


def _read_cgroup_setting(name: str) -> str:
    """Return a setting of the cgroup (version 2) of this process; empty if it does not exist."""
    try:
        return (CONTROL_GROUP / name).read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


@dataclass(frozen=True)
class ResourceLimits:
    """Resource limits of a stage.

    Args:
        scratch: Existing private folder for temporary data; the runner empties it.
        threads: Number of worker threads.
        memory: Memory limit in bytes.
        executor: Executor that runs the tasks of the stage.
    """

    scratch: Path
    threads: int = field(default_factory=count_usable_cores)
    memory: int = 4 * 2**30
    executor: Executor = field(default_factory=LocalExecutor)

    def with_scratch_folder(self, name: str) -> "ResourceLimits":
        """Return a copy of the limits with a new scratch subfolder and the in-process executor."""
        folder = self.scratch / name
        folder.mkdir()
        return ResourceLimits(folder, self.threads, self.memory)

    def connect_to_duckdb(
        self, memory_share: float = 0.7
    ) -> "AbstractContextManager[duckdb.DuckDBPyConnection]":
        """Connect to an empty DuckDB database that spills to the scratch folder.

        Args:
            memory_share: Fraction of `memory` for the connection, which gets at least
                `MIN_ENGINE_MEMORY`.
        """
        from builder.io.engine import pooled_duckdb_connection

        size = max(int(self.memory * memory_share), min(self.memory, MIN_ENGINE_MEMORY))
        settings = {"threads": str(self.threads), "memory_limit": f"{size // 2**20}MiB"}
        return pooled_duckdb_connection(settings, self.scratch / "duckdb")


@contextmanager
def limits_or_default(limits: ResourceLimits | None) -> Iterator[ResourceLimits]:
    """Yield the given limits or, if None, default limits with a temporary scratch folder."""
    if limits is not None:
        yield limits
        return
    with tempfile.TemporaryDirectory(prefix="longeval-") as scratch:
        yield ResourceLimits(Path(scratch))
