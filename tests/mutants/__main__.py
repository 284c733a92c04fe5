"""`python -m tests.mutants PACKAGE`: what share of seeded faults in a package its tests find.

Each mutant of a sample is made in a temporary copy of the working tree and tested there by pytest,
with the tests of its package: first by those that execute its line, the fastest first, then, unless
no other test can notice it, by all of them. pytest stops at the first failure. Mutants, their files
and their diffs are printed. `builder` samples all packages. The exit code is 1 if a smaller share
than `--least` is killed.
"""

import argparse
import compileall
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path

from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec

from tests.mutants.sample import sample_mutants
from tests.mutants.selection import SELECTED, Selection, record_tests, select_tests

SHORTEST_TIMEOUT = 60.0
"""Seconds; a run of the tests on a mutant may take three times as long as one without."""

TESTED_ELSEWHERE = {
    "builder/commands": ["tests/cli"],
    "builder/models": ["tests/translation"],
    "builder/parameters": ["tests/definition", "tests/golden", "tests/cli"],
    "builder/plugins.py": ["tests/project"],
}
"""Tests of modules and packages that have no folder of their own below `tests`."""


def main(arguments: list[str]) -> int:
    """Sample, test and count mutants."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="longeval-mutants-") as folder:
        copy = Path(folder)
        _copy_tree(Path.cwd(), copy)
        compileall.compile_dir(copy, quiet=2)  # cosmic-ray has no bytecode written
        os.environ["PYTHONPATH"] = folder
        with chdir(copy):
            package = Path(options.package)
            files = [package] if package.is_file() else sorted(package.rglob("*.py"))
            mutants = sample_mutants(files, options.count, options.seed)
            killed = sum(
                _count_killed(group, tests)
                for tests, group in _by_tests(mutants, options.tests).items()
            )
    share = killed / max(1, len(mutants))
    sys.stdout.write(f"{killed} of {len(mutants)} mutants killed ({share:.0%})\n")
    return int(share < options.least)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("package", help="folder or file, such as builder/clicks")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", help="default: of each mutant, those of its package")
    parser.add_argument("--least", type=float, default=0.0, help="share that must be killed")
    return parser.parse_args(arguments)


def _copy_tree(root: Path, copy: Path) -> None:
    """Copy the files of a working tree that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)


def _by_tests(
    mutants: Sequence[MutationSpec], tests: Sequence[str] | None
) -> Mapping[tuple[str, ...], list[MutationSpec]]:
    """Group mutants by the tests to run on them: the given ones, or those of their packages."""
    groups = defaultdict(list)
    for mutant in mutants:
        groups[tuple(tests or _tests_of(Path(mutant.module_path)))].append(mutant)
    return groups


def _tests_of(module: Path) -> list[str]:
    """Return the folder below `tests` that is named as the package of a module.

    Packages without a folder are tested by that of another package (`TESTED_ELSEWHERE`).
    """
    for folder in reversed((module, *module.parents)):
        if elsewhere := TESTED_ELSEWHERE.get(folder.as_posix()):
            return elsewhere
        tests = Path("tests", *folder.parts[1:])
        if len(folder.parts) > 1 and tests.is_dir():
            return [tests.as_posix()]
    return ["tests"]


def _count_killed(mutants: Sequence[MutationSpec], tests: Sequence[str]) -> int:
    """Record a run of the tests without a mutant, and count the mutants that they kill."""
    begun = time.perf_counter()
    recording = record_tests(tests)
    timeout = max(SHORTEST_TIMEOUT, 3 * (time.perf_counter() - begun))
    killed = sum(
        _is_killed(mutant, select_tests(recording, mutant), tests, timeout) for mutant in mutants
    )
    sys.stdout.write(f"{killed} of {len(mutants)} killed by {' '.join(tests)}\n")
    return killed


def _is_killed(
    mutant: MutationSpec, selection: Selection, tests: Sequence[str], timeout: float
) -> bool:
    """Test a mutant, and print the outcome with its diff."""
    SELECTED.write_text("\n".join(selection.tests), "utf-8")
    runs = [[f"@{SELECTED}"]] if selection.tests else []
    runs += [] if selection.suffices else [["--ff", *tests]]
    for run in runs:
        command = shlex.join([sys.executable, "-m", "pytest", "-x", *run])
        result = mutate_and_test([mutant], command, timeout)
        if result.is_killed:
            break
    diff = (result.diff or "").partition("\n")[2]
    where = f"{mutant.module_path}:{mutant.start_pos[0]}: {mutant.operator_name}"
    outcome = "killed" if result.is_killed else "SURVIVED"
    outcome += " (timed out)" if result.output == "timeout" else ""
    sys.stdout.write(f"{outcome} {where}\n{diff}\n")
    sys.stdout.flush()
    return bool(result.is_killed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
