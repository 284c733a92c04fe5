"""`make faults`: 30 full disks, 20 builds that must be the same, a cluster, kills, flipped bits.

Names of parts, such as `publishing kills`, run only these.
"""

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import builder
from tests.faults.cluster import RAY, build_on_it, nodes
from tests.faults.disks import fill, most_used, mounted, offsets
from tests.faults.flips import count_found
from tests.faults.kills import kill_again_and_again, kill_within, make_world, resumes
from tests.faults.publishing import COMMANDS, kill_runs, run_twice
from tests.faults.same import settings, sums


def say(line: str) -> None:
    """A line of the report."""
    print(line, flush=True)  # noqa: T201


def kills(definition: Path, wanted: str, folder: Path, count: int = 200) -> int:
    """Kill builds; how many of them ended with other bytes, repeated work or leftovers."""
    rng = random.Random(1)
    killed, chains, bad = 0, 0, 0
    stages: set[str] = set()
    while killed < count:
        chain = kill_again_and_again(definition, folder / f"chain-{chains}", rng)
        killed, chains = killed + chain.kills, chains + 1
        stages |= {step.split()[0] for step in chain.hit}
        good = chain.sums == wanted and not chain.repeated and not chain.leftovers
        bad += not good
        say(f"{killed} kills, {chains} builds, {bad} bad {'' if good else chain}")
    say(f"killed after {len(stages)} stages: {', '.join(sorted(stages))}")
    return bad


def kills_within(definition: Path, wanted: str, folder: Path, count: int = 30) -> int:
    """Kill builds while stages of logs and clicks write; how many builds did not resume."""
    bad, rng = 0, random.Random(4)
    for stage in ("log", "clicks"):
        killed = 0
        for number in range(count):
            out = folder / f"{stage}-{number // 3}"
            killed += kill_within(definition, out, stage, rng)
            bad += number % 3 == 2 and not resumes(definition, out, wanted)
        say(f"{killed} kills within {stage}, {bad} builds not resumed")
    return bad


def full_disks(definition: Path, wanted: str, folder: Path, count: int = 30) -> int:
    """Fill disks at random bytes; how many were not told or not resumed."""
    needed = most_used(definition, folder / "whole")
    with mounted(folder / "disk") as disk:
        if disk is None:
            say("full disks: mounting is not permitted here, nothing was tried")
            return 0
    sizes = offsets(needed, count, seed=2)
    faults = [fill(definition, folder / "disk", size, wanted) for size in sizes]
    bad = [fault for fault in faults if fault is not None]
    say(f"{len(faults) - len(bad)} of {count} full disks (of {needed:,} bytes) told and resumed")
    for fault in bad:
        say(fault)
    return len(bad)


def flips(definition: Path, folder: Path, count: int = 1000) -> int:
    """Turn over single bits; how many were not found."""
    builder.build(definition, folder / "flipped")
    version = builder.open_collection(folder / "flipped").path
    found = count_found(version, folder / "copy", flips=count, seed=1)
    say(f"{found} of {count} single bits found")
    return count - found


def same(definition: Path, wanted: str, folder: Path, count: int = 20) -> int:
    """Build with random settings; how many gave other bytes."""
    bad = 0
    for number, how in enumerate(settings(count, seed=3)):
        good = sums(definition, folder / f"same-{number}", **how) == wanted
        bad += not good
        say(f"{how}: {'the same bytes' if good else 'OTHER BYTES'}")
    return bad


def cluster(definition: Path, wanted: str, folder: Path) -> int:
    """Build on two nodes of Ray, and with a worker killed; how many gave other bytes."""
    if not RAY.exists():
        say("cluster: the extra [cluster] is not installed, nothing was tried")
        return 0
    bad = 0
    with nodes():
        for stage in (None, "documents", "clicks"):
            out = folder / f"cluster-{stage}"
            found, killed = build_on_it(definition, out, kill_in=stage)
            bad += found != wanted
            same = "the same bytes" if found == wanted else "OTHER BYTES"
            say(f"two nodes, {killed} workers killed in {stage}: {same}")
    return bad


def publishing(_: Path, __: str, folder: Path, count: int = 60, pairs: int = 10) -> int:
    """Kill imports and classification builds, and run two at once; how many left something bad."""
    bad = 0
    for name, command in COMMANDS.items():
        found = kill_runs(command, folder / f"killed-{name}", count, seed=5)
        twice = [run_twice(command, folder / f"twice-{name}-{n}") for n in range(pairs)]
        wrong = [*found.broken, *filter(None, [found.twice, *twice])]
        say(
            f"{name}: {found.kills} kills, {found.new} of {count} left the new version, "
            f"{pairs} pairs at once, {len(wrong)} bad"
        )
        for line in wrong:
            say(line)
        bad += len(wrong)
    return bad


PARTS: dict[str, Callable[[Path, str, Path], int]] = {
    "disks": full_disks,
    "same": same,
    "cluster": cluster,
    "kills": kills,
    "flips": lambda definition, _, folder: flips(definition, folder),
    "within": kills_within,
    "publishing": publishing,
}


def main(names: list[str]) -> int:
    """Try the named parts, or everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        definition, wanted = make_world(folder)
        bad = sum(PARTS[part](definition, wanted, folder) for part in names or PARTS)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
