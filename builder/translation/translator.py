"""Texts in French in, texts in English and what is to be said of each sentence out.

A sentence is copied (no word of a language, or English already) or decoded. What went wrong in
decoding is found by `quality.py` and by what the engine says, decoded again with care where the
parameters say so, and then stands as it is, gives way to its source, or is dropped, by the policy
of each flag. Whatever happens, there is one entry for every sentence, with its flags.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from builder.parameters import TranslateParameters
from builder.translation.cutting import is_untranslatable
from builder.translation.engine import CAREFUL, Output
from builder.translation.engines import TranslationEngine
from builder.translation.forms import like_source, model_text
from builder.translation.language import english_sentences
from builder.translation.layout import Layout, Segment, one_segment, split_text
from builder.translation.memory import Memory
from builder.translation.quality import has_markup, output_flags
from schemas import SENTENCE_FLAGS

Decoder = Callable[[Sequence[list[str]], bool], Iterator[list[Output]]]

BLOCK = 8192
"""Sentences that are decoded and kept at once: what a kill can cost."""
RETRIED = ("empty_output", "truncated", "repetition", "length_ratio", "copied_source")
"""Flags of an output that is decoded again, the worst first."""
POLICIES = (
    "empty_output",
    "truncated",
    "repetition",
    "length_ratio",
    "copied_source",
    "numbers_differ",
    "unknown_characters",
)
"""Flags whose policy is a parameter `on_<flag>`."""


class Form(StrEnum):
    """What a text is: any number of lines, or one sentence that a user typed."""

    TEXT = "text"
    QUERY = "query"


@dataclass(frozen=True)
class Sentence:
    """A sentence and what stands for it.

    Args:
        source: The sentence, normalised.
        english: What stands for it; may be empty.
        flags: What is to be known about it, in the order of `SENTENCE_FLAGS`.
    """

    source: str
    english: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Translation:
    """A text in English, in the lines of its source, and its sentences in order."""

    text: str
    sentences: tuple[Sentence, ...]


@dataclass
class Counts:
    """What was done: sentences asked for, of which decoded, and their source pieces."""

    asked: int = 0
    decoded: int = 0
    pieces: int = 0


class Translator:
    """An engine with its memory and its policies.

    Args:
        engine: The loaded model.
        memory: What was decoded before.
        params: Policies.
        advance: Told the source pieces of each block that was decoded.
        decoder: Blocks of sentences, and whether with care, to their outputs; default: the engine.
    """

    def __init__(
        self,
        engine: TranslationEngine,
        memory: Memory,
        params: TranslateParameters,
        advance: Callable[[int], None] = lambda _: None,
        decoder: Decoder | None = None,
    ) -> None:
        self.engine = engine
        self._decoder: Decoder = decoder or self._decode_here
        self.memory = memory
        self.params = params
        self.counts = Counts()
        self._advance = advance

    def translate(self, texts: Sequence[str], form: Form = Form.TEXT) -> list[Translation]:
        """Translate texts.

        Args:
            texts: Texts of any number of lines; under `Form.QUERY`, each is one sentence.
            form: Whether they are texts or queries.
        """
        layouts = [split_text(text) if form is Form.TEXT else one_segment(text) for text in texts]
        english = [self._english(layout, form) for layout in layouts]
        wanted = {
            model_text(segment.text)
            for layout, copied in zip(layouts, english, strict=True)
            for segment, is_copied in zip(layout.segments, copied, strict=True)
            if not is_copied and not is_untranslatable(segment.text)
        }
        outputs = self._decode(wanted, careful=False)
        first = {text: self._outcome(text, outputs[text]) for text in wanted}
        bad = {text for text, flags in first.items() if not flags.isdisjoint(RETRIED)}
        second = self._decode(bad, careful=True) if self.params.retry else {}
        best = {text: self._better(text, outputs[text], second.get(text)) for text in wanted}
        return [
            self._assemble(layout, copied, best, form)
            for layout, copied in zip(layouts, english, strict=True)
        ]

    def _english(self, layout: Layout, form: Form) -> list[bool]:
        """Which sentences are English already and are copied for it."""
        if self.params.on_english == "keep" or form is Form.QUERY:
            return [False] * len(layout.segments)
        return english_sentences([segment.text for segment in layout.segments])

    def _decode(self, texts: set[str], *, careful: bool) -> dict[str, Output]:
        """Outputs of texts, from the memory or from the model."""
        scope = self._scope(careful)
        found = self.memory.known(scope, sorted(texts))
        self.counts.asked += len(texts)
        missing = sorted(texts - found.keys(), key=lambda text: (-len(text), text))
        blocks = list(_blocks(missing))
        for block, decoded in zip(blocks, self._decoder(blocks, careful), strict=True):
            outputs = dict(zip(block, decoded, strict=True))
            self.memory.add(scope, outputs)
            pieces = sum(output.pieces for output in outputs.values())
            self.counts.decoded += len(block)
            self.counts.pieces += pieces
            self._advance(pieces)
            found |= outputs
        return found

    def _decode_here(self, blocks: Sequence[list[str]], careful: bool) -> Iterator[list[Output]]:
        return (self.engine.translate(block, careful=careful) for block in blocks)

    def _scope(self, careful: bool) -> str:
        """Everything that decides an output beside the sentence."""
        p = self.params
        options = {
            **self.engine.identity,
            "source_prefix": p.source_prefix,
            "target_prefix": p.target_prefix,
            "max_source_pieces": p.max_source_pieces,
            "max_target_pieces": p.max_target_pieces,
            "decoding": CAREFUL if careful else p.beam_size,
            "batching": p.batching,
        }
        return " ".join(f"{name}={value}" for name, value in options.items())

    def _outcome(self, text: str, output: Output) -> set[str]:
        """Flags of an output."""
        shaped = like_source(output.text, text)
        flags = output_flags(shaped, text)
        if output.empty:
            flags.add("empty_output")
        if output.truncated:
            flags.add("truncated")
        if output.unknown:
            flags.add("unknown_characters")
        if output.split:
            flags.add("split")
        return flags

    def _better(
        self, text: str, first: Output, second: Output | None
    ) -> tuple[Output, frozenset[str]]:
        """The better of two outputs, and its flags."""
        flags = self._outcome(text, first)
        if second is None:
            return first, frozenset(flags)
        again = self._outcome(text, second)
        if _badness(again) < _badness(flags):
            return second, frozenset(again | {"retried"})
        return first, frozenset(flags)

    def _assemble(
        self,
        layout: Layout,
        english: Sequence[bool],
        outputs: dict[str, tuple[Output, frozenset[str]]],
        form: Form,
    ) -> Translation:
        sentences = [
            self._sentence(segment, is_english, outputs, form)
            for segment, is_english in zip(layout.segments, english, strict=True)
        ]
        text = layout.fill([sentence.english for sentence in sentences])
        return Translation(text, tuple(sentences))

    def _sentence(
        self,
        segment: Segment,
        is_english: bool,
        outputs: dict[str, tuple[Output, frozenset[str]]],
        form: Form,
    ) -> Sentence:
        source = segment.text
        flags = {"control_characters"} if segment.cleaned else set()
        if has_markup(source):
            flags.add("markup")
        if is_untranslatable(source):
            return Sentence(source, source, ordered(flags | {"untranslatable"}))
        if is_english:
            return Sentence(source, source, ordered(flags | {"english"}))
        output, found = outputs[model_text(source)]
        text = like_source(output.text, source, query=form is Form.QUERY)
        outcome = self._policy(found)
        if outcome == "source":
            return Sentence(source, source, ordered(flags | found | {"source_kept"}))
        if outcome == "drop":
            return Sentence(source, "", ordered(flags | found | {"dropped"}))
        return Sentence(source, text, ordered(flags | found))

    def _policy(self, flags: frozenset[str]) -> str:
        """The strictest of what the flags ask for."""
        asked = {getattr(self.params, f"on_{flag}") for flag in POLICIES if flag in flags}
        return next((o for o in ("drop", "source") if o in asked), "keep")


def ordered(flags: set[str] | frozenset[str]) -> tuple[str, ...]:
    """Flags in the order of `SENTENCE_FLAGS`."""
    return tuple(flag for flag in SENTENCE_FLAGS if flag in flags)


def _badness(flags: set[str]) -> tuple[bool, ...]:
    """What is wrong, the worst first, so that less is better."""
    return tuple(flag in flags for flag in (*RETRIED, "numbers_differ"))


def _blocks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), BLOCK):
        yield texts[start : start + BLOCK]
