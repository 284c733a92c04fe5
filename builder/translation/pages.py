"""Translates documents in groups: decodes one group while the next is split into sentences.

Decoding runs in a background thread and uses all cores; the Python code that splits and joins texts
runs in the main thread. The translation of an unchanged document is looked up as a whole (see
`text_cache`).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import polars as pl

from builder.translation.outcomes import FlaggedOutput
from builder.translation.sentences import Translation
from builder.translation.text_cache import TextCache, code_digest
from builder.translation.translator import PreparedTexts, Translator

FIELDS = ("text", "title")
CHUNK_BYTES = 1 << 17
"""Approximate number of bytes of text per cache lookup."""
NEW_BYTES, HELD_BYTES = 1 << 20, 1 << 24
"""Minimum numbers of bytes of a full group: its uncached text has at least `NEW_BYTES`, or all of
its text has at least `HELD_BYTES`."""

Fields = dict[str, list[Translation]]


@dataclass
class _DocumentGroup:
    """Group of documents that are translated together.

    Args:
        chunks: Data frames of the documents, in order.
        cached: Cached translations, by text.
        missing: Distinct texts without a cached translation, in order.
        missing_bytes: Number of bytes of the missing texts.
        total_bytes: Number of bytes of all texts.
    """

    chunks: list[pl.DataFrame] = field(default_factory=list)
    cached: dict[str, Translation] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    missing_bytes: int = 0
    total_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the group has enough text to be translated."""
        return self.missing_bytes >= NEW_BYTES or self.total_bytes >= HELD_BYTES

    def add(self, documents: pl.DataFrame, cache: TextCache, namespace: str) -> None:
        """Append documents to the group, and look up the translations of their texts.

        Args:
            documents: Documents with `text` and `title`.
            cache: Cache of translated texts.
            namespace: Model, options and code version as a string, used in cache keys.
        """
        wanted = {text: None for name in FIELDS for text in documents[name].to_list()}
        asked = [t for t in wanted if t not in self.cached and t not in self.missing]
        self.cached |= cache.lookup(namespace, asked)
        missing = {text: None for text in asked if text not in self.cached}
        self.chunks.append(documents)
        self.missing |= missing
        self.missing_bytes += _count_bytes(missing)
        self.total_bytes += _count_bytes(wanted)


@dataclass(frozen=True)
class _InFlightGroup:
    """Group of documents that is being decoded."""

    group: _DocumentGroup
    prepared: PreparedTexts
    decoded: Future[dict[str, FlaggedOutput]]


def translate_documents(
    documents: Iterable[pl.DataFrame], translator: Translator, cache: TextCache
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """Translate the titles and texts of documents.

    Args:
        documents: Data frames of documents with `text` and `title`.
        translator: The translator; a background thread uses it until the last document is yielded.
        cache: Cache of translated texts.

    Yields:
        Data frames of consecutive documents, each with the translations of these documents by field
        name (`text`, `title`). The data frames may be smaller than those in `documents`.
    """
    namespace = _text_cache_namespace(translator)
    waiting: deque[_InFlightGroup] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="translate") as background:
        try:
            for group in _group_chunks_by_size(_split_into_chunks(documents), cache, namespace):
                prepared = translator.prepare(list(group.missing))
                decoded = background.submit(translator.decode, prepared)
                waiting.append(_InFlightGroup(group, prepared, decoded))
                if len(waiting) > 1:
                    yield from _finish_group(waiting.popleft(), translator, cache, namespace)
            while waiting:
                yield from _finish_group(waiting.popleft(), translator, cache, namespace)
        except BaseException:
            translator.stop()
            background.shutdown(wait=False, cancel_futures=True)
            raise


def _split_into_chunks(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Split data frames into chunks with about `CHUNK_BYTES` bytes of text each."""
    size = pl.sum_horizontal(pl.col(name).str.len_bytes().cast(pl.Int64) for name in FIELDS)
    for frame in frames:
        number = frame.select((size.cum_sum() - size) // CHUNK_BYTES).to_series()
        place = 0
        for rows in number.rle().struct.field("len").to_list():
            yield frame[place : place + rows]
            place += rows


def _group_chunks_by_size(
    chunks: Iterable[pl.DataFrame], cache: TextCache, namespace: str
) -> Iterator[_DocumentGroup]:
    """Collect consecutive chunks into groups with enough text to translate; yield each group."""
    group = _DocumentGroup()
    for chunk in chunks:
        group.add(chunk, cache, namespace)
        if group.is_full:
            yield group
            group = _DocumentGroup()
    if group.chunks:
        yield group


def _finish_group(
    in_flight: _InFlightGroup, translator: Translator, cache: TextCache, namespace: str
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """Wait until a group has been decoded, and yield its documents with their translations."""
    made = translator.assemble_translations(in_flight.prepared, in_flight.decoded.result())
    new = dict(zip(in_flight.group.missing, made, strict=True))
    cache.add(namespace, new)
    found = in_flight.group.cached | new
    for documents in in_flight.group.chunks:
        yield documents, {name: [found[t] for t in documents[name].to_list()] for name in FIELDS}


def _count_bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _text_cache_namespace(translator: Translator) -> str:
    """Return the model, all options and the code version as a string, used in cache keys."""
    return " ".join(
        (
            translator.cache_namespace(),
            translator.params.model_dump_json(exclude={"model"}),
            code_digest(),
        )
    )
