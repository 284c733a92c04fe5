"""Texts in French in, texts in English and what is to be said of each sentence out.

A sentence is copied (no word of a language, or English already) or decoded. What went wrong in
decoding is found by `outcomes.py` and by what the engine says, decoded again with care where the
parameters say so, and then stands as it is, gives way to its source, or is dropped, by the policy
of each flag. Whatever happens, there is one entry for every sentence, with its flags.

The three steps can be called apart (`prepare`, `decode`, `finish`): only the second keeps the
engine busy, so that another thread may do the others meanwhile.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from threading import Event

from builder.parameters import TranslateParameters
from builder.translation.cutting import is_untranslatable
from builder.translation.engine import CAREFUL
from builder.translation.engines import StreamingEngine, TranslationEngine, translate_blocks
from builder.translation.forms import like_source, model_text
from builder.translation.language import english_sentences
from builder.translation.layout import Layout, Segment, one_segment, split_text
from builder.translation.memory import Memory
from builder.translation.outcomes import Outcome, better, outcome, stands
from builder.translation.parts import Output
from builder.translation.quality import has_markup
from builder.translation.sentences import Form, Sentence, Translation, ordered

Decoder = Callable[[Sequence[list[str]], bool], Iterator[list[Output]]]

BLOCK = 2048
"""Sentences decoded between commits: the most work lost to a kill."""


@dataclass(frozen=True)
class Prepared:
    """Texts taken apart.

    Args:
        layouts: Their sentences.
        copied: For each of them, the flag for which it is copied; None: it is decoded.
        wanted: What is to be decoded, each once.
        form: What the texts are.
    """

    layouts: tuple[Layout, ...]
    copied: tuple[list[str | None], ...]
    wanted: frozenset[str]
    form: Form


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
        self.memory = memory
        self.params = params
        self.counts = Counts()
        self._stopped = Event()
        self._decoder: Decoder = decoder or self._decode_here
        self._advance = advance

    def translate(self, texts: Sequence[str], form: Form = Form.TEXT) -> list[Translation]:
        """Translate texts.

        Args:
            texts: Texts of any number of lines; under `Form.QUERY`, each is one sentence.
            form: Whether they are texts or queries.
        """
        prepared = self.prepare(texts, form)
        return self.finish(prepared, self.decode(prepared))

    def prepare(self, texts: Sequence[str], form: Form = Form.TEXT) -> Prepared:
        """Split texts into sentences and select those to decode."""
        take_apart = split_text if form is Form.TEXT else one_segment
        layouts = tuple(map(take_apart, texts))
        copied = tuple(self._copied(layouts, form))
        wanted = frozenset(
            model_text(segment.text)
            for layout, flags in zip(layouts, copied, strict=True)
            for segment, flag in zip(layout.segments, flags, strict=True)
            if flag is None
        )
        return Prepared(layouts, copied, wanted, form)

    def decode(self, prepared: Prepared) -> dict[str, Outcome]:
        """The best outcome of everything that texts want decoded."""
        best = self._outcomes(prepared.wanted, careful=False)
        bad = [text for text, found in best.items() if found.is_bad] if self.params.retry else []
        for text, second in self._outcomes(frozenset(bad), careful=True).items():
            best[text] = better(best[text], second)
        return best

    def finish(self, prepared: Prepared, best: Mapping[str, Outcome]) -> list[Translation]:
        """Put what was decoded where it stood."""
        found = []
        for layout, flags in zip(prepared.layouts, prepared.copied, strict=True):
            sentences = tuple(
                self._sentence(segment, flag, best, prepared.form)
                for segment, flag in zip(layout.segments, flags, strict=True)
            )
            found.append(Translation(layout.fill([s.english for s in sentences]), sentences))
        return found

    def stop(self) -> None:
        """Give up what is being decoded in another thread; what was decoded is kept."""
        self._stopped.set()
        if isinstance(self.engine, StreamingEngine):
            self.engine.stop()

    def _copied(self, layouts: Sequence[Layout], form: Form) -> Iterator[list[str | None]]:
        """For each sentence of each text, the flag that makes it be copied, or None."""
        sentences = [[segment.text for segment in layout.segments] for layout in layouts]
        if self.params.on_english == "keep" or form is Form.QUERY:
            english = [[False] * len(texts) for texts in sentences]
        else:
            english = english_sentences(sentences)
        for texts, are_english in zip(sentences, english, strict=True):
            yield [
                "untranslatable" if is_untranslatable(text) else "english" if is_english else None
                for text, is_english in zip(texts, are_english, strict=True)
            ]

    def _outcomes(self, texts: frozenset[str], *, careful: bool) -> dict[str, Outcome]:
        """Outcomes of texts, from the memory or from the model."""
        scope = self.scope(careful=careful)
        found = self.memory.known(scope, sorted(texts))
        outcomes = {text: outcome(text, output) for text, output in found.items()}
        self.counts.asked += len(texts)
        missing = sorted(texts - found.keys(), key=lambda text: (-len(text), text))
        blocks = list(_blocks(missing))
        for block, decoded in zip(blocks, self._decoder(blocks, careful), strict=True):
            outputs = dict(zip(block, decoded, strict=True))
            self.memory.add(scope, outputs)
            pieces = sum(output.pieces for output in decoded)
            self.counts.decoded += len(block)
            self.counts.pieces += pieces
            self._advance(pieces)
            outcomes |= {text: outcome(text, output) for text, output in outputs.items()}
            if self._stopped.is_set():
                raise CancelledError
        return outcomes

    def _decode_here(self, blocks: Sequence[list[str]], careful: bool) -> Iterator[list[Output]]:
        return translate_blocks(self.engine, blocks, careful=careful)

    def scope(self, *, careful: bool = False) -> str:
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

    def _sentence(
        self, segment: Segment, copied: str | None, best: Mapping[str, Outcome], form: Form
    ) -> Sentence:
        source = segment.text
        flags = {"control_characters"} if segment.cleaned else set()
        if has_markup(source):
            flags.add("markup")
        if copied is not None:
            return Sentence(source, source, ordered(flags | {copied}))
        found = best[model_text(source)]
        flags |= found.flags
        answer = stands(found.flags, self.params)
        if answer == "source":
            return Sentence(source, source, ordered(flags | {"source_kept"}))
        if answer == "drop":
            return Sentence(source, "", ordered(flags | {"dropped"}))
        text = like_source(found.output.text, source, query=form is Form.QUERY)
        return Sentence(source, text, ordered(flags))


def _blocks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), BLOCK):
        yield texts[start : start + BLOCK]
