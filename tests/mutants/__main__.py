"""`python -m tests.mutants PACKAGE`: what share of seeded faults in a package the tests find.

Each mutant of a sample is made in a temporary copy of the working tree and tested there by pytest:
by tests that execute its line (see `selection`), the fastest first, until one fails or a time limit
is reached. As many mutants as there are CPUs are tested at once, each in its own copy. Mutants,
their files and their diffs are printed. The exit code is 1 if a smaller share than `--least` is
killed.
"""

import argparse
import compileall
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir
from itertools import repeat
from pathlib import Path

from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec

from tests.mutants.sample import sample_mutants
from tests.mutants.selection import SELECTED, record_tests, select_tests

TIMEOUT = 300.0
"""Seconds that the tests of a mutant may take; those that are selected need less without it."""

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
    package = Path(options.package)
    tests = options.tests or _tests_of(package)
    processes = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="longeval-mutants-") as folder:
        root = Path(folder, "recorded")
        _copy_tree(Path.cwd(), root)
        with chdir(root):
            files = [package] if package.is_file() else sorted(package.rglob("*.py"))
            mutants = sample_mutants(files, options.count, options.seed)
            recording = record_tests(tests, processes)
            own = [_tests_of(mutant.module_path) for mutant in mutants]
            selected = list(map(select_tests, repeat(recording), mutants, own))
        with ProcessPoolExecutor(processes, initializer=_enter_copy, initargs=(root,)) as pool:
            killed = 0
            for is_killed, outcome in pool.map(_test_mutant, mutants, selected):
                killed += is_killed
                sys.stdout.write(outcome)
                sys.stdout.flush()
    share = killed / max(1, len(mutants))
    sys.stdout.write(f"{killed} of {len(mutants)} mutants killed ({share:.0%})\n")
    return int(share < options.least)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("package", help="folder or file, such as builder/clicks")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--tests", nargs="*", help="default: those of the package; of `builder`, all"
    )
    parser.add_argument("--least", type=float, default=0.0, help="share that must be killed")
    return parser.parse_args(arguments)


def _copy_tree(root: Path, copy: Path) -> None:
    """Copy the files of a working tree that git does not ignore, and compile them.

    cosmic-ray has no bytecode written when it runs tests.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    compileall.compile_dir(copy, quiet=2)
    os.environ["PYTHONPATH"] = str(copy)


def _tests_of(module: Path) -> list[str]:
    """Return the folder below `tests` that is named as a package or the package of a module.

    Packages without a folder are tested by that of another package (`TESTED_ELSEWHERE`).
    """
    for folder in (module, *module.parents):
        if elsewhere := TESTED_ELSEWHERE.get(folder.as_posix()):
            return elsewhere
        tests = Path("tests", *folder.parts[1:])
        if len(folder.parts) > 1 and tests.is_dir():
            return [tests.as_posix()]
    return ["tests"]


def _enter_copy(root: Path) -> None:
    """Make a copy of the working tree for this process, and work in it from now on."""
    copy = Path(tempfile.mkdtemp(dir=root.parent))
    shutil.copytree(root, copy, dirs_exist_ok=True)
    os.environ["PYTHONPATH"] = str(copy)
    os.chdir(copy)


def _test_mutant(mutant: MutationSpec, tests: Sequence[str]) -> tuple[bool, str]:
    """Test a mutant; return whether a test failed, and the outcome with the diff as text."""
    if not tests:
        return (
            False,
            f"SURVIVED, executed by no test: {mutant.module_path}:{mutant.start_pos[0]}\n\n",
        )
    SELECTED.write_text("\n".join(tests), "utf-8")
    command = shlex.join([sys.executable, "-m", "pytest", "-x", f"@{SELECTED}"])
    result = mutate_and_test([mutant], command, TIMEOUT)
    diff = (result.diff or "").partition("\n")[2]
    where = f"{mutant.module_path}:{mutant.start_pos[0]}: {mutant.operator_name}"
    outcome = "killed" if result.is_killed else "SURVIVED"
    outcome += " (timed out)" if result.output == "timeout" else ""
    return bool(result.is_killed), f"{outcome} {where}\n{diff}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
