"""Blocks of impressions as columns: what `write_log` writes line by line, for Parquet at once."""

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.lists import build_list_array
from builder.simulation.draw import mix_arrays
from builder.simulation.needs import Query

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

TRACKER = "?utm_source=lettre"
COLUMNS = pa.schema(
    {
        "time": pa.int64(),
        "user": pa.string(),
        "query": pa.string(),
        "results": pa.list_(pa.string()),
        "clicks": pa.list_(pa.uint16()),
    }
)


class Draws(NamedTuple):
    """What is drawn for a block of impressions; arrays of one length, or impressions x ranks."""

    query: Integers
    form: Integers
    user: Integers
    time: Integers
    bot: Flags
    anonymous: Flags
    tracked: Flags
    order: Integers
    clicks: Flags


class Texts:
    """The texts of some queries, one after the other: their forms, and addresses of results."""

    def __init__(self, queries: Sequence[Query]) -> None:
        forms = [query.forms for query in queries]
        urls = [query.urls for query in queries]
        plain = list(chain.from_iterable(urls))
        self.forms = pa.array(chain.from_iterable(forms), pa.string())
        self.form_starts = _starts(forms)
        self.urls = pa.array([*plain, *(url + TRACKER for url in plain)], pa.string())
        self.url_starts = _starts(urls)
        self.tracked = len(plain)
        """From an address to the same one with a tracker."""
        self.shown = np.array([len(each) for each in urls], dtype=np.int64)


def _starts(lists: Sequence[Sequence[str]]) -> Integers:
    return np.array([0, *accumulate(map(len, lists))][:-1], dtype=np.int64)


def columns_of(texts: Texts, drawn: Draws) -> pa.Table:
    """A block of impressions, as `COLUMNS`."""
    shown = drawn.order < texts.shown[drawn.query][:, np.newaxis]
    places = texts.url_starts[drawn.query][:, np.newaxis] + drawn.order
    first = shown.argmax(axis=1)
    places[np.arange(len(places)), first] += np.where(drawn.tracked, texts.tracked, 0)
    forms = texts.form_starts[drawn.query] + drawn.form
    ranks = pa.array((np.nonzero(drawn.clicks)[1] + 1).astype(np.uint16))
    return pa.table(
        [
            pa.array(drawn.time),
            _users(drawn),
            texts.forms.take(pa.array(forms)),
            build_list_array(shown.sum(axis=1), texts.urls.take(pa.array(places[shown]))),
            build_list_array(drawn.clicks.sum(axis=1), ranks),
        ],
        schema=COLUMNS,
    )


def _users(drawn: Draws) -> pa.Array:
    numbers = mix_arrays(drawn.user.astype(np.uint64), 9) % np.uint64(10**10)
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 10, "0")
    kind = pc.if_else(pa.array(drawn.bot), "bot", "u")
    return pc.if_else(
        pa.array(drawn.anonymous), None, pc.binary_join_element_wise(kind, digits, "-")
    )
