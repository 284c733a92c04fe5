"""Validation loss on held-out text, and the compute device.

In: a model and the validation set of a work folder. Out: cross-entropy in nats per piece, and in
nats per English character, which is comparable between vocabularies.
"""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from workflows.train_translator.batches import epoch
from workflows.train_translator.model import Transformer
from workflows.train_translator.vocabulary import PADDING, Encoded, encode, read

IN_BFLOAT16 = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
"""Whether the processor computes in it; where it does not, a step takes twenty times as long."""
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""Where the model is trained; a GPU always computes in bfloat16."""
VALIDATED = 400
"""Sentence pairs of the validation set that are measured."""


@dataclass(frozen=True)
class HeldOut:
    """Validation pairs.

    Args:
        encoded: The first pairs of the validation set.
        characters: Characters of their English sides.
    """

    encoded: Encoded
    characters: int

    @classmethod
    def read(cls, work: Path, vocabulary: Path | None = None) -> "HeldOut":
        """The validation set of a work folder, in its own vocabulary or in another."""
        pairs = list(islice(read(work / "validation.tsv"), VALIDATED))
        encoded = encode(iter(pairs), vocabulary or work / "shared.spm", 500)
        return cls(encoded, sum(len(english) for _, english in pairs))


def in_bfloat16() -> torch.autocast:
    """Run under bfloat16 autocast where the device supports it."""
    enabled = IN_BFLOAT16 or DEVICE.type == "cuda"
    return torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=enabled)


@torch.no_grad()
def validate(model: Transformer, held_out: HeldOut, tokens: int) -> tuple[float, float]:
    """Cross-entropy of held-out target text, in nats per piece and nats per character.

    Args:
        model: On `DEVICE`; left in evaluation mode.
        held_out: Validation pairs.
        tokens: Maximum target pieces per batch.
    """
    model.eval()
    total, pieces = 0.0, 0
    for source, target in epoch(held_out.encoded, tokens, 0, 0):
        count = int((target[:, 1:] != PADDING).sum())
        with in_bfloat16():
            loss = model.loss(source.to(DEVICE), target.to(DEVICE), PADDING, 0.0)
        total += float(loss) * count
        pieces += count
    return total / max(pieces, 1), total / max(held_out.characters, 1)
