"""The learning curve over data and model size: smaller models, and models trained on fewer pairs.

In: `pairs.tsv`, `validation.tsv` and `shared.spm` of a work folder, and test sets. Out: one line
of `learning.jsonl` per width and fraction of the pairs, written when known; a later call trains the
missing models. Fractions are nested. Every model sees each of its pairs equally often and uses the
same vocabulary, so that only width and data vary.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

from workflows.train_translator.batches import epoch
from workflows.train_translator.config import ModelConfig
from workflows.train_translator.evaluate import BEAM, evaluate
from workflows.train_translator.export import average_checkpoints, export
from workflows.train_translator.points import CURVE, SETS, points
from workflows.train_translator.train import Settings, Trainer
from workflows.train_translator.vocabulary import encode, read, size

EPOCHS = 7.6
"""How often each pair is seen: as often as the first embedded model saw its own."""
GRID = ((64, 16), (128, 16), (256, 16), (256, 8), (128, 8), (128, 4), (256, 4))
"""Widths of models, and of how many pairs they learn one."""

Say = Callable[[str], None]


def learning_curve(work: Path, tests: Path, say: Say) -> None:
    """Train and score every model of the grid without a result in `learning.jsonl`.

    Args:
        work: Folder that `prepare` filled.
        tests: Folder with the test sets.
        say: Receives progress messages.
    """
    known = {(point["width"], point["one_in"]) for point in points()}
    for width, one_in in GRID:
        if (width, one_in) not in known:
            point = _point(work, tests, width, one_in, say)
            with CURVE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(point) + "\n")
            say(json.dumps(point))


def sample(lines: Iterator[str], one_in: int) -> Iterator[str]:
    """Sample one in `one_in` lines by hash, so that duplicates stay together."""
    for line in lines:
        drawn = int.from_bytes(md5(line.encode(), usedforsecurity=False).digest()[:8], "big")
        if drawn * one_in < 1 << 64:
            yield line


def _point(work: Path, tests: Path, width: int, one_in: int, say: Say) -> dict[str, Any]:
    """Train one model and score it."""
    folder = work / "learning" / f"{width}-{one_in}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("shared.spm", "validation.tsv"):
        shutil.copyfile(work / name, folder / name)
    with (work / "pairs.tsv").open(encoding="utf-8") as file:
        (folder / "pairs.tsv").write_text("".join(sample(file, one_in)), encoding="utf-8")
    settings = Settings(steps=round(EPOCHS * _batches(folder)))
    trainer = Trainer(folder, _shape(folder, width), settings)
    trainer.train(say)
    export(average_checkpoints(folder), folder / "shared.spm", folder / "int8", "int8")
    last = json.loads((folder / "curve.jsonl").read_text("utf-8").splitlines()[-1])
    return {
        "width": width,
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "one_in": one_in,
        "pairs": len(set(read(folder / "pairs.tsv"))),
        "steps": settings.steps,
        "validation": last["validation"],
        "bleu": _scores(folder / "int8", tests, 1),
        "beam": _scores(folder / "int8", tests, BEAM),
    }


def _shape(folder: Path, width: int) -> ModelConfig:
    return ModelConfig(size(folder / "shared.spm"), width=width, inner=4 * width)


def _batches(folder: Path) -> int:
    """Number of batches per epoch of a folder's pairs."""
    encoded = encode(
        read(folder / "pairs.tsv"), folder / "shared.spm", Settings.longest, augmented=True
    )
    return sum(1 for _ in epoch(encoded, Settings.tokens, Settings.seed, 0))


def _scores(folder: Path, tests: Path, beam_size: int) -> dict[str, float]:
    found = evaluate(folder, tests, beam_size=beam_size, names=SETS)["scores"]
    return {name: score["bleu"] for name, score in found.items()}
