"""Which tests are run on a mutant."""

from pathlib import Path

import pytest
from cosmic_ray.work_item import MutationSpec
from coverage import CoverageData

from tests.mutants.selection import Selection, select_tests

CONTEXTS = {
    "": {1, 2, 9},
    "tests/test_a.py::test_one[1-2]|run": {3, 4},
    "tests/test_a.py::test_one[3-4]|run": {3},
    "tests/test_b.py::TestB::test_two|run": {4},
    "tests/test_b.py::TestB::test_two|setup": {5},
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    return tmp_path / "module.py"


@pytest.fixture
def coverage(module: Path) -> CoverageData:
    data = CoverageData(no_disk=True)
    for context, lines in CONTEXTS.items():
        data.set_context(context)
        data.add_lines({str(module): lines})
    return data


ONE, TWO = "tests/test_a.py::test_one", "tests/test_b.py::TestB::test_two"


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (3, 3, Selection([ONE], suffices=True)),
        (3, 4, Selection([ONE, TWO], suffices=True)),
        (5, 5, Selection([TWO], suffices=False)),  # in a fixture that later tests may share
        (4, 5, Selection([ONE, TWO], suffices=False)),
        (9, 9, Selection([ONE, TWO], suffices=False)),  # on import: a constant
        (7, 7, Selection([ONE, TWO], suffices=False)),  # in another process, or never
    ],
)
def test_tests_that_execute_the_mutated_lines_are_selected(
    module: Path, coverage: CoverageData, first: int, last: int, expected: Selection
) -> None:
    mutant = MutationSpec(module, "core/AddNot", 0, (first, 0), (last, 1), None)
    assert select_tests(coverage, mutant) == expected


def test_a_file_that_no_test_executes_has_no_selection(coverage: CoverageData) -> None:
    mutant = MutationSpec(Path("absent.py"), "core/AddNot", 0, (1, 0), (1, 1), None)
    assert select_tests(coverage, mutant) == Selection([], suffices=False)
