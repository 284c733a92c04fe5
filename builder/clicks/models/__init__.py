"""Click models, one per module, and their lookup by name."""

from importlib import import_module

from builder.clicks.models.pages import ClickCounts, ResultPages
from builder.clicks.models.probabilities import MIN_PROBABILITY, ClickProbabilities
from builder.clicks.models.training import FitFunction, TrainedModel, TrainingOptions
from builder.errors import UsageError, suggest
from builder.parameters import CLICK_MODELS
from builder.plugins import find_plugins, load_plugin


def get_fit_function(name: str) -> FitFunction:
    """Return the fit function of a built-in click model or of a plug-in (group `click_models`).

    Raises:
        UsageError: no click model has this name.
    """
    if name in CLICK_MODELS:
        module, _, function = CLICK_MODELS[name].partition(":")
        known: FitFunction = getattr(import_module(module), function)
        return known
    others = find_plugins("click_models")
    if name not in others:
        raise UsageError(f"unknown click model {name!r}; {suggest(name, (*CLICK_MODELS, *others))}")
    found: FitFunction = load_plugin("click_models", name)
    return found


__all__ = [
    "MIN_PROBABILITY",
    "ClickCounts",
    "ClickProbabilities",
    "FitFunction",
    "ResultPages",
    "TrainedModel",
    "TrainingOptions",
    "get_fit_function",
]
