"""Translates blocks of sentences in worker processes, each of which loads the model once.

A translation does not depend on the worker process (see `engine`), so the caller can store it in
its translation memory.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path

from builder.parameters import TranslationParameters
from builder.runtime.executors import map_partitions
from builder.runtime.limits import ResourceLimits
from builder.translation.engines import TranslationEngine, load_engine
from builder.translation.parts import ModelOutput


def decode_blocks(
    folder: Path,
    params: TranslationParameters,
    limits: ResourceLimits,
    blocks: Iterable[list[str]],
    *,
    is_retry: bool,
) -> Iterator[list[ModelOutput]]:
    """Translate blocks of sentences in the worker processes of an executor.

    Args:
        folder: Model folder; every worker must find it at this path.
        params: Parameters of the `[translate]` section.
        limits: Executor, and resource limits.
        blocks: Lists of sentences with single spaces between words.
        is_retry: Whether the first translations of these sentences were defective.

    Yields:
        The outputs of each block, one per sentence, in the order of the blocks.
    """
    task = partial(_decode_block, folder=folder, params=params, is_retry=is_retry)
    return map_partitions(task, blocks, limits)


def _decode_block(
    block: list[str],
    limits: ResourceLimits,
    folder: Path,
    params: TranslationParameters,
    is_retry: bool,
) -> list[ModelOutput]:
    return _load_engine_once(folder, params, limits.threads).translate(block, is_retry=is_retry)


@lru_cache(maxsize=1)
def _load_engine_once(
    folder: Path, params: TranslationParameters, threads: int
) -> TranslationEngine:
    """Return the translation engine of this worker process, which is loaded only once."""
    return load_engine(folder, params, threads)
