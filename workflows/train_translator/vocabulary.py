"""One SentencePiece vocabulary for both languages, and the pairs in its pieces.

In: `pairs.tsv`. Out: `shared.spm`, and the pairs as arrays of piece numbers. Characters that are
not in the vocabulary become bytes, so that no character is unknown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import sentencepiece

from workflows.train_translator.variants import augment

UNKNOWN, START, END = 0, 1, 2
PADDING = UNKNOWN
"""Never a target: with bytes for unknown characters the piece does not occur."""
SAMPLED = 100_000
"""Pairs that a vocabulary is made from, spread evenly over all."""

Pieces = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Encoded:
    """Pairs as piece ids.

    Args:
        sources: Pieces of the French sides, each ending with the end piece.
        targets: Pieces of the English sides, each from the start to the end piece.
    """

    sources: list[Pieces]
    targets: list[Pieces]


def train_vocabulary(work: Path, size: int) -> Path:
    """Train the shared vocabulary on both sides of a sample of the pairs, as users write them."""
    count = sum(1 for _ in read(work / "pairs.tsv"))
    sample = islice(read(work / "pairs.tsv"), 0, None, max(1, count // SAMPLED))
    lines = (side for pair in augment(sample) for side in pair)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_prefix=str(work / "shared"),
        vocab_size=size,
        model_type="unigram",
        character_coverage=0.9998,
        byte_fallback=True,
        normalization_rule_name="nmt_nfkc",
        num_threads=2,
        pad_id=-1,
        minloglevel=1,
    )
    return (work / "shared.model").rename(work / "shared.spm")


def size(model: Path) -> int:
    """Number of pieces of a vocabulary."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return int(processor.get_piece_size())


def read(path: Path) -> Iterator[tuple[str, str]]:
    """The pairs of a prepared file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            french, _, english = line.rstrip("\n").partition("\t")
            yield french, english


def encode(pairs: Iterator[tuple[str, str]], model: Path, longest: int) -> Encoded:
    """Encode pairs; pairs with more than `longest` pieces on a side are dropped."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    sources, targets = [], []
    for french, english in pairs:
        source, target = processor.encode(french), processor.encode(english)
        if 0 < len(source) <= longest and 0 < len(target) <= longest:
            sources.append(np.array([*source, END], dtype=np.uint16))
            targets.append(np.array([START, *target, END], dtype=np.uint16))
    return Encoded(sources, targets)
