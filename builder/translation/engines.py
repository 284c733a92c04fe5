"""Interface of translation engines: CTranslate2, or a plug-in of another package.

A plug-in is an entry point in the group `translators`: a function of a model folder, the section
`[translate]` and a number of threads that returns a `TranslationEngine`. The translation memory
stores outputs under the engine's `identity`, which must therefore contain everything that an output
depends on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from builder.errors import UsageError
from builder.parameters import CTRANSLATE2, TranslateParameters
from builder.plugins import load_plugin
from builder.translation.engine import Engine
from builder.translation.parts import Output


@runtime_checkable
class TranslationEngine(Protocol):
    """Interface of a loaded translation model."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Values that identify the model; equal values mean equal translations."""

    def size(self, text: str) -> int:
        """Return the number of source tokens of a text, for progress reports."""

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[Output]:
        """Return the translation of each sentence, which must not depend on the other sentences.

        Args:
            sentences: Sentences with single spaces between words.
            is_retry: Whether the first translations of these sentences were defective; an engine
                that can decode in another way should do so.
        """


@runtime_checkable
class StreamingEngine(TranslationEngine, Protocol):
    """Interface of a translation model that starts a block before finishing the previous one."""

    def translate_blocks(
        self, blocks: Iterable[list[str]], *, is_retry: bool = False
    ) -> Iterator[list[Output]]:
        """Yield the translations of each block of sentences, in order."""

    def stop(self) -> None:
        """Stop a translation that runs in another thread."""


Loader = Callable[[Path, TranslateParameters, int], TranslationEngine]


def load_engine(folder: Path, params: TranslateParameters, threads: int) -> TranslationEngine:
    """Load a translation model with the engine named in the parameters.

    Raises:
        UsageError: the plug-in is not installed, or is not an engine.
        FormatError: the folder is not a model.
    """
    if params.engine == CTRANSLATE2:
        return Engine.load(folder, params, threads)
    loader: Loader = load_plugin("translators", params.engine)
    engine = loader(folder, params, threads)
    if not isinstance(engine, TranslationEngine):
        raise UsageError(
            f"translators: {params.engine!r} does not return a translation engine; "
            "it must have identity, size and translate"
        )
    return engine


def translate_blocks(
    engine: TranslationEngine, blocks: Iterable[list[str]], *, is_retry: bool = False
) -> Iterator[list[Output]]:
    """Yield the translations of each block of sentences, streamed if the engine supports it."""
    if isinstance(engine, StreamingEngine):
        return engine.translate_blocks(blocks, is_retry=is_retry)
    return (engine.translate(block, is_retry=is_retry) for block in blocks)
