"""All figures of a model's card: scores on every test set, fidelity, and the ordinary sentences.

In: a work folder with checkpoints and the float32 export, the int8 model, the test sets, the model
that was shipped before. Out: one dictionary, from which `card.py` writes the card.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workflows.train_translator.evaluate import BEAM, evaluate, faithful
from workflows.train_translator.export import AVERAGED, averaged
from workflows.train_translator.ordinary import outputs
from workflows.train_translator.train import checkpoints


def figures(work: Path, folder: Path, tests: Path, before: Path | None) -> dict[str, Any]:
    """Measure a model.

    Args:
        work: Work folder of the training.
        folder: The int8 model.
        tests: Folder with the test sets.
        before: Folder of the model shipped before; None where there is none.
    """
    model = averaged(work)
    beams = work / "beams.json"
    folders = {"before": before, "after": folder}
    return {
        "shape": asdict(model.shape),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "averaged": min(AVERAGED, len(checkpoints(work))),
        "int8": evaluate(folder, tests),
        "beam": evaluate(folder, tests, beam_size=BEAM),
        "float32": evaluate(work / "float32", tests, "float32"),
        "faithful": faithful(model, work / "float32", tests),
        "beams": json.loads(beams.read_text("utf-8")) if beams.exists() else [],
        "ordinary": {name: outputs(path, BEAM) for name, path in folders.items() if path},
    }
