"""Interface of translation engines: CTranslate2, or a plug-in of another package.

A plug-in is an entry point in the group `longeval_builder.translators`. It is a function that takes
a model folder, the `[translate]` parameters and the number of threads, and returns a
`TranslationEngine`. The keys of the translation memory contain the engine's `identity`, which must
therefore contain everything on which an output depends.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from builder.errors import UsageError
from builder.parameters import CTRANSLATE2, TranslationParameters
from builder.plugins import load_plugin
from builder.translation.engine import CTranslate2Engine
from builder.translation.parts import ModelOutput


@runtime_checkable
class TranslationEngine(Protocol):
    """Interface of a translation engine: a loaded model that translates sentences."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Values that identify the model and its options; equal values mean equal translations."""

    def count_tokens(self, text: str) -> int:
        """Return the number of source tokens in a text; used only for progress reports."""

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[ModelOutput]:
        """Translate sentences, each independently of the others.

        Args:
            sentences: Sentences with single spaces between words.
            is_retry: Whether the first translations of these sentences were defective; if so, an
                engine should decode with different options if it can.
        """


@runtime_checkable
class StreamingEngine(TranslationEngine, Protocol):
    """Interface of an engine that starts to translate a block before the previous block is done."""

    def translate_blocks(
        self, blocks: Iterable[list[str]], *, is_retry: bool = False
    ) -> Iterator[list[ModelOutput]]:
        """Translate blocks of sentences; yield one list of translations per block, in order."""

    def stop(self) -> None:
        """Stop the translation that is running in another thread."""


EngineLoader = Callable[[Path, TranslationParameters, int], TranslationEngine]


def load_engine(folder: Path, params: TranslationParameters, threads: int) -> TranslationEngine:
    """Load a translation model into the engine that the parameters name.

    Raises:
        UsageError: the plug-in is not installed, or does not return a translation engine.
        FormatError: the folder contains no translation model.
    """
    if params.engine == CTRANSLATE2:
        return CTranslate2Engine.load(folder, params, threads)
    loader: EngineLoader = load_plugin("translators", params.engine)
    engine = loader(folder, params, threads)
    if not isinstance(engine, TranslationEngine):
        raise UsageError(
            f"plug-in {params.engine!r} in the entry-point group longeval_builder.translators: "
            "expected an engine with the attributes `identity`, `count_tokens` and `translate`, "
            f"found {type(engine).__name__}"
        )
    return engine


def translate_blocks(
    engine: TranslationEngine, blocks: Iterable[list[str]], *, is_retry: bool = False
) -> Iterator[list[ModelOutput]]:
    """Translate blocks of sentences, and return an iterator over the outputs of each block.

    A `StreamingEngine` starts to translate a block before the previous block is complete.

    Args:
        engine: The loaded model.
        blocks: Lists of sentences with single spaces between words.
        is_retry: Whether the first translations of these sentences were defective.
    """
    if isinstance(engine, StreamingEngine):
        return engine.translate_blocks(blocks, is_retry=is_retry)
    return (engine.translate(block, is_retry=is_retry) for block in blocks)
