"""Translates French texts sentence by sentence, with quality flags per sentence.

A sentence is copied if it has no words or is already English; otherwise, it is decoded. With the
parameter `retry`, a sentence with a defective translation (see `outcomes`) is decoded again with
slower options. The fallback policies of the quality flags determine whether a translation is kept,
replaced by its source, or dropped.

The steps `prepare`, `decode` and `assemble_translations` can be called separately. Only `decode`
uses the engine, so the other steps may run in another thread.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from threading import Event

from builder.parameters import TranslationParameters
from builder.translation.cutting import is_untranslatable
from builder.translation.engine import RETRY_DECODING
from builder.translation.engines import StreamingEngine, TranslationEngine, translate_blocks
from builder.translation.forms import normalize_case, restore_case_and_punctuation
from builder.translation.language import flag_english_sentences
from builder.translation.layout import (
    Segment,
    TextLayout,
    single_sentence_layout,
    split_into_sentences,
)
from builder.translation.memory import TranslationMemory
from builder.translation.outcomes import (
    FlaggedOutput,
    choose_better_output,
    clean_and_flag_output,
    fallback_policy,
)
from builder.translation.parts import ModelOutput
from builder.translation.quality import has_markup
from builder.translation.sentences import TextKind, TranslatedSentence, Translation, sort_flags

Decoder = Callable[[Sequence[list[str]], bool], Iterator[list[ModelOutput]]]
"""Function that decodes blocks of sentences and yields the outputs of each block.

The first argument contains the blocks; the second states whether the sentences are decoded again
because their first translations were poor.
"""

BLOCK = 2048
"""Number of sentences per transaction; a crash loses at most this many translations."""


@dataclass(frozen=True)
class PreparedTexts:
    """Texts split into sentences, with the distinct sentences that must be translated.

    Args:
        layouts: Sentences and gaps of each text.
        copy_reasons: For each text, a list with the reason to copy each sentence (`untranslatable`
            or `english`), or None for a sentence to decode.
        wanted: Distinct sentences to decode.
        kind: Kind of the texts.
    """

    layouts: tuple[TextLayout, ...]
    copy_reasons: tuple[list[str | None], ...]
    wanted: frozenset[str]
    kind: TextKind


@dataclass
class TranslationCounts:
    """Numbers of sentences and tokens that a translator has processed so far.

    Args:
        asked: Number of distinct sentences looked up in the translation memory.
        decoded: Number of sentences decoded because the translation memory did not have them.
        pieces: Number of source tokens decoded.
    """

    asked: int = 0
    decoded: int = 0
    pieces: int = 0


class Translator:
    """Translator that combines an engine, a translation memory and fallback policies.

    Args:
        engine: The loaded model.
        memory: Translation memory.
        params: Parameters of the `[translate]` section.
        report_progress: Function that is called after each block with its number of source tokens.
        decoder: Function that decodes blocks of sentences; None: the engine decodes them.
    """

    def __init__(
        self,
        engine: TranslationEngine,
        memory: TranslationMemory,
        params: TranslationParameters,
        report_progress: Callable[[int], None] = lambda _: None,
        decoder: Decoder | None = None,
    ) -> None:
        self.engine = engine
        self.memory = memory
        self.params = params
        self.counts = TranslationCounts()
        self._stopped = Event()
        self._decoder: Decoder = decoder or self._decode_with_engine
        self._report_progress = report_progress

    def translate(self, texts: Sequence[str], kind: TextKind = TextKind.TEXT) -> list[Translation]:
        """Translate texts from French to English.

        Args:
            texts: Texts of any number of lines, or queries.
            kind: Kind of the texts; a query is translated as a single sentence.
        """
        prepared = self.prepare(texts, kind)
        return self.assemble_translations(prepared, self.decode(prepared))

    def prepare(self, texts: Sequence[str], kind: TextKind = TextKind.TEXT) -> PreparedTexts:
        """Split texts into sentences, and determine which sentences must be decoded."""
        split = split_into_sentences if kind is TextKind.TEXT else single_sentence_layout
        layouts = tuple(map(split, texts))
        copy_reasons = tuple(self._reasons_to_copy(layouts, kind))
        wanted = frozenset(
            normalize_case(segment.text)
            for layout, flags in zip(layouts, copy_reasons, strict=True)
            for segment, flag in zip(layout.segments, flags, strict=True)
            if flag is None
        )
        return PreparedTexts(layouts, copy_reasons, wanted, kind)

    def decode(self, prepared: PreparedTexts) -> dict[str, FlaggedOutput]:
        """Translate the distinct sentences of prepared texts; return the best output of each."""
        best = self._lookup_or_decode(prepared.wanted, is_retry=False)
        bad = (
            [text for text, found in best.items() if found.should_retry]
            if self.params.retry
            else []
        )
        for text, second in self._lookup_or_decode(frozenset(bad), is_retry=True).items():
            best[text] = choose_better_output(best[text], second)
        return best

    def assemble_translations(
        self, prepared: PreparedTexts, best_outputs: Mapping[str, FlaggedOutput]
    ) -> list[Translation]:
        """Assemble the translated texts from the translated sentences.

        Args:
            prepared: The texts, split into sentences.
            best_outputs: Translation of each distinct sentence, as returned by `decode`.
        """
        found = []
        for layout, flags in zip(prepared.layouts, prepared.copy_reasons, strict=True):
            sentences = tuple(
                self._assemble_sentence(segment, flag, best_outputs, prepared.kind)
                for segment, flag in zip(layout.segments, flags, strict=True)
            )
            found.append(Translation(layout.fill([s.english for s in sentences]), sentences))
        return found

    def stop(self) -> None:
        """Stop the translation in another thread; the translation memory keeps complete blocks."""
        self._stopped.set()
        if isinstance(self.engine, StreamingEngine):
            self.engine.stop()

    def _reasons_to_copy(
        self, layouts: Sequence[TextLayout], kind: TextKind
    ) -> Iterator[list[str | None]]:
        """Yield a list per text with the reason to copy each sentence; None if it is decoded."""
        sentences = [[segment.text for segment in layout.segments] for layout in layouts]
        if self.params.on_english == "keep" or kind is TextKind.QUERY:
            english = [[False] * len(texts) for texts in sentences]
        else:
            english = flag_english_sentences(sentences)
        for texts, are_english in zip(sentences, english, strict=True):
            yield [
                "untranslatable" if is_untranslatable(text) else "english" if is_english else None
                for text, is_english in zip(texts, are_english, strict=True)
            ]

    def _lookup_or_decode(
        self, texts: frozenset[str], *, is_retry: bool
    ) -> dict[str, FlaggedOutput]:
        """Return the translation of each sentence; decode those not in the translation memory."""
        namespace = self.cache_namespace(is_retry=is_retry)
        found = self.memory.lookup(namespace, sorted(texts))
        outcomes = {text: clean_and_flag_output(text, output) for text, output in found.items()}
        self.counts.asked += len(texts)
        missing = sorted(texts - found.keys(), key=lambda text: (-len(text), text))
        blocks = list(_split_into_blocks(missing))
        for block, decoded in zip(blocks, self._decoder(blocks, is_retry), strict=True):
            outputs = dict(zip(block, decoded, strict=True))
            self.memory.add(namespace, outputs)
            pieces = sum(output.pieces for output in decoded)
            self.counts.decoded += len(block)
            self.counts.pieces += pieces
            self._report_progress(pieces)
            outcomes |= {
                text: clean_and_flag_output(text, output) for text, output in outputs.items()
            }
            if self._stopped.is_set():
                raise CancelledError
        return outcomes

    def _decode_with_engine(
        self, blocks: Sequence[list[str]], is_retry: bool
    ) -> Iterator[list[ModelOutput]]:
        return translate_blocks(self.engine, blocks, is_retry=is_retry)

    def cache_namespace(self, *, is_retry: bool = False) -> str:
        """Return the model and decoding options as a string, used in translation memory keys."""
        p = self.params
        options = {
            **self.engine.identity,
            "source_prefix": p.source_prefix,
            "target_prefix": p.target_prefix,
            "max_source_pieces": p.max_source_pieces,
            "max_target_pieces": p.max_target_pieces,
            "decoding": RETRY_DECODING if is_retry else p.beam_size,
            "batching": p.batching,
        }
        return " ".join(f"{name}={value}" for name, value in options.items())

    def _assemble_sentence(
        self,
        segment: Segment,
        copy_reason: str | None,
        best_outputs: Mapping[str, FlaggedOutput],
        kind: TextKind,
    ) -> TranslatedSentence:
        source = segment.text
        flags = {"control_characters"} if segment.cleaned else set()
        if has_markup(source):
            flags.add("markup")
        if copy_reason is not None:
            return TranslatedSentence(source, source, sort_flags(flags | {copy_reason}))
        found = best_outputs[normalize_case(source)]
        flags |= found.flags
        answer = fallback_policy(found.flags, self.params)
        if answer == "source":
            return TranslatedSentence(source, source, sort_flags(flags | {"source_kept"}))
        if answer == "drop":
            return TranslatedSentence(source, "", sort_flags(flags | {"dropped"}))
        text = restore_case_and_punctuation(
            found.output.text, source, is_query=kind is TextKind.QUERY
        )
        return TranslatedSentence(source, text, sort_flags(flags))


def _split_into_blocks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), BLOCK):
        yield texts[start : start + BLOCK]
