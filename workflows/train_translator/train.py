"""Resumable training: the whole state is saved every few minutes.

In: `pairs.tsv` and `shared.spm` of the work folder. Out: `checkpoints/NNNNNN.pt`, of which a
later call resumes the newest, and `curve.jsonl`, the learning curve. Weights of the layers are
trained with Muon (Jordan et al. 2024), embeddings, norms and biases with AdamW, in bfloat16 where
the device computes in it. The learning rate rises, stays, and falls to nothing at the last of the
steps, or at the end of the minutes, that were asked for; a later call may ask for more or fewer. A
training may begin from an exported model (`warm.py`). It waits while `make bench` runs.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from workflows.machine import wait_for_benchmark
from workflows.train_translator.batches import epoch
from workflows.train_translator.config import ModelConfig
from workflows.train_translator.model import Transformer
from workflows.train_translator.validation import DEVICE, HeldOut, in_bfloat16, validate
from workflows.train_translator.vocabulary import PADDING, Encoded, encode, read
from workflows.train_translator.warm import copy_weights, start_weights

WARM_UP = 250
"""Steps over which the learning rate rises."""
KEPT = 6
"""Checkpoints that are kept, for averaging."""


@dataclass(frozen=True)
class Settings:
    """How a model is trained.

    Args:
        steps: Batches of training.
        minutes: Training time in minutes instead of `steps`, over all calls, without pauses.
        fall: Final fraction of the training over which the learning rate falls to 0.
        tokens: Target pieces per batch.
        longest: Maximum pieces per side.
        rate: Peak learning rate.
        smoothing: Label smoothing.
        seed: Random seed of weights and order.
        save_steps: Steps between two checkpoints.
        start: Folder of an exported model to begin from, in place of random weights.
    """

    steps: int = 13000
    minutes: float | None = None
    fall: float = 0.35
    tokens: int = 3000
    longest: int = 80
    rate: float = 2e-3
    smoothing: float = 0.1
    seed: int = 1
    save_steps: int = 250
    start: Path | None = None


@dataclass
class State:
    """Training progress, as saved in a checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    pairs: int = 0


class Trainer:
    """A model, its optimisers and its training state.

    Args:
        work: Folder with `pairs.tsv` and `shared.spm`.
        shape: Sizes of the model.
        settings: How it is trained.
    """

    def __init__(self, work: Path, shape: ModelConfig, settings: Settings) -> None:
        self.work = work
        self.settings = settings
        torch.manual_seed(settings.seed)
        self.model = Transformer(shape)
        if settings.start is not None:
            copy_weights(self.model, start_weights(settings.start, work / "shared.spm"))
        self.model.to(DEVICE)
        embedding = self.model.embedding.weight
        layers = [p for p in self.model.parameters() if p.ndim == 2 and p is not embedding]
        others = [p for p in self.model.parameters() if not any(p is q for q in layers)]
        self.optimisers = [
            torch.optim.Muon(
                layers, lr=settings.rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"
            ),
            torch.optim.AdamW(
                others, lr=settings.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
            ),
        ]
        self.state = State()
        self._since = time.monotonic()
        self._resume()

    def train(self, say: Callable[[str], None]) -> None:
        """Train until all steps are done."""
        encoded = encode(
            read(self.work / "pairs.tsv"),
            self.work / "shared.spm",
            self.settings.longest,
            augmented=True,
        )
        held_out = HeldOut.read(self.work)
        pairs, pieces = len(encoded.targets.ends), len(encoded.targets.pieces)
        say(f"{pairs:,} pairs, {pieces:,} target pieces")
        if not self.state.step:
            start, _ = validate(self.model, held_out, self.settings.tokens)
            say(f"validation at the start {start:.4f}")
        self._since = time.monotonic()
        while self._done() < 1:
            for loss in self._epoch(encoded):
                if self.state.step % 50 == 0:
                    say(self._line(float(loss)))
                over = self._done() >= 1
                if over or self.state.step % self.settings.save_steps == 0:
                    say(self._save(validate(self.model, held_out, self.settings.tokens)))
                if over:
                    return
            self.state.epoch, self.state.batch = self.state.epoch + 1, 0

    def _epoch(self, encoded: Encoded) -> Iterator[torch.Tensor]:
        """Train on the rest of an epoch; yields the loss of each step."""
        batches = epoch(encoded, self.settings.tokens, self.settings.seed, self.state.epoch)
        for source, target in islice(batches, self.state.batch, None):
            loss = self._step(source.to(DEVICE), target.to(DEVICE))
            self._count_time()
            self.state.step += 1
            self.state.batch += 1
            self.state.pairs += len(source)
            yield loss

    def _count_time(self) -> None:
        """Add the time since the last step to the training time; pause during benchmarks."""
        self.state.seconds += time.monotonic() - self._since
        wait_for_benchmark()
        self._since = time.monotonic()

    def _step(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Learn from one batch; the loss is not waited for, so that a GPU is never idle."""
        self.model.train()
        rate = self._rate()
        with in_bfloat16():
            loss = self.model.loss(source, target, PADDING, self.settings.smoothing)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
            optimiser.zero_grad()
        return loss.detach()

    def _done(self) -> float:
        """Fraction of the training that is done."""
        if self.settings.minutes is not None:
            return self.state.seconds / 60 / self.settings.minutes
        return self.state.step / self.settings.steps

    def _rate(self) -> float:
        """The learning rate of the next step."""
        rise = min(1.0, (self.state.step + 1) / WARM_UP)
        left = max(1 - self._done(), 0.0)
        return self.settings.rate * rise * min(1.0, left / self.settings.fall)

    def _line(self, loss: float) -> str:
        state = self.state
        return (
            f"step {state.step:,} ({self._done():.1%}) epoch {state.epoch} "
            f"pairs {state.pairs:,} loss {loss:.3f} {state.seconds / 60:.1f} min"
        )

    def _save(self, validation: tuple[float, float]) -> str:
        """Write a checkpoint atomically, and append a point to the learning curve."""
        folder = self.work / "checkpoints"
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.state.step:06d}.pt"
        state = {
            "shape": asdict(self.model.shape),
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "state": asdict(self.state),
            "random": torch.get_rng_state(),
        }
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)
        for old in checkpoints(self.work)[:-KEPT]:
            old.unlink()
        point = {**asdict(self.state), "validation": round(validation[0], 4)}
        point["validation_character"] = round(validation[1], 4)
        with (self.work / "curve.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(point) + "\n")
        return f"saved {path.name}: validation {validation[0]:.4f}"

    def _resume(self) -> None:
        """Resume from the newest checkpoint, if there is one."""
        found = checkpoints(self.work)
        if not found:
            return
        saved = load(found[-1])
        self.model.load_state_dict(saved["model"])
        for optimiser, state in zip(self.optimisers, saved["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        self.state = State(**saved["state"])
        torch.set_rng_state(saved["random"])


def checkpoints(work: Path) -> list[Path]:
    """The checkpoints of a work folder, oldest first."""
    return sorted((work / "checkpoints").glob("*.pt"))


def save_weights(work: Path) -> Path:
    """Write the weights of the newest checkpoint, in half precision, to `weights.pt`.

    They can be exported from `checkpoints/` of another work folder, not trained on.
    """
    newest = load(checkpoints(work)[-1])
    half = {name: values.half() for name, values in newest["model"].items()}
    path = work / "weights.pt"
    torch.save({"shape": newest["shape"], "model": half, "state": newest["state"]}, path)
    return path


def load(path: Path) -> dict[str, Any]:
    """Load a checkpoint; only tensors and plain values are unpickled."""
    loaded: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return loaded
