"""A fixed part of the fuzzing, with every test run; all of it: `make fuzz`."""

from collections import Counter
from pathlib import Path

import pytest

from builder.errors import FormatError, LongEvalError
from tests.fuzz import definitions, differential, others
from tests.fuzz.mutations import mutate
from tests.fuzz.readers import read, seeds, try_all
from tests.thorough import ALL


def test_damaged_inputs_lose_nothing(tmp_path: Path) -> None:
    count = 80 if ALL else 40
    ends = try_all(seeds(tmp_path), count)
    assert sum(ends.values()) == count
    assert ends["accepted or rejected by record"] > 0.4 * count


def test_random_logs_are_what_the_specification_says() -> None:
    ends = Counter[str]()
    files = 20 if ALL else 8
    for number in range(files):
        ends.update(differential.try_file(number, 120))
    assert sum(ends.values()) == files * 120
    assert min(ends.values()) > files * 25


@pytest.mark.parametrize("number", range(3))
def test_the_long_format_says_the_same(number: int) -> None:
    assert differential.try_long(number, 60) == {"kept": 60, "rejected": 0}


@pytest.mark.parametrize("number", range(10))
def test_another_encoding_says_the_same(number: int) -> None:
    assert differential.try_encoded(number, 60) == {"kept": 60, "rejected": 0}


FAILED_ONCE = (("crawl-parquet", 8427), ("crawl-warc", 113))
"""Inputs that once crashed a reader: a column name that is not UTF-8, a damaged packed archive."""


def test_inputs_that_once_failed(tmp_path: Path) -> None:
    originals = seeds(tmp_path)
    for kind, seed in FAILED_ONCE:
        found = read(kind, mutate(originals[kind], seed))
        assert isinstance(found, FormatError) or found.rows_in >= 0


def test_other_damaged_inputs_are_read_or_refused() -> None:
    ends = others.try_all(40)
    assert ends["read"] > 5
    assert ends["refused"] > 5


@pytest.mark.parametrize(
    ("kind", "seed"), [("definition", 380), ("manifest", 661), ("manifest", 1081)]
)
def test_other_inputs_that_once_failed(kind: str, seed: int) -> None:
    assert isinstance(others.read(kind, mutate(others.SEEDS[kind], seed)), LongEvalError)


DEFINITIONS = ((2, "built"), (10, "refused"), *([(3, "built")] if ALL else []))
"""Seeds of definitions and how they end; the last one takes as long as ten others."""


@pytest.mark.parametrize(("seed", "end"), DEFINITIONS)
def test_definitions_are_built_the_same_or_refused(seed: int, end: str) -> None:
    assert definitions.try_all(1, seed) == {end: 1}
