"""Click models, one small file each, over the same statistics; `MODELS` names them."""

from builder.clicks.models.cascade import cascade
from builder.clicks.models.ctr import document_ctr, global_ctr, rank_ctr
from builder.clicks.models.dbn import dbn
from builder.clicks.models.dbn_pyclick import dbn_pyclick
from builder.clicks.models.dcm import dcm
from builder.clicks.models.pages import Pages, Statistics
from builder.clicks.models.pbm import pbm
from builder.clicks.models.probabilities import LEAST, Prediction
from builder.clicks.models.sdbn import sdbn
from builder.clicks.models.training import Fit, Trained, Training
from builder.errors import UsageError, meant
from builder.plugins import installed, load

MODELS: dict[str, Fit] = {
    "sdbn": sdbn,
    "dbn": dbn,
    "dcm": dcm,
    "cascade": cascade,
    "pbm": pbm,
    "global-ctr": global_ctr,
    "rank-ctr": rank_ctr,
    "document-ctr": document_ctr,
    "dbn-pyclick": dbn_pyclick,
}
"""Every model by the name it has on the command line."""


def model_of(name: str) -> Fit:
    """The model of a name: one of `MODELS`, or a plug-in of the group `click_models`.

    Raises:
        UsageError: there is none.
    """
    if name in MODELS:
        return MODELS[name]
    others = installed("click_models")
    if name not in others:
        raise UsageError(f"unknown click model {name!r}; {meant(name, (*MODELS, *others))}")
    found: Fit = load("click_models", name)
    return found


__all__ = [
    "LEAST",
    "MODELS",
    "Fit",
    "Pages",
    "Prediction",
    "Statistics",
    "Trained",
    "Training",
    "model_of",
]
