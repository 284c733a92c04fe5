"""One SentencePiece vocabulary for both languages, and the pairs in its pieces.

In: `pairs.tsv`. Out: `shared.spm`, and the pairs as arrays of piece numbers. Characters that are
not in the vocabulary become bytes, so that no character is unknown.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
import sentencepiece

from workflows.train_translator.variants import SEED, augment

UNKNOWN, START, END = 0, 1, 2
PADDING = UNKNOWN
"""Never a target: with bytes for unknown characters the piece does not occur."""
SAMPLED = 100_000
"""Pairs that a vocabulary is made from, spread evenly over all."""
CHUNK = 50_000
"""Pairs that are encoded at a time by one process."""

Pieces = npt.NDArray[np.uint16]


Pair = tuple[str, str]


@dataclass(frozen=True)
class Texts:
    """Texts as piece ids, one after the other.

    Args:
        pieces: uint16[all pieces].
        ends: int64[texts]: where each text ends in `pieces`.
    """

    pieces: Pieces
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[list[int]]) -> "Texts":
        """Lay texts out one after the other."""
        arrays = [np.array(text, dtype=np.uint16) for text in texts]
        lengths = np.array([len(array) for array in arrays], dtype=np.int64)
        return cls(np.concatenate([np.empty(0, np.uint16), *arrays]), np.cumsum(lengths))

    @classmethod
    def joined(cls, parts: list["Texts"]) -> "Texts":
        """The texts of several parts, in order."""
        begins = np.cumsum([0, *(len(part.pieces) for part in parts)])
        ends = [part.ends + begin for part, begin in zip(parts, begins, strict=False)]
        return cls(np.concatenate([part.pieces for part in parts]), np.concatenate(ends))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Pieces of each text: int64[texts]."""
        return np.diff(self.ends, prepend=0)

    def padded(self, rows: npt.NDArray[np.int64], step: int = 1) -> npt.NDArray[np.int64]:
        """The given texts, padded on the right: int64[rows, width].

        The width is that of the longest text, rounded up to a multiple of `step`.
        """
        lengths = self.lengths_of(rows)
        columns = np.arange(-(-int(lengths.max()) // step) * step)
        inside = columns < lengths[:, None]
        places = np.where(inside, (self.ends[rows] - lengths)[:, None] + columns, 0)
        return np.where(inside, self.pieces[places], PADDING).astype(np.int64)

    def lengths_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Pieces of the given texts: int64[rows]."""
        return self.ends[rows] - np.where(rows > 0, self.ends[rows - 1], 0)


@dataclass(frozen=True)
class Encoded:
    """Pairs as piece ids.

    Args:
        sources: The French sides, each ending with the end piece.
        targets: The English sides, each from the start to the end piece.
    """

    sources: Texts
    targets: Texts


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


def read(path: Path) -> Iterator[Pair]:
    """The pairs of a prepared file, each as often as its third column says (absent: once)."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            french, english, *repetitions = line.rstrip("\n").split("\t")
            for _ in range(int(repetitions[0]) if repetitions else 1):
                yield french, english


def encode(pairs: Iterable[Pair], model: Path, longest: int, *, augmented: bool = False) -> Encoded:
    """Encode pairs; pairs with more than `longest` pieces on a side are dropped.

    Args:
        pairs: French and English texts.
        model: SentencePiece model.
        longest: Maximum pieces per side.
        augmented: Rewrite pairs as users type them first (`variants.py`); a random draw that
            depends on the order of the pairs alone.
    """
    given = iter(pairs)
    chunks = enumerate(iter(lambda: list(islice(given, CHUNK)), []))
    encode_one = partial(_encode_chunk, model=model, longest=longest, augmented=augmented)
    first = list(islice(chunks, 2))
    if len(first) < 2:
        parts = [encode_one(chunk) for chunk in first]
    else:
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            parts = [encode_one(first[0]), *pool.map(encode_one, [*first[1:], *chunks])]
    sources, targets = ([part[side] for part in parts] or [Texts.of([])] for side in (0, 1))
    return Encoded(Texts.joined(sources), Texts.joined(targets))


def _encode_chunk(
    numbered: tuple[int, list[Pair]], model: Path, longest: int, augmented: bool
) -> tuple[Texts, Texts]:
    """Sources and targets of one chunk of pairs."""
    number, pairs = numbered
    rewritten = list(augment(iter(pairs), SEED + number)) if augmented else pairs
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    french, english = (processor.encode([pair[side] for pair in rewritten]) for side in (0, 1))
    kept = [
        (source, target)
        for source, target in zip(french, english, strict=True)
        if 0 < len(source) <= longest and 0 < len(target) <= longest
    ]
    sources = Texts.of([*source, END] for source, _ in kept)
    return sources, Texts.of([START, *target, END] for _, target in kept)
