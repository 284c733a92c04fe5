"""Pages through a translator: a group is decoded while others are taken apart and written.

In: documents. Out: the same documents with the translations of their fields. Decoding keeps
the machine busy and runs in a thread of its own; what comes before and after it is Python and takes
the main thread. A page whose text was translated before is found again whole (see `texts.py`).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import polars as pl

from builder.translation.outcomes import Outcome
from builder.translation.sentences import Translation
from builder.translation.texts import Texts, code_digest
from builder.translation.translator import Prepared, Translator

FIELDS = ("text", "title")
CHUNK_BYTES = 1 << 17
"""Text of the pages that are looked up at once."""
NEW_BYTES, HELD_BYTES = 1 << 20, 1 << 24
"""New text of a group, enough for full batches of every length; and the most text of all."""

Fields = dict[str, list[Translation]]


@dataclass
class _Group:
    """Pages under way.

    Args:
        chunks: The pages, in order.
        known: Translations of those texts that were found.
        missing: The other texts, each once, in order.
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
        """Whether it is time to translate."""
        return self.new >= NEW_BYTES or self.held >= HELD_BYTES

    def add(self, pages: pl.DataFrame, texts: Texts, scope: str) -> None:
        """Append pages."""
        wanted = {text: None for name in FIELDS for text in pages[name].to_list()}
        asked = [t for t in wanted if t not in self.known and t not in self.missing]
        self.known |= texts.known(scope, asked)
        missing = {text: None for text in asked if text not in self.known}
        self.chunks.append(pages)
        self.missing |= missing
        self.new += _bytes(missing)
        self.held += _bytes(wanted)


@dataclass(frozen=True)
class _Begun:
    """A group that is being decoded."""

    group: _Group
    prepared: Prepared
    decoded: Future[dict[str, Outcome]]


def translated(
    pages: Iterable[pl.DataFrame], translator: Translator, texts: Texts
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """Translate pages.

    Args:
        pages: Frames with `text` and `title`.
        translator: Its memory is used in another thread until this ends.
        texts: What was translated before.

    Yields:
        The pages in order, some at a time, with the translations of each field.
    """
    scope = _scope(translator)
    waiting: deque[_Begun] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="translate") as beside:
        try:
            for group in _groups(_chunks(pages), texts, scope):
                prepared = translator.prepare(list(group.missing))
                decoded = beside.submit(translator.decode, prepared)
                waiting.append(_Begun(group, prepared, decoded))
                if len(waiting) > 1:
                    yield from _ended(waiting.popleft(), translator, texts, scope)
            while waiting:
                yield from _ended(waiting.popleft(), translator, texts, scope)
        except BaseException:
            translator.stop()
            beside.shutdown(wait=False, cancel_futures=True)
            raise


def _chunks(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Pages in pieces of about `CHUNK_BYTES` of text."""
    size = pl.sum_horizontal(pl.col(name).str.len_bytes().cast(pl.Int64) for name in FIELDS)
    for frame in frames:
        number = frame.select((size.cum_sum() - size) // CHUNK_BYTES).to_series()
        place = 0
        for rows in number.rle().struct.field("len").to_list():
            yield frame[place : place + rows]
            place += rows


def _groups(chunks: Iterable[pl.DataFrame], texts: Texts, scope: str) -> Iterator[_Group]:
    """Pages in groups with enough to decode, in order."""
    group = _Group()
    for chunk in chunks:
        group.add(chunk, texts, scope)
        if group.is_full:
            yield group
            group = _Group()
    if group.chunks:
        yield group


def _ended(
    begun: _Begun, translator: Translator, texts: Texts, scope: str
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """The pages of a group once they are decoded."""
    made = translator.finish(begun.prepared, begun.decoded.result())
    new = dict(zip(begun.group.missing, made, strict=True))
    texts.add(scope, new)
    found = begun.group.known | new
    for pages in begun.group.chunks:
        yield pages, {name: [found[t] for t in pages[name].to_list()] for name in FIELDS}


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _scope(translator: Translator) -> str:
    """Cache key: everything that determines a translation besides the text."""
    return " ".join(
        (translator.scope(), translator.params.model_dump_json(exclude={"model"}), code_digest())
    )
