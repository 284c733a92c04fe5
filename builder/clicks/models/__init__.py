"""Click models, one small file each, over the same statistics; `CLICK_MODELS` names them."""

from importlib import import_module

from builder.clicks.models.pages import Pages, Statistics
from builder.clicks.models.probabilities import LEAST, Prediction
from builder.clicks.models.training import Fit, Trained, Training
from builder.errors import UsageError, meant
from builder.parameters import CLICK_MODELS
from builder.plugins import installed, load


def model_of(name: str) -> Fit:
    """The model of a name: one of `CLICK_MODELS`, or a plug-in of the group `click_models`.

    Raises:
        UsageError: there is none.
    """
    if name in CLICK_MODELS:
        module, _, function = CLICK_MODELS[name].partition(":")
        known: Fit = getattr(import_module(module), function)
        return known
    others = installed("click_models")
    if name not in others:
        raise UsageError(f"unknown click model {name!r}; {meant(name, (*CLICK_MODELS, *others))}")
    found: Fit = load("click_models", name)
    return found


__all__ = [
    "LEAST",
    "Fit",
    "Pages",
    "Prediction",
    "Statistics",
    "Trained",
    "Training",
    "model_of",
]
