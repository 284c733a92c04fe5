"""Which mutants are sampled, and how literals of SQL are mutated."""

from pathlib import Path

import pytest
from cosmic_ray.mutating import mutate_code

from tests.mutants.__main__ import _tests_of
from tests.mutants.sample import sample_mutants
from tests.mutants.sql import SqlReplacer

SOURCE = '''"""Docs: SELECT a FROM t WHERE a < 1."""

QUERY = """
SELECT DISTINCT a FROM t
WHERE a < 1 AND b IS NULL
"""
"""What SELECT a < b means."""


def largest(one: int | None, two: int | None = 3) -> int | None:
    if one is None or two is None:
        return None
    return one if one > two else two + 0
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "module.py").write_text(SOURCE)
    return tmp_path / "module.py"


def test_the_sample_depends_on_the_seed_alone(file: Path) -> None:
    first, again, other = (sample_mutants([file], 6, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first == sorted(first, key=lambda mutant: mutant.start_pos)


def test_each_position_has_one_mutant_and_annotations_none(file: Path) -> None:
    starts = [tuple(mutant.start_pos) for mutant in sample_mutants([file], 1000, 1)]
    assert len(set(starts)) == len(starts)
    constructs = {(4, 7), (5, 7), (5, 11), (5, 17)}
    assert constructs <= set(starts)
    assert {line for line, _ in starts} == {4, 5, 10, 11, 13}
    assert [column for line, column in starts if line == 10] == [SOURCE.split("\n")[9].index("3")]


def test_mutants_that_are_no_python_are_left_out(tmp_path: Path) -> None:
    """A marker `*` has ten replacements; only `/`, which is a marker too, can be compiled."""
    path = tmp_path / "module.py"
    path.write_text("def add(one: int, *, two: int) -> int:\n    return one + two\n")
    found = [mutant for seed in range(20) for mutant in sample_mutants([path], 1000, seed)]
    markers = {mutant.operator_name for mutant in found if mutant.start_pos == (1, 18)}
    assert markers <= {"core/ReplaceBinaryOperator_Mul_Div"}
    assert sum(mutant.start_pos == (2, 15) for mutant in found) == 20


def test_mutants_that_cannot_be_made_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("try:\n    pass\nexcept (*ERRORS, OSError):\n    pass\n")
    found = [mutant for seed in range(20) for mutant in sample_mutants([path], 1000, seed)]
    assert {tuple(mutant.start_pos) for mutant in found} == {(3, 17)}


@pytest.mark.parametrize("number", [0, 1])
def test_examples_of_sql(number: int) -> None:
    example = SqlReplacer.examples()[number]
    code = mutate_code(example.pre_mutation_code, SqlReplacer(), example.occurrence)
    assert code == example.post_mutation_code


def test_the_tests_of_a_package() -> None:
    assert _tests_of(Path("builder/clicks/models")) == ["tests/clicks"]
    assert _tests_of(Path("builder/text/keys.py")) == ["tests/text"]
    assert _tests_of(Path("builder")) == ["tests"]
    assert _tests_of(Path("builder/commands/new.py")) == ["tests/cli"]
    assert _tests_of(Path("builder/pipeline.py")) == ["tests"]
