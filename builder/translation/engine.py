"""A loaded CTranslate2 model: sentences in, outputs out, in the same order.

What must be copied (addresses) is cut out, what is too long is cut at clause boundaries; the parts
are decoded in batches of equal length (see `batches.py`) by as many workers as there are threads,
and joined again. An output does not depend on other sentences, on their order, or on the threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ctranslate2

from builder.errors import FormatError
from builder.parameters import TranslateParameters
from builder.translation.batches import equal_length_batches
from builder.translation.cutting import copied_parts, halves
from builder.translation.forms import like_source
from builder.translation.model import ModelFolder, read_model

EOS = "</s>"
CAREFUL = {"beam_size": 4, "no_repeat_ngram_size": 4}
"""The second decoding, of what went wrong in the first."""
GROWTH, SLACK = 2, 32
"""An output may have this many pieces a source piece, and so many more."""
PROBES, PIECES = 12, 16


@dataclass(frozen=True)
class Output:
    """What the model gave for a sentence.

    Args:
        text: The output; may be empty.
        pieces: Source pieces that were decoded.
        split: Whether the sentence was too long and was decoded in parts.
        truncated: Whether an output reached its longest length.
        unknown: Whether a source piece is unknown to the model.
        empty: Whether an output of it is empty.
    """

    text: str
    pieces: int = 0
    split: bool = False
    truncated: bool = False
    unknown: bool = False
    empty: bool = False


@dataclass(frozen=True)
class Divided:
    """A sentence in parts, each with whether it is copied as it is; `split` where too long."""

    parts: tuple[tuple[str, bool], ...]
    split: bool


class Engine:
    """A loaded model.

    Args:
        model: The model's folder, as read.
        params: Decoding options.
        threads: Batches that are decoded at once, on a CPU one thread each.

    Raises:
        FormatError: a file of the model cannot be read, or the compute type is not supported.
    """

    def __init__(self, model: ModelFolder, params: TranslateParameters, threads: int) -> None:
        self.model = model
        self.params = params
        self._source, self._target = model.processors()
        try:
            self.translator = ctranslate2.Translator(
                str(model.folder),
                device=params.device,
                compute_type=params.compute_type,
                inter_threads=threads if params.device == "cpu" else 1,
                intra_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            raise FormatError(
                f"CTranslate2 cannot load this model with compute_type "
                f"{params.compute_type!r} on {params.device}: {error}",
                model.folder,
            ) from None
        self.invariant = self._is_invariant()

    @classmethod
    def load(cls, folder: Path, params: TranslateParameters, threads: int) -> "Engine":
        """Check and load a model folder.

        Raises:
            FormatError: the folder is not a model, or a file of it cannot be read.
        """
        return cls(read_model(folder), params, threads)

    @property
    def identity(self) -> dict[str, str]:
        """What decides an output beside the sentence and the parameters."""
        return {"model": self.model.digest, "compute_type": self.translator.compute_type}

    def size(self, text: str) -> int:
        """Source pieces of a text."""
        return len(self._source.encode(text))

    def translate(self, sentences: Sequence[str], *, careful: bool = False) -> list[Output]:
        """Translate sentences.

        Args:
            sentences: Texts in single spaces.
            careful: Decode with a beam and without repeated n-grams (`CAREFUL`).

        Returns:
            One output a sentence, in order.
        """
        divided = [self.divide(sentence) for sentence in sentences]
        texts = sorted({text for d in divided for text, copied in d.parts if not copied})
        known = dict(zip(texts, self._decode(texts, careful), strict=True))
        return [_joined(sentence, known) for sentence in divided]

    def divide(self, sentence: str) -> Divided:
        """A sentence in parts: what is copied apart, and none longer than the model takes."""
        parts: list[tuple[str, bool]] = []
        split = False
        for text, copied in copied_parts(sentence):
            cut = [text] if copied else halves(text, self.params.max_source_pieces, self.size)
            split = split or len(cut) > 1
            parts += [(part, copied) for part in cut]
        return Divided(tuple(parts), split)

    def _decode(self, texts: list[str], careful: bool) -> list[Output]:
        """Outputs of texts that need no cutting."""
        pieces = self._source.encode([text.strip() for text in texts], out_type=str)
        together = self.invariant or self.params.batching == "fast"
        lengths = [len(p) for p in pieces]
        batches = list(
            equal_length_batches(lengths, self.params.batch_tokens, None if together else 1)
        )
        outputs = [Output("")] * len(texts)
        try:
            queued = [self._submit([pieces[i] for i in batch], careful) for batch in batches]
            for batch, results in zip(batches, queued, strict=True):
                for index, result in zip(batch, results, strict=True):
                    outputs[index] = self._output(pieces[index], result.result().hypotheses[0])
        except RuntimeError as error:
            raise FormatError(
                f"CTranslate2 failed: {error}; where sentences are too long for the model, lower "
                "translate.max_source_pieces and max_target_pieces",
                self.model.folder,
            ) from None
        return outputs

    def _submit(
        self, batch: list[list[str]], careful: bool
    ) -> list[ctranslate2.AsyncTranslationResult]:
        """Queue a batch of one length; while the queue is full this blocks."""
        prefix = self.params.target_prefix
        results: list[ctranslate2.AsyncTranslationResult] = self.translator.translate_batch(
            [self._tokens(pieces) for pieces in batch],
            target_prefix=[[prefix]] * len(batch) if prefix else None,
            asynchronous=True,
            max_input_length=0,
            max_decoding_length=self._longest(len(batch[0])),
            disable_unk=True,
            **(CAREFUL if careful else {"beam_size": self.params.beam_size}),
        )
        return results

    def _tokens(self, pieces: list[str]) -> list[str]:
        prefix = [self.params.source_prefix] if self.params.source_prefix else []
        return [*prefix, *pieces, *([EOS] if self.model.append_eos else [])]

    def _longest(self, pieces: int) -> int:
        return min(self.params.max_target_pieces, GROWTH * pieces + SLACK)

    def _output(self, pieces: list[str], hypothesis: list[str]) -> Output:
        text = self._target.decode(hypothesis[bool(self.params.target_prefix) :]).strip()
        return Output(
            text,
            len(pieces),
            truncated=len(hypothesis) >= self._longest(len(pieces)),
            unknown=any(piece not in self.model.vocabulary for piece in pieces),
            empty=not text,
        )

    def _is_invariant(self) -> bool:
        """Whether sentences of one length score the same together and alone, bit for bit."""
        vocabulary = sorted(self.model.vocabulary)
        probes = [
            self._tokens([vocabulary[(n * n + 31 * i) % len(vocabulary)] for i in range(PIECES)])
            for n in range(PROBES)
        ]
        options = {"beam_size": 1, "max_decoding_length": PIECES, "return_scores": True}
        together = self.translator.translate_batch(probes, **options)
        alone = [self.translator.translate_batch([probe], **options)[0] for probe in probes]
        return [r.scores for r in together] == [r.scores for r in alone]


def _joined(sentence: Divided, known: dict[str, Output]) -> Output:
    """The output of a sentence from those of its parts, with the spaces around them."""
    if len(sentence.parts) == 1 and not sentence.parts[0][1]:
        return known[sentence.parts[0][0]]
    text = ""
    for part, copied in sentence.parts:
        bare = part.strip()
        output = bare if copied else like_source(known[part].text, bare)
        lead, trail = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
        text += lead + output + trail
    outputs = [known[part] for part, copied in sentence.parts if not copied]
    return Output(
        text.strip(),
        sum(output.pieces for output in outputs),
        sentence.split,
        any(output.truncated for output in outputs),
        any(output.unknown for output in outputs),
        any(not output.text for output in outputs),
    )
