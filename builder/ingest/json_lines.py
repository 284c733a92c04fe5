"""Lines of JSON -> impressions and rejects, many at a time where lines are as they should be.

Results that were seen before, as most were, are not parsed again. Lines that do not go into columns
(see `line_columns`) go with the rows that `columns.examine` doubts to the parser of single lines in
`impression`. What comes out is what that would have made of all of them.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.columns import Records, as_batch, examine, shown_in
from builder.ingest.impression import Impression, parse_impression
from builder.ingest.json_layout import layout_of, own_columns
from builder.ingest.known_pages import KnownPages
from builder.ingest.line_columns import Layout, parse_lines
from builder.ingest.lines import Chunk
from builder.ingest.lists import Rows, lists_of
from builder.ingest.paged import Pages, with_pages
from builder.ingest.rejects import RejectError
from builder.ingest.result_texts import (
    LIST,
    Shown,
    find_lists,
    lists_alone,
    only,
    texts_of,
    without_lists,
)
from builder.parameters import LogParameters
from builder.sources import Interval

LISTS = Layout(pa.schema({LIST: pa.list_(pa.string())}), has_others=False)


def read_lines(
    chunk: Chunk, interval: Interval | None, params: LogParameters, known: KnownPages | None = None
) -> Records:
    """Every line of a chunk as an impression or a reject.

    Args:
        chunk: The lines.
        interval: Where times must lie; None: they are not looked at, and are 0.
        params: `[log]`.
        known: Result pages that were seen before; with it some impressions are `paged`.
    """
    layout = layout_of(chunk, params)
    records, singly = Records(), np.ones(len(chunk), dtype=bool)
    if layout is not None:
        for lines in _grouped(chunk, layout, params, known):
            found, sure = _by_columns(lines, layout, chunk.first, interval, params)
            records.impressions += found.impressions
            records.paged += found.paged
            records.rejects += found.rejects
            singly[sure] = False
    _add_singly(records, chunk, np.flatnonzero(singly), interval, params)
    if chunk.fault is not None:
        records.rejects.append((chunk.first + len(chunk), chunk.fault))
    return records


class _Lines(NamedTuple):
    """Lines that are parsed together.

    Args:
        chunk: They, and nothing else.
        places: Of each in the chunk that is read.
        pages: Their results, in the place of which they have empty lists; None: they have theirs.
    """

    chunk: Chunk
    places: Rows
    pages: Pages | None = None


def _grouped(
    chunk: Chunk, layout: Layout, params: LogParameters, known: KnownPages | None
) -> list[_Lines]:
    """All lines, those apart whose results are told by their text."""
    whole = _Lines(chunk, np.arange(len(chunk)))
    if known is None or not known.is_worth or not _are_told_apart(layout, params):
        return [whole]
    shown = find_lists(chunk, params.fields.results)
    if not len(shown.lines):
        return [whole]
    others = np.delete(whole.places, shown.lines)
    return [
        _Lines(without_lists(chunk, shown), shown.lines, _pages(chunk, shown, known)),
        _Lines(only(chunk, others), others),
    ]


def _are_told_apart(layout: Layout, params: LogParameters) -> bool:
    """Whether results are texts, and nothing else depends on them."""
    name = params.fields.results
    if params.click_form != "ranks" or name not in layout.schema.names:
        return False
    return bool(layout.schema.field(name).type == LISTS.schema.field(LIST).type)


def _pages(chunk: Chunk, shown: Shown, known: KnownPages) -> Pages:
    """The pages of lines; each that is new is parsed once."""
    asked = known.ask(texts_of(chunk, shown))
    numbers = np.arange(len(shown.lines))
    numbers[~asked.new] = np.arange(len(asked.keys))
    numbers[asked.new] = len(asked.keys) + asked.which
    urls = _parsed(lists_alone(chunk, shown.take(asked.places)))
    return Pages(asked.keys, urls, asked.halves, numbers)


def _parsed(lists: Chunk) -> pa.ListArray:
    """The texts of lists; none where one is no list of texts, or lacks one."""
    batch, rows = parse_lines(lists, LISTS)
    sizes = np.zeros(len(lists), dtype=np.int64)
    if batch is None:
        return lists_of(sizes, pa.array([], pa.string()))
    found = shown_in(batch[LIST])
    sizes[rows] = found
    return lists_of(sizes, pc.list_flatten(batch[LIST].filter(pa.array(found > 0))))


def _by_columns(
    lines: _Lines, layout: Layout, first: int, interval: Interval | None, params: LogParameters
) -> tuple[Records, Rows]:
    """What columns tell of lines, and the places of those of which they tell all."""
    parsed, rows = parse_lines(lines.chunk, layout)
    columns = None if parsed is None else own_columns(parsed, params)
    if columns is None:
        return Records(), rows[:0]
    places, numbers = lines.places[rows], (first + lines.places[rows]).astype(np.uint64)
    if lines.pages is None:
        records, unsure = examine(columns, numbers, interval, params)
    else:
        pages = lines.pages._replace(numbers=lines.pages.numbers[rows])
        place = columns.schema.get_field_index("results")
        columns = columns.set_column(place, "results", pa.array(pages.numbers))
        records, unsure = examine(columns, numbers, interval, params, pages.shown)
        records.paged = [with_pages(batch, pages) for batch in records.impressions]
        records.impressions = []
    return records, np.delete(places, unsure)


def _add_singly(
    records: Records, chunk: Chunk, places: Rows, interval: Interval | None, params: LogParameters
) -> None:
    impressions: list[tuple[int, Impression]] = []
    for place in places.tolist():
        line, number = chunk.line(place), chunk.first + place
        try:
            if line is None:
                raise RejectError("line_too_long")
            impressions.append((number, parse_impression(line, interval, params)))
        except RejectError as reject:
            records.rejects.append((number, str(reject)))
    if impressions:
        records.impressions.append(as_batch(impressions))
