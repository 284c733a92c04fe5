"""A build that is killed loses the step that was running, and nothing else."""

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

import builder
from tests.faults.flips import count_found, is_found
from tests.faults.kills import (
    command,
    copy_until,
    kill_again_and_again,
    kill_within,
    published,
    resumes,
)
from tests.thorough import ALL

TERM, INT, KILL = signal.SIGTERM, signal.SIGINT, signal.SIGKILL
CHAINS = (
    [((KILL,), (0, 1), 10), ((TERM,), (6, 10), 3), ((INT,), (6, 10), 3)]
    if ALL
    else [((TERM, INT, KILL), (6, 9), 3)]
)
"""Signals, sent in turn; steps between two of them; and the fewest that must be sent."""


@pytest.mark.parametrize(("how", "apart", "least"), CHAINS)
def test_killed_builds_resume_to_the_same_bytes(
    how: tuple[signal.Signals, ...],
    apart: tuple[int, int],
    least: int,
    undisturbed: tuple[Path, str],
    tmp_path: Path,
) -> None:
    definition, wanted = undisturbed
    rng = random.Random(int(how[-1]))
    chain = kill_again_and_again(definition, tmp_path / "out", rng, how, apart)
    assert chain.kills >= least
    assert chain.repeated == ()
    assert chain.leftovers == ()
    assert chain.sums == wanted


def test_kills_within_stages_resume_to_the_same_bytes(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    definition, wanted = undisturbed
    for stage in ("log", "clicks"):
        rng = random.Random(stage)
        count = 20 if ALL else 2
        kills = [kill_within(definition, tmp_path / "out", stage, rng) for _ in range(count)]
        assert kills[0]
    assert resumes(definition, tmp_path / "out", wanted)


def test_two_builds_at_once(undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    definition, wanted = undisturbed
    runs = [
        subprocess.Popen(
            command(definition, tmp_path / "out"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [run.communicate()[0] for run in runs]
    codes = sorted(run.returncode for run in runs)
    assert codes == [0, 1]
    refused = outputs[[run.returncode for run in runs].index(1)]
    assert "another build or import of this collection is running" in refused
    version = builder.open_collection(tmp_path / "out").path
    assert (version / "SHA256SUMS").read_text() == wanted


def test_a_flipped_byte_in_an_intermediate_table_is_built_again(
    undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    definition, wanted = undisturbed
    out = tmp_path / "out"
    copy_until(definition, out, "grades")
    tables = sorted((out / ".work").rglob("graded_pairs.parquet"))
    assert len(tables) == 2
    data = bytearray(tables[0].read_bytes())
    data[len(data) // 2] ^= 8
    tables[0].write_bytes(data)
    report = builder.build(definition, out)
    assert (report.version / "SHA256SUMS").read_text() == wanted  # type: ignore[operator]
    assert {r.step.stage.name for r in report.results if r.has_run} >= {"grades", "qrels"}


def test_a_clock_that_jumps_changes_nothing(undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    definition, wanted = undisturbed
    out = tmp_path / "out"
    done = copy_until(definition, out, "grades")
    for path in (out / ".work").rglob("*"):
        os.utime(path, (2**31, 2**31), follow_symlinks=False)
    report = builder.build(definition, out)
    assert (report.version / "SHA256SUMS").read_text() == wanted  # type: ignore[operator]
    assert {"topics", "log", "crawl"} < done
    assert "qrels" not in done
    assert not {r.step.stage.name for r in report.results if r.has_run} & done


def test_single_bits_of_a_version_are_found(undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    version = published(undisturbed[0])
    assert count_found(version, tmp_path / "copy", flips=60, seed=1) == 60
    assert not is_found(version)
