"""Translation engine that runs CTranslate2 models.

URLs and e-mail addresses are copied, and long sentences are split at clause boundaries. Parts of
equal length are decoded in one batch (see `batches`), and each thread decodes one batch at a time.
A translation does not depend on other sentences, their order, or the number of threads.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import ctranslate2

from builder.errors import FormatError
from builder.parameters import TranslationParameters
from builder.translation.batches import batch_by_length
from builder.translation.cutting import separate_untranslatable_parts, split_to_size
from builder.translation.model import ModelFolder, read_model
from builder.translation.parts import ModelOutput, SentenceBlock, SplitSentence

EOS = "</s>"
RETRY_DECODING = {"beam_size": 4, "no_repeat_ngram_size": 4}
"""CTranslate2 options for decoding a sentence again if its first translation is defective."""
GROWTH, SLACK = 2, 32
"""Maximum number of output tokens: `GROWTH` times the number of source tokens, plus `SLACK`."""
BATCHES_AHEAD = 8
"""Maximum number of batches per thread that wait to be decoded."""
PROBES, PIECES, PROBE_STEPS = 12, 16, 8
"""Number of test sequences for the check that scores do not depend on the batch, number of source
tokens per sequence, and maximum number of output tokens per sequence."""


@dataclass(frozen=True)
class _PendingBatch:
    """Batch of sentence parts of the same length in tokens, submitted for decoding.

    Args:
        block: Block of sentences to which the parts belong.
        indices: Positions of the parts in `block.texts`.
        results: Pending results of CTranslate2, one per part.
    """

    block: SentenceBlock
    indices: list[int]
    results: list[ctranslate2.AsyncTranslationResult]


class CTranslate2Engine:
    """Translation model loaded into CTranslate2.

    Args:
        model: Model folder, checked by `read_model`.
        params: Parameters of the `[translate]` section.
        threads: Number of CPU threads, each of which decodes one batch at a time.

    Raises:
        FormatError: a file of the model cannot be read, or the compute type is not supported.
    """

    def __init__(self, model: ModelFolder, params: TranslationParameters, threads: int) -> None:
        self.model = model
        self.params = params
        self._source, self._target = model.load_tokenizers()
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
        self._ahead = BATCHES_AHEAD * threads
        self._stopped = Event()
        self.invariant = self._is_batch_invariant()

    @classmethod
    def load(cls, folder: Path, params: TranslationParameters, threads: int) -> "CTranslate2Engine":
        """Check the folder of a translation model, and load the model.

        Raises:
            FormatError: the folder contains no translation model, or a file cannot be read.
        """
        return cls(read_model(folder), params, threads)

    @property
    def identity(self) -> dict[str, str]:
        """Model hash and compute type; engines with equal values give equal translations."""
        return {"model": self.model.digest, "compute_type": self.translator.compute_type}

    def count_tokens(self, text: str) -> int:
        """Return the number of source tokens in a text."""
        return len(self._source.encode(text))

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[ModelOutput]:
        """Translate sentences from French to English.

        Args:
            sentences: Sentences with single spaces between words.
            is_retry: Whether to decode with `RETRY_DECODING`, because the first translations of
                these sentences were defective.

        Returns:
            One output per sentence, in the same order.
        """
        return next(self.translate_blocks([list(sentences)], is_retry=is_retry))

    def translate_blocks(
        self, blocks: Iterable[list[str]], *, is_retry: bool = False
    ) -> Iterator[list[ModelOutput]]:
        """Translate blocks of sentences, starting each block before the previous one is complete.

        Args:
            blocks: Lists of sentences with single spaces between words.
            is_retry: Whether to decode with `RETRY_DECODING`.

        Yields:
            The outputs of a block, one per sentence, in the same order.

        Raises:
            CancelledError: `stop` was called.
        """
        queue: deque[_PendingBatch | SentenceBlock] = deque()
        for sentences in blocks:
            block = self._prepare_block(sentences)
            for indices in self._group_into_batches(block.pieces):
                queue.append(self._start_batch(block, indices, is_retry))
                yield from self._finished_outputs(queue, self._ahead)
            queue.append(block)
        yield from self._finished_outputs(queue, 0)

    def _finished_outputs(
        self, queue: "deque[_PendingBatch | SentenceBlock]", max_queued: int
    ) -> Iterator[list[ModelOutput]]:
        """Yield the outputs of finished blocks until at most `max_queued` queue entries remain."""
        while len(queue) > max_queued:
            if self._stopped.is_set():
                raise CancelledError
            first = queue.popleft()
            if isinstance(first, SentenceBlock):
                yield first.join_outputs()
            else:
                self._store_outputs(first)

    def stop(self) -> None:
        """Stop the translation that is running in another thread, after its current batch."""
        self._stopped.set()

    def split_sentence(self, sentence: str) -> SplitSentence:
        """Split a sentence into parts to copy and parts that are short enough to translate."""
        parts: list[tuple[str, bool]] = []
        split = False
        for text, copied in separate_untranslatable_parts(sentence):
            cut = (
                [text]
                if copied
                else split_to_size(text, self.params.max_source_pieces, self.count_tokens)
            )
            split = split or len(cut) > 1
            parts += [(part, copied) for part in cut]
        return SplitSentence(tuple(parts), split)

    def _prepare_block(self, sentences: Sequence[str]) -> SentenceBlock:
        """Split sentences into parts, tokenize each distinct part, and return them as a block."""
        split_sentences = [self.split_sentence(sentence) for sentence in sentences]
        texts = sorted({text for d in split_sentences for text, copied in d.parts if not copied})
        pieces = self._source.encode([text.strip() for text in texts], out_type=str)
        return SentenceBlock(split_sentences, texts, pieces)

    def _group_into_batches(self, pieces: Sequence[list[str]]) -> Iterator[list[int]]:
        """Group tokenized parts into batches, and yield the indices of the parts of each batch."""
        together = self.invariant or self.params.batching == "fast"
        lengths = [len(p) for p in pieces]
        return batch_by_length(lengths, self.params.batch_tokens, None if together else 1)

    def _start_batch(
        self, block: SentenceBlock, indices: list[int], is_retry: bool
    ) -> _PendingBatch:
        with self._reraise_engine_errors():
            results = self._submit_batch([block.pieces[i] for i in indices], is_retry)
        return _PendingBatch(block, indices, results)

    def _store_outputs(self, batch: _PendingBatch) -> None:
        """Wait until a batch has been decoded, and store its outputs in its block."""
        block = batch.block
        with self._reraise_engine_errors():
            hypotheses = [result.result().hypotheses[0] for result in batch.results]
        outputs = self._hypotheses_to_outputs([block.pieces[i] for i in batch.indices], hypotheses)
        block.outputs_by_part.update(
            zip((block.texts[i] for i in batch.indices), outputs, strict=True)
        )

    @contextmanager
    def _reraise_engine_errors(self) -> Iterator[None]:
        """Re-raise any error of CTranslate2 as a `FormatError`.

        Raises:
            FormatError: CTranslate2 failed.
        """
        try:
            yield
        except RuntimeError as error:
            raise FormatError(
                f"CTranslate2 failed: {error}; if sentences are too long for the model, lower "
                "translate.max_source_pieces and translate.max_target_pieces",
                self.model.folder,
            ) from None

    def _submit_batch(
        self, batch: list[list[str]], is_retry: bool
    ) -> list[ctranslate2.AsyncTranslationResult]:
        """Submit a batch of parts with equal token counts; wait while the queue is full."""
        prefix = self.params.target_prefix
        results: list[ctranslate2.AsyncTranslationResult] = self.translator.translate_batch(
            [self._add_special_tokens(pieces) for pieces in batch],
            target_prefix=[[prefix]] * len(batch) if prefix else None,
            asynchronous=True,
            max_input_length=0,
            max_decoding_length=self._max_output_tokens(len(batch[0])),
            disable_unk=True,
            **(RETRY_DECODING if is_retry else {"beam_size": self.params.beam_size}),
        )
        return results

    def _add_special_tokens(self, pieces: list[str]) -> list[str]:
        prefix = [self.params.source_prefix] if self.params.source_prefix else []
        return [*prefix, *pieces, *([EOS] if self.model.needs_eos else [])]

    def _max_output_tokens(self, source_length: int) -> int:
        return min(self.params.max_target_pieces, GROWTH * source_length + SLACK)

    def _hypotheses_to_outputs(
        self, pieces: Sequence[list[str]], hypotheses: Sequence[list[str]]
    ) -> Iterator[ModelOutput]:
        """Convert the decoded hypotheses of a batch to outputs, in the same order."""
        start = bool(self.params.target_prefix)
        texts = self._target.decode([hypothesis[start:] for hypothesis in hypotheses])
        for source, hypothesis, text in zip(pieces, hypotheses, texts, strict=True):
            bare = text.strip()
            yield ModelOutput(
                bare,
                len(source),
                truncated=len(hypothesis) >= self._max_output_tokens(len(source)),
                unknown=not self.model.vocabulary.issuperset(source),
                empty=not bare,
            )

    def _is_batch_invariant(self) -> bool:
        """Whether sentences of equal length get the same scores in one batch and one at a time.

        The scores must be bit-identical at the beam sizes of both the first attempt and the retry.
        """
        vocabulary = sorted(self.model.vocabulary)
        probes = [
            self._add_special_tokens(
                [vocabulary[(n * n + 31 * i) % len(vocabulary)] for i in range(PIECES)]
            )
            for n in range(PROBES)
        ]
        beam_sizes = {self.params.beam_size, RETRY_DECODING["beam_size"]}
        return all(self._have_equal_scores(probes, beam_size) for beam_size in beam_sizes)

    def _have_equal_scores(self, probes: list[list[str]], beam_size: int) -> bool:
        """Whether scores are bit-identical when sequences are decoded in one batch and one by one.

        Args:
            probes: Token sequences of equal length.
            beam_size: Beam size of the decoding.
        """
        options = {
            "beam_size": beam_size,
            "max_decoding_length": PROBE_STEPS,
            "return_scores": True,
        }
        together = self.translator.translate_batch(probes, **options)
        alone = [self.translator.translate_batch([probe], **options)[0] for probe in probes]
        return [r.scores for r in together] == [r.scores for r in alone]
