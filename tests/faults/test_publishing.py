"""An import or a classification that is killed leaves the old state or the new one."""

from pathlib import Path

import pytest

from tests.faults.publishing import COMMANDS, KilledRuns, kill_runs, run_twice
from tests.thorough import ALL

KILLS = 20 if ALL else 4


@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_leaves_the_old_state_or_the_new_one(name: str, tmp_path: Path) -> None:
    found = kill_runs(COMMANDS[name], tmp_path / "killed", KILLS, seed=39)
    assert found == KilledRuns(found.kills, found.new, ())
    assert found.kills > 0


@pytest.mark.parametrize("name", COMMANDS)
def test_of_two_at_once_one_is_refused(name: str, tmp_path: Path) -> None:
    assert run_twice(COMMANDS[name], tmp_path / "twice") is None
