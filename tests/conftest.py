"""Worlds and collections that many tests share; built once a session."""

from pathlib import Path

import hypothesis
import pytest

import builder
from builder import BuildReport, SimulationParameters
from tests.faults.kills import make_world

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

WORLD = SimulationParameters(
    name="small",
    snapshots=3,
    documents=700,
    queries=60,
    impressions=6000,
    seed=5,
    malformed_rate=0.01,
)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated world: raw data and its truth."""
    folder = tmp_path_factory.mktemp("world")
    builder.simulate(folder, WORLD)
    return folder


@pytest.fixture(scope="session")
def built(world: Path, tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    """Its collection. Tests that change it work on a copy."""
    folder = tmp_path_factory.mktemp("collection")
    return builder.build(world / "workflow.toml", folder, threads=2)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The definition of a smaller world, and the sums of its version: see `published`."""
    return make_world(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data beside the project, where there is any."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared beside this checkout")
    return folder
