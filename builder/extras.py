"""Imports optional dependencies on first use."""

from importlib import import_module
from typing import Any

from builder.errors import MissingExtraError


def import_optional_module(module: str, feature: str, extra: str) -> Any:
    """Import and return a module of an optional dependency.

    Args:
        module: Module name, such as `scipy.special`.
        feature: Name of the feature that needs the module, for the error message.
        extra: Extra of this package that installs the module.

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
