"""Which tests are run on a mutant."""

from pathlib import Path

import pytest
from cosmic_ray.work_item import MutationSpec
from coverage import CoverageData

from tests.mutants.selection import Recording, read_seconds, select_tests

CONTEXTS = {
    "": {1, 2, 9},
    "tests/a/test_a.py::test_one[1-2]|run": {3, 4},
    "tests/a/test_a.py::test_one[3-4]|run": {3},
    "tests/b/test_b.py::TestB::test_two|run": {4},
    "tests/b/test_b.py::TestB::test_two|setup": {5},
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    return tmp_path / "module.py"


@pytest.fixture
def recording(module: Path) -> Recording:
    data = CoverageData(no_disk=True)
    for context, lines in CONTEXTS.items():
        data.set_context(context)
        data.add_lines({str(module): lines})
    return Recording(data, {"tests.a.test_a.test_one": 0.5, "tests.b.test_b.TestB.test_two": 2.0})


ONE, TWO = "tests/a/test_a.py::test_one", "tests/b/test_b.py::TestB::test_two"


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (3, 3, [ONE]),
        (3, 4, [ONE, TWO]),
        (5, 5, [TWO, ONE]),  # in a fixture that later tests may share
        (4, 5, [ONE, TWO]),
        (9, 9, [ONE, TWO]),  # on import: a constant
        (7, 7, [ONE, TWO]),  # in another process, or never
    ],
)
def test_tests_that_execute_the_mutated_lines_are_selected_first(
    module: Path, recording: Recording, first: int, last: int, expected: list[str]
) -> None:
    mutant = MutationSpec(module, "core/AddNot", 0, (first, 0), (last, 1), None)
    assert select_tests(recording, mutant, ["tests"]) == expected


def test_a_file_that_no_test_executes_has_no_tests(recording: Recording) -> None:
    mutant = MutationSpec(Path("absent.py"), "core/AddNot", 0, (1, 0), (1, 1), None)
    assert select_tests(recording, mutant, ["tests"]) == []


def test_the_fastest_tests_of_the_package_are_run_first(recording: Recording, module: Path) -> None:
    mutant = MutationSpec(module, "core/AddNot", 0, (4, 0), (4, 1), None)
    slow_first = Recording(recording.coverage, {"tests.a.test_a.test_one": 3.0})
    assert select_tests(recording, mutant, ["tests"]) == [ONE, TWO]
    assert select_tests(slow_first, mutant, ["tests"]) == [TWO, ONE]
    assert select_tests(slow_first, mutant, ["tests/a"]) == [ONE, TWO]


def test_tests_are_selected_up_to_a_time_limit(recording: Recording, module: Path) -> None:
    mutant = MutationSpec(module, "core/AddNot", 0, (4, 0), (4, 1), None)
    assert select_tests(recording, mutant, ["tests"], limit=2.5) == [ONE, TWO]
    assert select_tests(recording, mutant, ["tests"], limit=2.4) == [ONE]
    assert select_tests(recording, mutant, ["tests"], limit=0.1) == [ONE]


def test_times_of_parametrized_tests_are_added(tmp_path: Path) -> None:
    cases = (
        '<testcase classname="tests.test_a" name="test_one[1-2]" time="0.25"/>'
        '<testcase classname="tests.test_a" name="test_one[a.b]" time="0.5"/>'
        '<testcase classname="tests.test_b.TestB" name="test_two" time="1.5"/>'
    )
    (tmp_path / "times.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    seconds = read_seconds(tmp_path / "times.xml")
    assert seconds == {"tests.test_a.test_one": 0.75, "tests.test_b.TestB.test_two": 1.5}
