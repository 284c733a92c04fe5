"""Two nodes of a Ray cluster on this machine, and a worker that is killed while it works."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import builder

RAY = Path(sys.executable).parent / "ray"
ADDRESS = "127.0.0.1:6399"
QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def nodes() -> Iterator[None]:
    """A cluster of two nodes with one core each."""
    common = {"check": True, "capture_output": True, "env": {**os.environ, **QUIET}}
    head = ["--head", "--port", ADDRESS.rpartition(":")[2], "--include-dashboard=false"]
    try:
        for options in (head, ["--address", ADDRESS]):
            subprocess.run([RAY, "start", "--num-cpus", "1", *options], **common)  # type: ignore[call-overload]
        yield
    finally:
        subprocess.run([RAY, "stop", "--force"], **{**common, "check": False})  # type: ignore[call-overload]


def build_on_it(definition: Path, out: Path, *, kill_in: str | None = None) -> tuple[str, int]:
    """`SHA256SUMS` of a build on the cluster, and how many workers were killed.

    Args:
        definition: What is built.
        out: The collection's folder.
        kill_in: The stage in which a worker is killed, by its process id; None: none is.
    """
    code = "from builder.cli import main; main()"
    arguments = ["build", str(definition), "--out", str(out), "--executor", "ray", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **QUIET, "RAY_ADDRESS": ADDRESS},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    killed = 0
    while process.poll() is None:
        time.sleep(0.02)
        running = (
            kill_in is not None
            and not killed
            and any((out / ".work" / kill_in).glob("*/*.partial"))
        )
        for worker in _workers() if running else ():
            os.kill(worker, signal.SIGKILL)
            killed += 1
            break
    if process.returncode:
        raise AssertionError(f"exit {process.returncode}")
    return (builder.open_collection(out).path / "SHA256SUMS").read_text(), killed


def _workers() -> list[int]:
    """Processes that work on one of our tasks now."""
    done = subprocess.run(["pgrep", "-f", "ray::_given"], capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]
