"""Pages through a translator: a group is decoded while others are taken apart and written.

In: documents in groups. Out: the same groups with the translations of their fields. Decoding keeps
the machine busy and runs in a thread of its own; what comes before and after it is Python and takes
the main thread. A page whose text was translated before is found again whole (see `texts.py`).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl

from builder.translation.outcomes import Outcome
from builder.translation.sentences import Translation
from builder.translation.texts import Texts, code_digest
from builder.translation.translator import Prepared, Translator

FIELDS = ("text", "title")
GROUP_BYTES = 1 << 20
"""Text of a group: enough sentences of each length to fill batches."""

Fields = dict[str, list[Translation]]


@dataclass(frozen=True)
class _Group:
    """Pages under way: what was found, and what is being decoded."""

    pages: pl.DataFrame
    known: dict[str, Translation]
    missing: list[str]
    prepared: Prepared
    decoded: Future[dict[str, Outcome]]


def translated(
    groups: Iterable[pl.DataFrame], translator: Translator, texts: Texts
) -> Iterator[tuple[pl.DataFrame, Fields]]:
    """Translate pages.

    Args:
        groups: Pages with `text` and `title`.
        translator: Its memory is used in another thread until this ends.
        texts: What was translated before.

    Yields:
        Each group with the translations of each field.
    """
    scope = _scope(translator)
    waiting: deque[_Group] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="translate") as beside:
        try:
            for pages in groups:
                waiting.append(_begun(pages, translator, texts, scope, beside))
                if len(waiting) > 1:
                    yield _ended(waiting.popleft(), translator, texts, scope)
            while waiting:
                yield _ended(waiting.popleft(), translator, texts, scope)
        except BaseException:
            translator.stopped.set()
            beside.shutdown(wait=False, cancel_futures=True)
            raise


def in_groups(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Pages in groups of about `GROUP_BYTES` of text, in order."""
    size = pl.sum_horizontal(pl.col(name).str.len_bytes().cast(pl.Int64) for name in FIELDS)
    for frame in frames:
        number = frame.select((size.cum_sum() - size) // GROUP_BYTES).to_series()
        starts = number.rle_id().rle().struct.field("len")
        place = 0
        for rows in starts.to_list():
            yield frame[place : place + rows]
            place += rows


def _begun(
    pages: pl.DataFrame,
    translator: Translator,
    texts: Texts,
    scope: str,
    beside: ThreadPoolExecutor,
) -> _Group:
    wanted = list(dict.fromkeys(text for name in FIELDS for text in pages[name].to_list()))
    known = texts.known(scope, wanted)
    missing = [text for text in wanted if text not in known]
    prepared = translator.prepare(missing)
    return _Group(pages, known, missing, prepared, beside.submit(translator.decode, prepared))


def _ended(
    group: _Group, translator: Translator, texts: Texts, scope: str
) -> tuple[pl.DataFrame, Fields]:
    made = translator.finish(group.prepared, group.decoded.result())
    new = dict(zip(group.missing, made, strict=True))
    texts.add(scope, new)
    found = group.known | new
    return group.pages, {name: [found[t] for t in group.pages[name].to_list()] for name in FIELDS}


def _scope(translator: Translator) -> str:
    """Everything that decides a translation beside the text."""
    return " ".join(
        (translator.scope(), translator.params.model_dump_json(exclude={"model"}), code_digest())
    )
