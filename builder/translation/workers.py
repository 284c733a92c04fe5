"""Blocks of sentences to the workers of an executor, each with the model loaded once.

In: blocks of sentences. Out: their outputs, in order. What an output is does not depend on the
worker (see `engine.py`), so that it goes into the one memory that the caller keeps.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path

from builder.parameters import TranslateParameters
from builder.runtime.executors import map_partitions
from builder.runtime.limits import Limits
from builder.translation.engines import TranslationEngine, load_engine
from builder.translation.parts import Output


def decode_blocks(
    folder: Path,
    params: TranslateParameters,
    limits: Limits,
    blocks: Iterable[list[str]],
    *,
    careful: bool,
) -> Iterator[list[Output]]:
    """Outputs of blocks of sentences, by the executor of the limits.

    Args:
        folder: The model; every worker sees it at this path.
        params: Decoding options.
        limits: Says where blocks are worked on.
        blocks: Sentences in single spaces.
        careful: See `Engine.translate`.
    """
    task = partial(_decode, folder=folder, params=params, careful=careful)
    return map_partitions(task, blocks, limits)


def _decode(
    block: list[str], limits: Limits, folder: Path, params: TranslateParameters, careful: bool
) -> list[Output]:
    return _engine(folder, params, limits.threads).translate(block, careful=careful)


@lru_cache(maxsize=1)
def _engine(folder: Path, params: TranslateParameters, threads: int) -> TranslationEngine:
    """The model of this process, which stays loaded."""
    return load_engine(folder, params, threads)
