"""Which engine translates: CTranslate2, or one that another installed package brings.

A plug-in of the group `translators` is a function of a model folder, `[translate]` and a number of
threads to an object that does what `TranslationEngine` says. What its outputs depend on must be in
`identity`: the memory keeps outputs under it, and never asks again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from builder.errors import UsageError
from builder.parameters import CTRANSLATE2, TranslateParameters
from builder.plugins import load
from builder.translation.engine import Engine
from builder.translation.parts import Output


@runtime_checkable
class TranslationEngine(Protocol):
    """A loaded model."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything that decides an output, beside the sentence and the parameters."""

    def size(self, text: str) -> int:
        """Source pieces of a text, for progress."""

    def translate(self, sentences: Sequence[str], *, careful: bool = False) -> list[Output]:
        """One output a sentence, in order; none may depend on the other sentences."""


@runtime_checkable
class StreamingEngine(TranslationEngine, Protocol):
    """A loaded model that starts the next block before finishing the previous one."""

    def translate_blocks(
        self, blocks: Iterable[list[str]], *, careful: bool = False
    ) -> Iterator[list[Output]]:
        """The outputs of each block, in order."""

    def stop(self) -> None:
        """Give up what is being translated in another thread."""


Loader = Callable[[Path, TranslateParameters, int], TranslationEngine]


def load_engine(folder: Path, params: TranslateParameters, threads: int) -> TranslationEngine:
    """The engine that the parameters name, with its model.

    Raises:
        UsageError: it is not installed, or is no engine.
        FormatError: the folder is not a model.
    """
    if params.engine == CTRANSLATE2:
        return Engine.load(folder, params, threads)
    loader: Loader = load("translators", params.engine)
    engine = loader(folder, params, threads)
    if not isinstance(engine, TranslationEngine):
        raise UsageError(
            f"translators: {params.engine!r} gives no engine; it needs identity, size and translate"
        )
    return engine


def translate_blocks(
    engine: TranslationEngine, blocks: Iterable[list[str]], *, careful: bool = False
) -> Iterator[list[Output]]:
    """The outputs of each block, in order, as quickly as the engine can."""
    if isinstance(engine, StreamingEngine):
        return engine.translate_blocks(blocks, careful=careful)
    return (engine.translate(block, careful=careful) for block in blocks)
