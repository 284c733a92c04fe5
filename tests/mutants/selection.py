"""Which tests execute a line, as recorded by one run with pytest-cov.

In: a command of pytest. Out: the tests by file and line. Tests that execute a mutated line are run
first, the fastest of them first, and often alone: a test that never executes the line cannot fail
because of it.
"""

import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome
from coverage import CoverageData

SELECTED = Path("selected-tests.txt")
"""The tests to run, one per line, as pytest reads them from `@FILE`."""
TIMES = Path("times.xml")
"""JUnit's report of the tests without a mutant."""


@dataclass(frozen=True)
class Recording:
    """What a run of the tests without a mutant showed.

    Args:
        coverage: Which test executes which line.
        seconds: Time of each test without its fixtures, by JUnit's name without parameters.
    """

    coverage: CoverageData
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Selection:
    """Tests that execute a mutated line.

    Args:
        tests: Their node ids, without parameters, the fastest first.
        suffices: Whether no other test can notice the mutant: the line is executed neither in
            a fixture, whose result later tests may share, nor on import, nor in other processes.
    """

    tests: Sequence[str]
    suffices: bool


def record_tests(tests: Sequence[str]) -> Recording:
    """Run tests that must pass, recording their times and which of them executes which line."""
    command = [sys.executable, "-m", "pytest", "-x", "--cov=builder", "--cov=schemas"]
    command += ["--cov=workflows", "--cov-context=test", "--cov-report="]
    command += [f"--junitxml={TIMES}", "-o", "junit_duration_report=call", *tests]
    outcome, output = run_tests(shlex.join(command), None)
    if outcome is not TestOutcome.SURVIVED:
        raise SystemExit(f"the tests fail without a mutant:\n{output}")
    data = CoverageData(".coverage")
    data.read()
    return Recording(data, read_seconds(TIMES))


def read_seconds(path: Path) -> Mapping[str, float]:
    """The time of each test of a JUnit report; of a parametrized test, of all its cases."""
    seconds: dict[str, float] = defaultdict(float)
    for case in ET.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}".partition("[")[0]
        seconds[name] += float(case.get("time", 0))
    return seconds


def select_tests(recording: Recording, mutant: MutationSpec) -> Selection:
    """The tests that execute a line of a mutant, or any line of its file if none executes it."""
    executed = recording.coverage.contexts_by_lineno(str(Path(mutant.module_path).resolve()))
    lines = range(mutant.start_pos[0], mutant.end_pos[0] + 1)
    contexts = {context for line in lines for context in executed.get(line, ())}
    in_tests_only = bool(contexts) and all(context.endswith("|run") for context in contexts)
    if not contexts - {""}:
        contexts = {context for found in executed.values() for context in found}
    tests = {context.rpartition("|")[0].partition("[")[0] for context in contexts - {""}}
    by_time = sorted(tests, key=lambda test: (recording.seconds.get(_junit_name(test), 0), test))
    return Selection(by_time, in_tests_only)


def _junit_name(test: str) -> str:
    """JUnit's name of a test: `tests/test_a.py::TestB::test_c` is `tests.test_a.TestB.test_c`."""
    return test.replace(".py::", ".").replace("::", ".").replace("/", ".")
