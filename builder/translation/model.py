"""Reads and checks the folder of a CTranslate2 translation model.

Input: a folder with `model.bin`, `config.json`, a vocabulary, and either `source.spm` and
`target.spm` (as in OPUS-MT) or one shared SentencePiece model. Output: a `ModelFolder` with its
files, its vocabulary, its hash, and whether the engine or the caller appends `</s>` to source
sentences: the engine if `config.json` sets `add_source_eos`, otherwise the caller.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import sentencepiece

from builder.errors import FormatError

WEIGHTS = "model.bin"
CONFIG = "config.json"
PAIR = ("source.spm", "target.spm")
SHARED = (
    "spm.model",
    "sentencepiece.model",
    "sentencepiece.bpe.model",
    "shared.spm",
    "spiece.model",
)
LEAST_KNOWN = 0.5
"""Minimum fraction of the SentencePiece tokens that must be in the model's vocabulary."""

Processor = sentencepiece.SentencePieceProcessor


@dataclass(frozen=True)
class ModelFolder:
    """Folder of a translation model, with all files checked.

    Args:
        folder: Path of the folder.
        config: Content of `config.json`.
        spm: Paths of the SentencePiece models of source and target; the same path twice if shared.
        vocabulary: Source tokens that the model knows.
        digest: SHA-256 of the names and contents of all files on which a translation depends.
    """

    folder: Path
    config: dict[str, Any]
    spm: tuple[Path, Path]
    vocabulary: frozenset[str]
    digest: str

    @property
    def needs_eos(self) -> bool:
        """Whether the caller must append `</s>` to source sentences because the engine does not."""
        return not self.config.get("add_source_eos", False)

    def load_tokenizers(self) -> tuple[Processor, Processor]:
        """Load the SentencePiece tokenizers of the source and the target language.

        Raises:
            FormatError: a file is not a SentencePiece model, or belongs to a different model.
        """
        source, target = (_load_tokenizer(path) for path in self.spm)
        known = self.vocabulary_coverage(source)
        if known < LEAST_KNOWN:
            raise FormatError(
                "expected the vocabulary of the translation model to contain at least "
                f"{LEAST_KNOWN:.0%} of the tokens of this SentencePiece model, found "
                f"{known:.0%}; it belongs to a different translation model",
                self.spm[0],
            )
        return source, target

    def vocabulary_coverage(self, tokenizer: Processor) -> float:
        """Return the fraction of a tokenizer's tokens that are in the model's vocabulary."""
        pieces = [tokenizer.id_to_piece(i) for i in range(tokenizer.get_piece_size())]
        return sum(piece in self.vocabulary for piece in pieces) / len(pieces)


def read_model(folder: Path) -> ModelFolder:
    """Check the folder of a translation model, and describe it.

    Raises:
        FormatError: a file is missing or invalid; the message names it.
    """
    spm = _sentencepiece_models(folder)
    if not (folder / WEIGHTS).is_file():
        raise FormatError(
            f"expected {WEIGHTS}, found none; this folder is not a CTranslate2 model", folder
        )
    config = _load_json(folder / CONFIG)
    if not isinstance(config, dict):
        raise FormatError(f"expected a JSON object, found {type(config).__name__}", folder / CONFIG)
    files, vocabulary = _read_vocabulary(folder)
    paths = sorted({folder / WEIGHTS, folder / CONFIG, *files, *spm})
    return ModelFolder(folder, config, spm, vocabulary, _hash_files(paths))


def _sentencepiece_models(folder: Path) -> tuple[Path, Path]:
    source, target = (folder / name for name in PAIR)
    if source.is_file() and target.is_file():
        return source, target
    for name in SHARED:
        if (folder / name).is_file():
            return folder / name, folder / name
    raise FormatError(
        f"expected a SentencePiece model ({' and '.join(PAIR)}, or one of {', '.join(SHARED)}), "
        "found none",
        folder,
    )


def _read_vocabulary(folder: Path) -> tuple[list[Path], frozenset[str]]:
    """Return the vocabulary files of a model, and the set of source tokens in them."""
    files = sorted([*folder.glob("*vocabulary.json"), *folder.glob("*vocabulary.txt")])
    for kind in ("source", "shared"):
        for path in files:
            if path.name.startswith(kind):
                pieces = _load_json(path) if path.suffix == ".json" else _read_lines(path)
                return files, frozenset(pieces)
    raise FormatError(
        "expected source_vocabulary or shared_vocabulary (.json or .txt), found neither", folder
    )


def _read_lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")


def _load_json(path: Path) -> Any:
    try:
        return orjson.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(
            f"expected a JSON file of a CTranslate2 model, but reading failed: {error}", path
        ) from None


def _load_tokenizer(path: Path) -> Processor:
    try:
        return Processor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise FormatError(
            f"expected a SentencePiece model, but loading failed: {error}", path
        ) from None


def _hash_files(paths: list[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(f"{path.name}\n".encode() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
