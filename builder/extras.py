"""Optional packages, loaded when first needed."""

from importlib import import_module
from typing import Any

from builder.errors import MissingExtraError


def load(module: str, feature: str, extra: str) -> Any:
    """A module of an optional package.

    Args:
        module: Its name, such as `scipy.special`.
        feature: What the user asked for.
        extra: The extra of this distribution that brings it.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
