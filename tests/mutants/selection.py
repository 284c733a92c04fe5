"""Which tests may notice a mutant, as recorded by one run with pytest-cov.

In: a command of pytest. Out: the tests to run on a mutant. A test that never executes a line cannot
fail because of it, unless the line is executed in a fixture, whose result other tests may share, on
import, or in another process. Of all tests that may notice a mutant, those of its package are tried
first, the fastest first, as many as a time limit allows.
"""

import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


def record_tests(tests: Sequence[str], processes: int) -> Recording:
    """Run tests that must pass, recording their times and which of them executes which line."""
    command = [sys.executable, "-m", "pytest", "-x", "--cov=builder", "--cov=schemas"]
    command += ["--cov=workflows", "--cov-context=test", "--cov-report="]
    command += ["--numprocesses", str(processes), "--dist", "worksteal"]
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


def select_tests(
    recording: Recording, mutant: MutationSpec, own: Sequence[str], limit: float = 30.0
) -> list[str]:
    """Select tests that may notice a mutant.

    They are the tests that execute its lines. If a line is executed outside tests too, the tests
    that execute any line of its file are added; if no test executes it, they replace them.

    Args:
        recording: A run of the tests without the mutant.
        mutant: The mutant.
        own: Folders of the tests of its package, which are tried first.
        limit: Seconds that all selected tests may take together.

    Returns:
        Node ids without parameters, in the order in which the tests should be run; none if no test
        executes a line of the file.
    """
    executed = recording.coverage.contexts_by_lineno(str(mutant.module_path.resolve()))
    lines = range(mutant.start_pos[0], mutant.end_pos[0] + 1)
    contexts = {context for line in lines for context in executed.get(line, ())}
    near = _tests(contexts)
    anywhere = {context for found in executed.values() for context in found}
    is_in_tests_only = bool(contexts) and all(context.endswith("|run") for context in contexts)
    far = set() if is_in_tests_only else _tests(anywhere) - near

    def order(test: str) -> tuple[bool, float, str]:
        is_foreign = not any(Path(test).is_relative_to(folder) for folder in own)
        return is_foreign, recording.seconds.get(_junit_name(test), 0), test

    selected, total = [], 0.0
    for test in (*sorted(near, key=order), *sorted(far, key=order)):
        total += recording.seconds.get(_junit_name(test), 0)
        if total > limit and selected:
            break
        selected.append(test)
    return selected


def _tests(contexts: Iterable[str]) -> set[str]:
    """Return the node ids, without parameters, of the tests of coverage contexts."""
    return {context.rpartition("|")[0].partition("[")[0] for context in contexts if context}


def _junit_name(test: str) -> str:
    """JUnit's name of a test: `tests/test_a.py::TestB::test_c` is `tests.test_a.TestB.test_c`."""
    return test.replace(".py::", ".").replace("::", ".").replace("/", ".")
