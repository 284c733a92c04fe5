"""Values do not change: every dataclass of the package is frozen."""

import dataclasses
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import builder

ROOT = Path(builder.__file__).parent
MODULES = [
    "builder." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "evaluation").rglob("[!_]*.py"))
]


@pytest.mark.parametrize("module", MODULES)
def test_dataclasses_are_frozen(module: str) -> None:
    for _, value in inspect.getmembers(import_module(module), inspect.isclass):
        if dataclasses.is_dataclass(value) and value.__module__ == module:
            assert value.__dataclass_params__.frozen, value
