"""Resource limits of a run: threads, memory and scratch space. Stages never query the machine."""

import os
import re
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
ENGINE_LEAST = 128 * 2**20
"""Bytes without which a database engine cannot join a million keys."""
CONTROL_GROUP = Path("/sys/fs/cgroup")


def parse_memory(text: str) -> int:
    """Parse a memory size such as `4GiB`, `900MB` or `2g` to bytes.

    Raises:
        UsageError: the text is not a size, or the size is below 256 MiB.
    """
    size = parse_size(text, "--memory")
    if size < MINIMUM_MEMORY:
        raise UsageError(f"--memory: at least 256MiB is needed, found {text!r}")
    return size


def parse_size(text: str, option: str) -> int:
    """Parse a size such as `4GiB` to bytes; at least 1.

    Raises:
        UsageError: not a size; `option` says where it was given.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?)?b?\s*", text.lower())
    if match is None:
        raise UsageError(f"{option}: expected a size such as 4GiB or 900MB, found {text!r}")
    return max(1, int(float(match[1]) * _UNITS[match[2] or ""]))


def usable_cores() -> int:
    """CPU cores available to this process by its affinity and its cgroup quota."""
    known = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    quota, _, period = _control("cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period):
        cores = min(cores, -(-int(quota) // int(period)))
    return max(1, cores)


def usable_memory() -> int | None:
    """Bytes of memory that this process may use; None where the system does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    bound = _control("memory.max")
    return min(memory, int(bound)) if bound.isdecimal() else memory


def _control(name: str) -> str:
    """A value from the process's cgroup (version 2); empty if there is none."""
    try:
        return (CONTROL_GROUP / name).read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


@dataclass(frozen=True)
class Limits:
    """The resources of one stage.

    Args:
        threads: Worker threads.
        memory: Bytes that a stage may hold.
        scratch: Existing private folder for spilled data; emptied by the runner.
        executor: Where the parts of a stage are worked on.
    """

    scratch: Path
    threads: int = field(default_factory=usable_cores)
    memory: int = 4 * 2**30
    executor: Executor = field(default_factory=LocalExecutor)

    def within(self, name: str) -> "Limits":
        """The same limits with a new subfolder as scratch and the local executor."""
        folder = self.scratch / name
        folder.mkdir()
        return Limits(folder, self.threads, self.memory)

    def connect(self, share: float = 0.7) -> "AbstractContextManager[duckdb.DuckDBPyConnection]":
        """A connection to an empty DuckDB database that spills to the scratch folder.

        Args:
            share: Part of `memory` that the connection may use; never less than `ENGINE_LEAST`.
        """
        from builder.io.engine import pooled_connection

        room = max(int(self.memory * share), min(self.memory, ENGINE_LEAST))
        settings = {"threads": str(self.threads), "memory_limit": f"{room // 2**20}MiB"}
        return pooled_connection(settings, self.scratch / "duckdb")
