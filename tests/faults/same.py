"""Builds with random threads, memory and executors, which must all be the same bytes."""

import random
from collections.abc import Iterator
from pathlib import Path

import builder

EXECUTORS = ("local", "processes", "ray")


def settings(count: int, seed: int) -> Iterator[dict[str, object]]:
    """Random settings; every executor that is installed comes up."""
    rng = random.Random(seed)
    names = [name for name in EXECUTORS if name != "ray" or _has_ray()]
    for number in range(count):
        yield {
            "threads": rng.randint(1, 4),
            "memory": f"{rng.choice((256, 400, 1024, 3000))}MiB",
            "executor": names[number % len(names)],
        }


def _has_ray() -> bool:
    try:
        import ray  # noqa: F401
    except ImportError:
        return False
    return True


def sums(definition: Path, out: Path, **how: object) -> str:
    """`SHA256SUMS` of a build, which has the hash of every file."""
    report = builder.build(definition, out, **how)  # type: ignore[arg-type]
    assert report.version is not None
    return (report.version / "SHA256SUMS").read_text()
