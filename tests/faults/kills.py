"""Builds that are killed again and again, and what must hold when one of them gets through.

`make faults` kills 200 times (`__main__.py`); the tests kill 20 times. The seed is fixed.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import builder
from builder import SimulationParameters
from builder.pipeline import PIPELINE

WORLD = SimulationParameters(
    name="tiny", snapshots=2, documents=150, queries=20, impressions=2000, refetched=0.1, seed=3
)
SLOWEST = 0.25
"""Seconds after the line of a step within which the process is killed in the next one."""

LONGEST_STAGE = 0.1
"""Seconds that the stages `log` and `clicks` take on a step of this world, about."""


@dataclass(frozen=True)
class Chain:
    """One build that was killed many times.

    Args:
        kills: How often.
        hit: The last step that was done before each kill.
        repeated: Steps that were built again although they were done.
        sums: `SHA256SUMS` of the version.
        leftovers: Temporary files that are still there.
    """

    kills: int
    hit: tuple[str, ...]
    repeated: tuple[str, ...]
    sums: str
    leftovers: tuple[str, ...]


def command(definition: Path, out: Path) -> list[str]:
    """A build in a process of its own."""
    code = "from builder.cli import main; main()"
    arguments = ["build", str(definition), "--out", str(out), "--threads", "2"]
    return [sys.executable, "-c", code, *arguments]


def kill_again_and_again(
    definition: Path,
    out: Path,
    rng: random.Random,
    how: Sequence[signal.Signals] = (signal.SIGKILL,),
    apart: tuple[int, int] = (0, 3),
) -> Chain:
    """Kill a build after each few steps, from so many to so many, until it is through.

    Args:
        definition: What is built.
        out: The collection's folder.
        rng: Draws after how many steps, and when in the next one.
        how: Signals, sent in turn.
        apart: Fewest and most steps that are done between two kills.
    """
    done: dict[str, int] = {}
    hit: list[str] = []
    while True:
        through = _run(definition, out, rng, how[len(hit) % len(how)], apart, done, hit)
        if through:
            break
    version = builder.open_collection(out).path
    left = [p for p in out.rglob("*") if p.name.endswith(".partial") or p.parent.name == "scratch"]
    return Chain(
        len(hit),
        tuple(hit),
        tuple(sorted(step for step, count in done.items() if count > 1)),
        (version / "SHA256SUMS").read_text(),
        tuple(str(p.relative_to(out)) for p in left),
    )


def _run(
    definition: Path,
    out: Path,
    rng: random.Random,
    how: signal.Signals,
    apart: tuple[int, int],
    done: dict[str, int],
    hit: list[str],
) -> bool:
    """Run a build until it is killed, or through."""
    process = subprocess.Popen(
        command(definition, out),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    left = rng.randint(*apart)
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if " = " in line and " kept" in line:
            step = " ".join(line.split()[:2])
            done[step] = done.get(step, 0) + 1
            left -= 1
            if left < 0:
                time.sleep(rng.random() * SLOWEST)
                if process.poll() is None:
                    os.kill(process.pid, how)
                    hit.append(step)
                break
    rest = process.stdout.read()
    code = process.wait()
    for line in rest.splitlines():
        if " = " in line and " kept" in line:
            step = " ".join(line.split()[:2])
            done[step] = done.get(step, 0) + 1
    if code not in (0, -how, 128 + how, 130):
        raise AssertionError(f"exit {code}:\n{''.join(seen)}{rest}")
    return code == 0


def kill_within(definition: Path, out: Path, stage: str, rng: random.Random) -> bool:
    """Kill a build while a stage writes its outputs, or just after.

    Returns:
        Whether it was killed; False where no step of the stage had to run.
    """
    folder = out / ".work" / stage
    with subprocess.Popen(
        command(definition, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while not next(folder.glob("*/*.partial"), None):
            if process.poll() is not None:
                assert process.returncode == 0
                return False
            time.sleep(0.001)
        time.sleep(rng.random() * LONGEST_STAGE)
        process.kill()
    return True


def resumes(definition: Path, out: Path, wanted: str) -> bool:
    """Whether a killed build goes on to the same bytes, without leftovers."""
    version = builder.build(definition, out, threads=2).version
    assert version is not None
    left = [*(out / ".work").rglob("*.partial"), *(out / ".work").glob("scratch/*")]
    return not left and (version / "SHA256SUMS").read_text() == wanted


def make_world(folder: Path) -> tuple[Path, str]:
    """A small world's definition, and the sums of an undisturbed build."""
    builder.simulate(folder / "world", WORLD)
    definition = folder / "world" / "workflow.toml"
    report = builder.build(definition, folder / "undisturbed")
    assert report.version is not None
    return definition, (report.version / "SHA256SUMS").read_text()


def published(definition: Path) -> Path:
    """Return the version that the undisturbed build of `make_world` published next to a world."""
    return builder.open_collection(definition.parents[1] / "undisturbed").path


def copy_until(definition: Path, out: Path, stage: str) -> set[str]:
    """Copy what the undisturbed build wrote up to a stage, as `until` leaves it in an empty folder.

    Returns:
        Names of the stages that are there.
    """
    shutil.copytree(published(definition).parent / ".work", out / ".work")
    names = [each.name for each in PIPELINE.stages]
    last = names.index(stage)
    for name in names[last + 1 :]:
        shutil.rmtree(out / ".work" / name)
    return set(names[: last + 1])
