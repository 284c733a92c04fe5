"""The hand-made model, built once."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def toy() -> ModuleType:
    """The module that builds it."""
    path = Path(__file__).with_name("toy_model.py")
    spec = importlib.util.spec_from_file_location("toy_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def model(toy: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder; the caller ends source sentences."""
    folder: Path = toy.build(tmp_path_factory.mktemp("models") / "toy", add_source_eos=False)
    return folder
