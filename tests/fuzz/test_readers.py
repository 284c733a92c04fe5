"""A fixed part of the fuzzing, with every test run; all of it: `make fuzz`."""

from pathlib import Path

from tests.fuzz.readers import seeds, try_all


def test_damaged_inputs_lose_nothing(tmp_path: Path) -> None:
    ends = try_all(seeds(tmp_path), 220)
    assert sum(ends.values()) == 220
    assert ends["accepted or rejected by record"] > 100
