"""Converts simulated impressions to Arrow tables; `write_log` writes the same values as JSON."""

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.lists import build_list_array
from builder.simulation.needs import SimulatedQuery
from builder.simulation.rng import hash_arrays

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

TRACKING_PARAMETER = "?utm_source=lettre"
LOG_SCHEMA = pa.schema(
    {
        "time": pa.int64(),
        "user": pa.string(),
        "query": pa.string(),
        "results": pa.list_(pa.string()),
        "clicks": pa.list_(pa.uint16()),
    }
)


class ImpressionBatch(NamedTuple):
    """Random choices that determine a batch of simulated impressions.

    Args:
        query: int64[impressions]; index of the query in the list of all simulated queries.
        form: int64[impressions]; index of the query text that the user typed.
        user: int64[impressions]; number of the user or bot.
        time: int64[impressions]; Unix time in seconds.
        bot: bool[impressions]; whether a bot issued the query.
        anonymous: bool[impressions]; whether the user id is missing.
        tracked: bool[impressions]; whether the first URL has a tracking parameter.
        order: int64[impressions, ranks]; index, in the ranking, of the result shown at each rank.
        clicks: bool[impressions, ranks]; whether the result at each rank was clicked.
    """

    query: IntArray
    form: IntArray
    user: IntArray
    time: IntArray
    bot: BoolArray
    anonymous: BoolArray
    tracked: BoolArray
    order: IntArray
    clicks: BoolArray


class QueryArrays:
    """Texts and result URLs of all queries, as flat Arrow arrays with an offset per query."""

    def __init__(self, queries: Sequence[SimulatedQuery]) -> None:
        forms = [query.forms for query in queries]
        urls = [query.urls for query in queries]
        flat_urls = list(chain.from_iterable(urls))
        self.forms = pa.array(chain.from_iterable(forms), pa.string())
        self.form_offsets = _list_offsets(forms)
        tracked_urls = (url + TRACKING_PARAMETER for url in flat_urls)
        self.urls = pa.array([*flat_urls, *tracked_urls], pa.string())
        self.url_offsets = _list_offsets(urls)
        self.tracked_offset = len(flat_urls)
        """Distance, in `urls`, from a URL to its copy with a tracking parameter."""
        self.result_counts = np.array([len(results) for results in urls], dtype=np.int64)


def _list_offsets(lists: Sequence[Sequence[str]]) -> IntArray:
    """Return the offset of each list in the concatenation of all lists."""
    return np.array([0, *accumulate(map(len, lists))][:-1], dtype=np.int64)


def to_arrow_table(query_arrays: QueryArrays, batch: ImpressionBatch) -> pa.Table:
    """Convert a batch of impressions to an Arrow table with the schema `LOG_SCHEMA`."""
    shown = batch.order < query_arrays.result_counts[batch.query][:, np.newaxis]
    url_indexes = query_arrays.url_offsets[batch.query][:, np.newaxis] + batch.order
    first_shown = shown.argmax(axis=1)
    offsets = np.where(batch.tracked, query_arrays.tracked_offset, 0)
    url_indexes[np.arange(len(url_indexes)), first_shown] += offsets
    form_indexes = query_arrays.form_offsets[batch.query] + batch.form
    clicked_ranks = pa.array((np.nonzero(batch.clicks)[1] + 1).astype(np.uint16))
    return pa.table(
        [
            pa.array(batch.time),
            _to_user_ids(batch),
            query_arrays.forms.take(pa.array(form_indexes)),
            build_list_array(
                shown.sum(axis=1), query_arrays.urls.take(pa.array(url_indexes[shown]))
            ),
            build_list_array(batch.clicks.sum(axis=1), clicked_ranks),
        ],
        schema=LOG_SCHEMA,
    )


def _to_user_ids(batch: ImpressionBatch) -> pa.Array:
    """Return the user id of each impression, such as `u-0123456789`, or null if anonymous."""
    numbers = hash_arrays(batch.user.astype(np.uint64), 9) % np.uint64(10**10)
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 10, "0")
    prefix = pc.if_else(pa.array(batch.bot), "bot", "u")
    return pc.if_else(
        pa.array(batch.anonymous), None, pc.binary_join_element_wise(prefix, digits, "-")
    )
