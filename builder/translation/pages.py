"""Translates documents in groups: decodes one group while others are split and written.

Decoding uses all cores and runs in a background thread; splitting and joining is Python and uses
the main thread. The translation of an unchanged document is looked up as a whole (see
`text_cache`).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import polars as pl

from builder.translation.outcomes import Outcome
from builder.translation.sentences import Translation
from builder.translation.text_cache import TextCache, code_digest
from builder.translation.translator import PreparedTexts, Translator

FIELDS = ("text", "title")
CHUNK_BYTES = 1 << 17
"""Approximate bytes of text that are looked up in the cache at once."""
NEW_BYTES, HELD_BYTES = 1 << 20, 1 << 24
"""Bytes of text to translate, and of all text, at which a group is full."""

Fields = dict[str, list[Translation]]


@dataclass
class _Group:
    """Group of documents that are translated together.

    Args:
        chunks: The documents, in order.
        known: Cached translations, by text.
        missing: Distinct texts without a cached translation, in order.
        new: Bytes of the missing texts.
        held: Bytes of all texts.
    """

    chunks: list[pl.DataFrame] = field(default_factory=list)
    known: dict[str, Translation] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    new: int = 0
    held: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the group has enough text to be translated."""
        return self.new >= NEW_BYTES or self.held >= HELD_BYTES

    def add(self, pages: pl.DataFrame, texts: TextCache, scope: str) -> None:
        """Append documents to the group, and note which of the texts have no cached translation."""
        wanted = {text: None for name in FIELDS for text in pages[name].to_list()}
        asked = [t for t in wanted if t not in self.known and t not in self.missing]
        self.known |= texts.lookup(scope, asked)
        missing = {text: None for text in asked if text not in self.known}
        self.chunks.append(pages)
        self.missing |= missing
        self.new += _total_bytes(missing)
        self.held += _total_bytes(wanted)


@dataclass(frozen=True)
class _InFlightGroup:
    """Group of documents that is being decoded."""

    group: _Group
    prepared: PreparedTexts
    decoded: Future[dict[str, Outcome]]


def translate_pages(
    pages: Iterable[pl.DataFrame], translator: Translator, texts: TextCache
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """Translate the title and text of documents.

    Args:
        pages: Frames with `text` and `title`.
        translator: The translator; a background thread uses its memory until the end.
        texts: Cache of translated texts.

    Yields:
        Batches of documents in order, with the translations of each field.
    """
    scope = _scope(translator)
    waiting: deque[_InFlightGroup] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="translate") as beside:
        try:
            for group in _groups(_chunks(pages), texts, scope):
                prepared = translator.prepare(list(group.missing))
                decoded = beside.submit(translator.decode, prepared)
                waiting.append(_InFlightGroup(group, prepared, decoded))
                if len(waiting) > 1:
                    yield from _finish(waiting.popleft(), translator, texts, scope)
            while waiting:
                yield from _finish(waiting.popleft(), translator, texts, scope)
        except BaseException:
            translator.stop()
            beside.shutdown(wait=False, cancel_futures=True)
            raise


def _chunks(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Split frames into chunks of about `CHUNK_BYTES` of text."""
    size = pl.sum_horizontal(pl.col(name).str.len_bytes().cast(pl.Int64) for name in FIELDS)
    for frame in frames:
        number = frame.select((size.cum_sum() - size) // CHUNK_BYTES).to_series()
        place = 0
        for rows in number.rle().struct.field("len").to_list():
            yield frame[place : place + rows]
            place += rows


def _groups(chunks: Iterable[pl.DataFrame], texts: TextCache, scope: str) -> Iterator[_Group]:
    """Collect chunks into groups with enough text to decode, in order."""
    group = _Group()
    for chunk in chunks:
        group.add(chunk, texts, scope)
        if group.is_full:
            yield group
            group = _Group()
    if group.chunks:
        yield group


def _finish(
    begun: _InFlightGroup, translator: Translator, texts: TextCache, scope: str
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """Wait until a group is decoded, and yield its documents with their translations."""
    made = translator.finish(begun.prepared, begun.decoded.result())
    new = dict(zip(begun.group.missing, made, strict=True))
    texts.add(scope, new)
    found = begun.group.known | new
    for pages in begun.group.chunks:
        yield pages, {name: [found[t] for t in pages[name].to_list()] for name in FIELDS}


def _total_bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _scope(translator: Translator) -> str:
    """Return a cache key of everything that a translation depends on except the text."""
    return " ".join(
        (translator.scope(), translator.params.model_dump_json(exclude={"model"}), code_digest())
    )
