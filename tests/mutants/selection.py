"""Which tests execute a line, as recorded by one run with pytest-cov.

In: a command of pytest. Out: the tests by file and line. Tests that execute a mutated line are run
first, and often alone: a test that never executes the line cannot fail because of it.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome
from coverage import CoverageData

SELECTED = Path("selected-tests.txt")
"""The tests to run, one per line, as pytest reads them from `@FILE`."""


@dataclass(frozen=True)
class Selection:
    """Tests that execute a mutated line.

    Args:
        tests: Their node ids, without parameters.
        suffices: Whether no other test can notice the mutant: the line is executed neither in
            a fixture, whose result later tests may share, nor on import, nor in other processes.
    """

    tests: Sequence[str]
    suffices: bool


def record_coverage(tests: Sequence[str]) -> CoverageData:
    """Run tests that must pass, recording which of them executes which line of `builder`."""
    command = [sys.executable, "-m", "pytest", "-x", "--cov=builder", "--cov=schemas"]
    command += ["--cov=workflows", "--cov-context=test", "--cov-report=", *tests]
    outcome, output = run_tests(shlex.join(command), None)
    if outcome is not TestOutcome.SURVIVED:
        raise SystemExit(f"the tests fail without a mutant:\n{output}")
    data = CoverageData(".coverage")
    data.read()
    return data


def select_tests(data: CoverageData, mutant: MutationSpec) -> Selection:
    """The tests that execute a line of a mutant, or any line of its file if none executes it."""
    executed = data.contexts_by_lineno(str(Path(mutant.module_path).resolve()))
    lines = range(mutant.start_pos[0], mutant.end_pos[0] + 1)
    contexts = {context for line in lines for context in executed.get(line, ())}
    in_tests_only = bool(contexts) and all(context.endswith("|run") for context in contexts)
    if not contexts - {""}:
        contexts = {context for found in executed.values() for context in found}
    tests = sorted({context.rpartition("|")[0].partition("[")[0] for context in contexts - {""}})
    return Selection(tests, in_tests_only)
