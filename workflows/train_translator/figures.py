"""Measure all figures of the model card: test set scores, fidelity, ordinary sentences.

In: a work folder with checkpoints and the float32 export, the int8 model, the test sets, the model
that was shipped before. Out: one dictionary, from which `card.py` writes the card.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from workflows.train_translator.evaluate import BEAM, compare_with_pytorch, evaluate
from workflows.train_translator.export import AVERAGED, average_checkpoints
from workflows.train_translator.model import Transformer
from workflows.train_translator.ordinary import outputs
from workflows.train_translator.train import Settings, checkpoints
from workflows.train_translator.validation import DEVICE, HeldOut, validate
from workflows.train_translator.warm import copy_weights, read_weights, shape_of

EXACT = ("flores_devtest", "newsdiscusstest2015", "multi30k_test_2016_flickr")
"""Test sets on which int8 is compared with float32, which is several times slower."""


def figures(work: Path, folder: Path, tests: Path, before: Path | None) -> dict[str, Any]:
    """Measure a model.

    Args:
        work: Work folder of the training.
        folder: The int8 model.
        tests: Folder with the test sets.
        before: Folder of the previously embedded model; None if there is none.
    """
    model = average_checkpoints(work)
    folders = {"before": before, "after": folder}
    return {
        "shape": asdict(model.shape),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "averaged": min(AVERAGED, len(checkpoints(work))),
        "int8": evaluate(folder, tests),
        "beam": evaluate(folder, tests, beam_size=BEAM),
        "float32": evaluate(work / "float32", tests, "float32", names=EXACT),
        "faithful": compare_with_pytorch(model, work / "float32", tests),
        "validation_before": _character(work, before) if before else None,
        "ordinary": {name: outputs(path, BEAM) for name, path in folders.items() if path},
    }


def _character(work: Path, folder: Path) -> float:
    """Validation loss of an exported model in nats per character."""
    vocabulary = folder / "shared.spm"
    weights = read_weights(folder / "model.bin")
    model = Transformer(shape_of(weights))
    copy_weights(model, weights)
    held_out = HeldOut.read(work, vocabulary)
    return validate(model.to(DEVICE), held_out, Settings.tokens)[1]
