"""A CTranslate2 model with its SentencePiece models: sentences in, sentences out.

A model is a folder with `model.bin`, `config.json` and either `source.spm` and `target.spm` (as
OPUS-MT has them) or one shared `*.spm` or `sentencepiece.bpe.model`. Whether the engine appends
`</s>` to the source is read from `config.json` (`add_source_eos`), never guessed.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ctranslate2
import sentencepiece

from builder.errors import FormatError
from builder.parameters import TranslateParameters
from builder.translation.sentences import cut

EOS = "</s>"
_SHARED = ("spm.model", "sentencepiece.model", "sentencepiece.bpe.model", "shared.spm")


@dataclass(frozen=True)
class Engine:
    """A loaded model.

    Args:
        translator: The CTranslate2 model.
        source: SentencePiece model of the source language.
        target: SentencePiece model of the target language.
        append_eos: Whether the caller must end a source sentence with `</s>`.
        params: Decoding options.
    """

    translator: ctranslate2.Translator
    source: sentencepiece.SentencePieceProcessor
    target: sentencepiece.SentencePieceProcessor
    append_eos: bool
    params: TranslateParameters

    @classmethod
    def load(cls, folder: Path, params: TranslateParameters, threads: int) -> "Engine":
        """Load a model.

        Raises:
            FormatError: the folder is not a model, or a file of it cannot be read.
        """
        source, target = _sentence_pieces(folder)
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            translator = ctranslate2.Translator(
                str(folder),
                device=params.device,
                compute_type=params.compute_type,
                inter_threads=threads,
                intra_threads=1,
            )
            return cls(
                translator,
                sentencepiece.SentencePieceProcessor(model_file=str(source)),
                sentencepiece.SentencePieceProcessor(model_file=str(target)),
                not config.get("add_source_eos", False),
                params,
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise FormatError(f"not a CTranslate2 model: {error}", folder) from None

    def size(self, text: str) -> int:
        """Source pieces of a text."""
        return len(self.source.encode(text))

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translate sentences; the same sentences give the same output in any order.

        Longer sentences are cut, translated in pieces and joined; an empty output is replaced by
        its source, so that nothing disappears.
        """
        cuts = {s: cut(s, self.params.max_source_pieces, self.size) for s in set(sentences)}
        pieces = sorted({piece for parts in cuts.values() for piece in parts})
        known = dict(zip(pieces, self._translate_pieces(pieces), strict=True))
        return [" ".join(known[piece] for piece in cuts[sentence]) for sentence in sentences]

    def _translate_pieces(self, pieces: list[str]) -> list[str]:
        encoded = [self.source.encode(piece, out_type=str) for piece in pieces]
        order = sorted(range(len(pieces)), key=lambda i: (len(encoded[i]), pieces[i]))
        translated = [""] * len(pieces)
        for batch in _batches(order, encoded, self.params.batch_tokens):
            results = self.translator.translate_batch(
                [encoded[i] + [EOS] * self.append_eos for i in batch],
                beam_size=self.params.beam_size,
                max_input_length=0,
                max_decoding_length=self.params.max_target_pieces,
            )
            for index, result in zip(batch, results, strict=True):
                translated[index] = self.target.decode(result.hypotheses[0]).strip()
        return [text or piece for text, piece in zip(translated, pieces, strict=True)]


def _batches(order: list[int], encoded: list[list[str]], most: int) -> Iterator[list[int]]:
    """Sentences of like length in batches of at most `most` tokens, padding counted."""
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) + 1) * len(encoded[index]) > most:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _sentence_pieces(folder: Path) -> tuple[Path, Path]:
    pair = folder / "source.spm", folder / "target.spm"
    if all(path.is_file() for path in pair):
        return pair
    for name in _SHARED:
        if (folder / name).is_file():
            return folder / name, folder / name
    raise FormatError(
        "no SentencePiece model: expected source.spm and target.spm, or one of "
        + ", ".join(_SHARED),
        folder,
    )
