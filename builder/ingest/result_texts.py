"""Where the lists of results stand in JSON lines, so that one is parsed once for all its lines.

In: a chunk of lines. Out: the places of the lists of those lines that have one plainly, the lists
as texts, and the lines without them. A list stands plainly where the first `"results":[` of its
line is that of the outermost object: no other object begins before it, and no quote is escaped
there, so that quotes are those of texts alone. It is taken to end at the next `]`. If then the line
is JSON without what stands between the brackets, and that is a list of texts by itself, the line is
JSON with that list.
"""

import json
import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.lines import BLOCK, Chunk
from builder.ingest.lists import Mask, Rows

LOOKED_AT = 2**16
"""Bytes of a chunk in which the name of the field is looked for, as the log writes it."""
INLINE = 12
"""Bytes of a text that Arrow holds in its view."""
LF = b"\n"
LIST = "list"
BEFORE, AFTER = f'{{"{LIST}":['.encode(), b"]}" + LF
QUOTE, OPENING = ord('"'), ord("[")
UPPER, LAST_SIGN = 0xDF, 2
"""The bits of a byte but that of lower case, and how far `]` is from `[`, with which `{` begins."""

Bytes = npt.NDArray[np.uint8]


class Shown(NamedTuple):
    """The lists of results of some lines of a chunk.

    Args:
        lines: Places of the lines, in ascending order.
        starts: Where in the data each list begins, after its bracket.
        stops: Where it ends, before its bracket.
    """

    lines: Rows
    starts: Rows
    stops: Rows

    def take(self, some: Mask | Rows) -> "Shown":
        """Some of them."""
        return Shown(self.lines[some], self.starts[some], self.stops[some])


def find_lists(chunk: Chunk, field: str) -> Shown:
    """The lists under a name that stand plainly in their lines, and have some length."""
    nowhere = np.zeros(0, dtype=np.int64)
    opening = _opening(bytes((chunk.data or b"")[:LOOKED_AT]), field)
    if opening is None:
        return Shown(nowhere, nowhere, nowhere)
    data = np.frombuffer(chunk.data or b"", np.uint8)
    signs = _Signs.of(data)
    starts = _endings(data, signs.openings, opening) + 1
    lines = np.searchsorted(chunk.ends, starts)
    first = np.diff(lines, prepend=-1) > 0
    starts, lines = starts[first], lines[first]
    closings = np.append(signs.closings, len(data))
    shown = Shown(lines, starts, closings[np.searchsorted(closings, starts)])
    return shown.take(_are_plain(chunk, signs, shown))


def texts_of(chunk: Chunk, shown: Shown) -> pl.Series:
    """What stands between the brackets of lists, as bytes."""
    return pl.Series(pl.from_arrow(_views(chunk.data or b"", shown.starts, shown.stops)))


def without_lists(chunk: Chunk, shown: Shown) -> Chunk:
    """The lines of lists, each with an empty list in the place of its own."""
    begin, end = _bounds(chunk, shown.lines)
    starts = np.column_stack([begin, shown.stops]).ravel()
    stops = np.column_stack([shown.starts, end]).ravel()
    return Chunk(1, _joined(chunk.data or b"", starts, stops), chunk.longest)


def lists_alone(chunk: Chunk, shown: Shown) -> Chunk:
    """Lists as lines of their own, objects that have nothing but a field `LIST`."""
    texts = _views(chunk.data or b"", shown.starts, shown.stops).cast(pa.large_binary())
    before, after, nothing = (pa.scalar(part, pa.large_binary()) for part in (BEFORE, AFTER, b""))
    lines = pc.binary_join_element_wise(before, texts, after, nothing)
    data = _bytes_of(lines) if len(lines) else None
    return Chunk(1, data, chunk.longest + len(BEFORE) + len(AFTER))


def only(chunk: Chunk, lines: Rows) -> Chunk:
    """Some lines of a chunk, in ascending order."""
    if not len(lines):
        return Chunk(1, None, chunk.longest)
    data = _joined(chunk.data or b"", *_bounds(chunk, lines))
    return Chunk(1, data, chunk.longest, chunk.is_cut and lines[0] == 0)


def _opening(data: bytes, field: str) -> bytes | None:
    """How lines begin a list under a name."""
    name = json.dumps(field, ensure_ascii=False).encode("utf-8", "surrogatepass")
    found = re.search(re.escape(name) + rb"[ \t]*:[ \t]*\[", data)
    return None if found is None else found[0]


class _Signs(NamedTuple):
    """Where some bytes stand.

    Args:
        openings: `[`.
        closings: `]`.
        objects: `{`.
        escaped: A backslash before a quote.
    """

    openings: Rows
    closings: Rows
    objects: Rows
    escaped: Rows

    @classmethod
    def of(cls, data: Bytes) -> "_Signs":
        """Looks for all at once: with the bit of lower case cleared, they follow each other."""
        found, room = [np.zeros(0, dtype=np.int64)], np.empty(BLOCK, dtype=np.uint8)
        for start in range(0, len(data), BLOCK):
            block = data[start : start + BLOCK]
            near = np.bitwise_and(block, UPPER, out=room[: len(block)])
            near -= OPENING
            found.append(start + np.flatnonzero(near <= LAST_SIGN))
        places = np.concatenate(found)
        signs = data[places]
        openings, closings, objects, slashes = (places[signs == ord(sign)] for sign in "[]{\\")
        escaped = slashes[data[np.minimum(slashes + 1, len(data) - 1)] == QUOTE]
        return cls(openings, closings, objects, escaped)


def _endings(data: Bytes, places: Rows, sought: bytes) -> Rows:
    """Those places at which some bytes end."""
    places = places[places >= len(sought) - 1]
    for back, byte in enumerate(reversed(sought)):
        places = places[data[places - back] == byte]
    return places


def _are_plain(chunk: Chunk, signs: _Signs, shown: Shown) -> Mask:
    begin, end = _begin(chunk, shown.lines), chunk.ends[shown.lines]
    plain = (shown.stops < end) & (shown.stops - shown.starts > INLINE)
    plain &= end - begin <= chunk.longest
    plain &= _count_within(signs.objects, begin, shown.starts) == 1
    plain &= _count_within(signs.escaped, begin, shown.starts) == 0
    if chunk.is_cut:
        plain &= shown.lines > 0
    return np.asarray(plain, dtype=bool)


def _count_within(places: Rows, starts: Rows, stops: Rows) -> Rows:
    """How many of some places, in ascending order, lie in each span."""
    return np.searchsorted(places, stops) - np.searchsorted(places, starts)


def _begin(chunk: Chunk, lines: Rows) -> Rows:
    """Where lines begin."""
    return np.where(lines == 0, 0, chunk.ends[lines - 1] + 1)


def _bounds(chunk: Chunk, lines: Rows) -> tuple[Rows, Rows]:
    """Where lines begin, and where they end with their LF."""
    return _begin(chunk, lines), np.minimum(chunk.ends[lines] + 1, len(chunk.data or b""))


def _joined(data: bytes | memoryview, starts: Rows, stops: Rows) -> memoryview:
    """Spans of lines one after the other, without the LF of the last."""
    return _bytes_of(_views(data, starts, stops).cast(pa.large_binary()))


def _bytes_of(lines: pa.Array) -> memoryview:
    data = memoryview(lines.buffers()[2])
    return data[:-1] if data[-1:] == LF else data


def _views(data: bytes | memoryview, starts: Rows, stops: Rows) -> pa.Array:
    """Spans of data as Arrow's views: nothing of more than a few bytes is copied."""
    sizes, raw = stops - starts, np.frombuffer(data, np.uint8)
    views = np.zeros((len(sizes), 4), dtype=np.uint32)
    views[:, 0] = sizes
    is_long = sizes > INLINE
    long, short = np.flatnonzero(is_long), np.flatnonzero(~is_long)
    views[long, 1] = np.ascontiguousarray(raw[starts[long, None] + np.arange(4)]).view("<u4")[:, 0]
    views[long, 3] = starts[long]
    within = np.arange(INLINE) < sizes[short, None]
    places = np.minimum(starts[short, None] + np.arange(INLINE), len(raw) - 1)
    views[short, 1:] = np.where(within, raw[places], 0).astype(np.uint8).view("<u4")
    buffers = [None, pa.py_buffer(views), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary_view(), len(sizes), buffers)
