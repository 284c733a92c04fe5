"""Build, check and study longitudinal test collections for information retrieval.

The verbs of the command `longeval` are functions here, and load what they need when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from builder._build import BuildReport, build
    from builder._demo import demo
    from builder.collection.read import Collection, Snapshot, open_collection
    from builder.collection.validate import validate
    from builder.errors import DataError, LongEvalError, UsageError
    from builder.simulation import Simulation, simulate, simulate_over

_HOMES = {
    "BuildReport": "builder._build",
    "Collection": "builder.collection.read",
    "DataError": "builder.errors",
    "LongEvalError": "builder.errors",
    "Simulation": "builder.simulation",
    "Snapshot": "builder.collection.read",
    "UsageError": "builder.errors",
    "build": "builder._build",
    "demo": "builder._demo",
    "open_collection": "builder.collection.read",
    "simulate": "builder.simulation",
    "simulate_over": "builder.simulation",
    "validate": "builder.collection.validate",
}

__all__ = [
    "BuildReport",
    "Collection",
    "DataError",
    "LongEvalError",
    "Simulation",
    "Snapshot",
    "UsageError",
    "__version__",
    "build",
    "demo",
    "open_collection",
    "simulate",
    "simulate_over",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'builder' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
