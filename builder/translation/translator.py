"""Translation of French texts sentence by sentence, with quality flags per sentence.

A sentence is copied (no words, or already English) or decoded. Sentences with defective outputs
(`outcomes`) are decoded again in a slower way if the parameters enable it. The policies of the
remaining flags determine whether an output is kept, replaced by its source, or dropped.

The steps `prepare`, `decode` and `finish` can be called separately, since only `decode` uses the
engine and the others may run in another thread.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from threading import Event

from builder.parameters import TranslateParameters
from builder.translation.cutting import is_untranslatable
from builder.translation.engine import RETRY_DECODING
from builder.translation.engines import StreamingEngine, TranslationEngine, translate_blocks
from builder.translation.forms import match_source_form, model_text
from builder.translation.language import english_sentences
from builder.translation.layout import Layout, Segment, single_segment, split_text
from builder.translation.memory import TranslationMemory
from builder.translation.outcomes import Outcome, choose_better, evaluate_output, fallback_policy
from builder.translation.parts import Output
from builder.translation.quality import has_markup
from builder.translation.sentences import Sentence, TextKind, Translation, sort_flags

Decoder = Callable[[Sequence[list[str]], bool], Iterator[list[Output]]]

BLOCK = 2048
"""Sentences decoded between commits, and therefore the maximum work lost in a crash."""


@dataclass(frozen=True)
class PreparedTexts:
    """Texts split into sentences, with the distinct sentences that must be translated.

    Args:
        layouts: Sentences and gaps of each text.
        copied: Flag of each sentence that is copied; None if it is decoded.
        wanted: Distinct sentences to decode.
        form: Kind of the texts.
    """

    layouts: tuple[Layout, ...]
    copied: tuple[list[str | None], ...]
    wanted: frozenset[str]
    form: TextKind


@dataclass
class Counts:
    """Counts of the sentences requested, and of the sentences and source tokens decoded."""

    asked: int = 0
    decoded: int = 0
    pieces: int = 0


class Translator:
    """Translator that combines an engine, a translation memory and fallback policies.

    Args:
        engine: The loaded model.
        memory: Translation memory.
        params: Parameters of the `[translate]` section.
        advance: Called with the number of source pieces of each decoded block.
        decoder: Function that decodes blocks of sentences; default: the engine.
    """

    def __init__(
        self,
        engine: TranslationEngine,
        memory: TranslationMemory,
        params: TranslateParameters,
        advance: Callable[[int], None] = lambda _: None,
        decoder: Decoder | None = None,
    ) -> None:
        self.engine = engine
        self.memory = memory
        self.params = params
        self.counts = Counts()
        self._stopped = Event()
        self._decoder: Decoder = decoder or self._decode_with_engine
        self._advance = advance

    def translate(self, texts: Sequence[str], form: TextKind = TextKind.TEXT) -> list[Translation]:
        """Translate texts from French to English.

        Args:
            texts: Texts of any number of lines; under `TextKind.QUERY`, each is one sentence.
            form: Kind of the texts: running text or queries.
        """
        prepared = self.prepare(texts, form)
        return self.finish(prepared, self.decode(prepared))

    def prepare(self, texts: Sequence[str], form: TextKind = TextKind.TEXT) -> PreparedTexts:
        """Split texts into sentences, and determine which sentences must be translated."""
        take_apart = split_text if form is TextKind.TEXT else single_segment
        layouts = tuple(map(take_apart, texts))
        copied = tuple(self._copy_reasons(layouts, form))
        wanted = frozenset(
            model_text(segment.text)
            for layout, flags in zip(layouts, copied, strict=True)
            for segment, flag in zip(layout.segments, flags, strict=True)
            if flag is None
        )
        return PreparedTexts(layouts, copied, wanted, form)

    def decode(self, prepared: PreparedTexts) -> dict[str, Outcome]:
        """Return the best translation of each distinct sentence of prepared texts."""
        best = self._outcomes(prepared.wanted, is_retry=False)
        bad = (
            [text for text, found in best.items() if found.is_unusable] if self.params.retry else []
        )
        for text, second in self._outcomes(frozenset(bad), is_retry=True).items():
            best[text] = choose_better(best[text], second)
        return best

    def finish(self, prepared: PreparedTexts, best: Mapping[str, Outcome]) -> list[Translation]:
        """Return the translated texts, assembled from the translated sentences."""
        found = []
        for layout, flags in zip(prepared.layouts, prepared.copied, strict=True):
            sentences = tuple(
                self._sentence(segment, flag, best, prepared.form)
                for segment, flag in zip(layout.segments, flags, strict=True)
            )
            found.append(Translation(layout.fill([s.english for s in sentences]), sentences))
        return found

    def stop(self) -> None:
        """Stop a translation that runs in another thread; finished blocks stay in the memory."""
        self._stopped.set()
        if isinstance(self.engine, StreamingEngine):
            self.engine.stop()

    def _copy_reasons(
        self, layouts: Sequence[Layout], form: TextKind
    ) -> Iterator[list[str | None]]:
        """Yield per text a list: the reason to copy each sentence, or None if it is decoded."""
        sentences = [[segment.text for segment in layout.segments] for layout in layouts]
        if self.params.on_english == "keep" or form is TextKind.QUERY:
            english = [[False] * len(texts) for texts in sentences]
        else:
            english = english_sentences(sentences)
        for texts, are_english in zip(sentences, english, strict=True):
            yield [
                "untranslatable" if is_untranslatable(text) else "english" if is_english else None
                for text, is_english in zip(texts, are_english, strict=True)
            ]

    def _outcomes(self, texts: frozenset[str], *, is_retry: bool) -> dict[str, Outcome]:
        """Return the translation of each sentence, from the memory or by the engine."""
        scope = self.scope(is_retry=is_retry)
        found = self.memory.lookup(scope, sorted(texts))
        outcomes = {text: evaluate_output(text, output) for text, output in found.items()}
        self.counts.asked += len(texts)
        missing = sorted(texts - found.keys(), key=lambda text: (-len(text), text))
        blocks = list(_blocks(missing))
        for block, decoded in zip(blocks, self._decoder(blocks, is_retry), strict=True):
            outputs = dict(zip(block, decoded, strict=True))
            self.memory.add(scope, outputs)
            pieces = sum(output.pieces for output in decoded)
            self.counts.decoded += len(block)
            self.counts.pieces += pieces
            self._advance(pieces)
            outcomes |= {text: evaluate_output(text, output) for text, output in outputs.items()}
            if self._stopped.is_set():
                raise CancelledError
        return outcomes

    def _decode_with_engine(
        self, blocks: Sequence[list[str]], is_retry: bool
    ) -> Iterator[list[Output]]:
        return translate_blocks(self.engine, blocks, is_retry=is_retry)

    def scope(self, *, is_retry: bool = False) -> str:
        """Return a cache key of everything that a translation depends on except the sentence."""
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

    def _sentence(
        self, segment: Segment, copied: str | None, best: Mapping[str, Outcome], form: TextKind
    ) -> Sentence:
        source = segment.text
        flags = {"control_characters"} if segment.cleaned else set()
        if has_markup(source):
            flags.add("markup")
        if copied is not None:
            return Sentence(source, source, sort_flags(flags | {copied}))
        found = best[model_text(source)]
        flags |= found.flags
        answer = fallback_policy(found.flags, self.params)
        if answer == "source":
            return Sentence(source, source, sort_flags(flags | {"source_kept"}))
        if answer == "drop":
            return Sentence(source, "", sort_flags(flags | {"dropped"}))
        text = match_source_form(found.output.text, source, query=form is TextKind.QUERY)
        return Sentence(source, text, sort_flags(flags))


def _blocks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), BLOCK):
        yield texts[start : start + BLOCK]
