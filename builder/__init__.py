"""Builds, validates and analyzes longitudinal test collections for information retrieval.

The main `longeval` commands are available as functions of this package, imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from builder.collection.compare import compare
    from builder.collection.export import export
    from builder.collection.imports import import_release
    from builder.collection.read import Collection, Snapshot, open_collection
    from builder.collection.validate import validate
    from builder.commands.build import BuildReport, build, verify
    from builder.commands.demo import demo
    from builder.errors import DataError, LongEvalError, UsageError
    from builder.simulation import SimulationParameters, simulate, simulate_over_crawls

_MODULES = {
    "BuildReport": "builder.commands.build",
    "Collection": "builder.collection.read",
    "DataError": "builder.errors",
    "LongEvalError": "builder.errors",
    "SimulationParameters": "builder.simulation",
    "Snapshot": "builder.collection.read",
    "UsageError": "builder.errors",
    "build": "builder.commands.build",
    "compare": "builder.collection.compare",
    "demo": "builder.commands.demo",
    "export": "builder.collection.export",
    "import_release": "builder.collection.imports",
    "open_collection": "builder.collection.read",
    "simulate": "builder.simulation",
    "simulate_over_crawls": "builder.simulation",
    "validate": "builder.collection.validate",
    "verify": "builder.commands.build",
}

__all__ = [
    "BuildReport",
    "Collection",
    "DataError",
    "LongEvalError",
    "SimulationParameters",
    "Snapshot",
    "UsageError",
    "__version__",
    "build",
    "compare",
    "demo",
    "export",
    "import_release",
    "open_collection",
    "simulate",
    "simulate_over_crawls",
    "validate",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'builder' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
