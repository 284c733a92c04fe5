"""An import or a classification that is killed leaves the old state or the new one."""

import pytest

from tests.faults.publishing import COMMANDS, KilledRuns, kill_runs
from tests.thorough import ALL

KILLS = 20 if ALL else 2


@pytest.fixture(scope="module", params=COMMANDS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KilledRuns:
    """What kills of a command left, and two runs at once after them."""
    folder = tmp_path_factory.mktemp("killed")
    return kill_runs(COMMANDS[request.param], folder, KILLS, seed=39)


def test_a_kill_leaves_the_old_state_or_the_new_one(found: KilledRuns) -> None:
    assert found.broken == ()
    assert found.kills > 0


def test_of_two_at_once_one_is_refused(found: KilledRuns) -> None:
    assert found.twice is None
