"""Writes the query log of a simulated snapshot in batches of impressions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow.parquet as pq

from builder.simulation.calendar import Month
from builder.simulation.faults import LOG_FAULT_KINDS, Fault, insert_malformed_lines
from builder.simulation.files import open_gzip
from builder.simulation.log_columns import (
    LOG_SCHEMA,
    TRACKING_PARAMETER,
    ImpressionBatch,
    QueryArrays,
    to_arrow_table,
)
from builder.simulation.needs import SimulatedQuery
from builder.simulation.parameters import SimulationParameters
from builder.simulation.rng import FloatArray, hash_integers
from builder.simulation.user_model import simulate_clicks

IMPRESSIONS_PER_BATCH = 50_000
USERS_PER_BOT = 500
VARIANT_PROBABILITIES = (0.35, 0.3, 0.1, 0.15, 0.1)
"""Probabilities of the second, third, ... text of a query in an impression with a variant text.

If a query has fewer than six texts, positions past the last text wrap around to the first text.
"""

IntArray = npt.NDArray[np.int64]


def log_path(params: SimulationParameters, month: Month) -> str:
    """Return the path of the query log of a month, relative to the output folder."""
    suffix = "parquet" if params.log_format == "parquet" else "jsonl.gz"
    return f"logs/{month.name}.{suffix}"


def write_log(
    out: Path,
    params: SimulationParameters,
    queries: Sequence[SimulatedQuery],
    probabilities: FloatArray,
    month: Month,
    faults: list[Fault],
    on_progress: Callable[[int], None],
) -> None:
    """Write the query log of a snapshot.

    Args:
        out: Output folder.
        params: Parameters of the simulation.
        queries: Queries to draw from; each has at least one result.
        probabilities: float64[queries]; probability with which each query is drawn.
        month: Month of the snapshot.
        faults: Output list, to which a `Fault` is appended per malformed line.
        on_progress: Function that is called with the number of impressions of each finished batch.
    """
    name = log_path(params, month)
    batches = _generate_batches(params, queries, probabilities, month, on_progress)
    if params.log_format == "parquet":
        _write_parquet(out / name, queries, batches)
        return
    seed = hash_integers(params.seed, month.start, 31)
    lines = (
        orjson.dumps(_to_json_record(queries, batch, index))
        for batch in batches
        for index in range(len(batch.query))
    )
    with open_gzip(out / name) as file:
        for line in insert_malformed_lines(
            lines, name, seed, params.malformed_rate, LOG_FAULT_KINDS, faults
        ):
            file.write(line + b"\n")


def _generate_batches(
    params: SimulationParameters,
    queries: Sequence[SimulatedQuery],
    probabilities: FloatArray,
    month: Month,
    on_progress: Callable[[int], None],
) -> Iterator[ImpressionBatch]:
    results = _create_result_arrays(queries, params.results_per_page)
    for number, start in enumerate(range(0, params.impressions, IMPRESSIONS_PER_BATCH)):
        size = min(IMPRESSIONS_PER_BATCH, params.impressions - start)
        key = hash_integers(params.seed, month.start, number)
        rng = np.random.Generator(np.random.Philox(key=key))
        yield _draw_batch(params, queries, probabilities, results, month, rng, start, size)
        on_progress(size)


@dataclass(frozen=True)
class _ResultArrays:
    """Properties of the results on the first result page of each query.

    Args:
        attractiveness: float64[queries, ranks]; 0 at ranks without a result.
        satisfaction: float64[queries, ranks]; 0 at ranks without a result.
        counts: int64[queries]; number of results on the first result page.
    """

    attractiveness: FloatArray
    satisfaction: FloatArray
    counts: IntArray


def _create_result_arrays(queries: Sequence[SimulatedQuery], ranks: int) -> _ResultArrays:
    attractiveness = np.zeros((len(queries), ranks))
    satisfaction = np.zeros((len(queries), ranks))
    for row, query in enumerate(queries):
        count = min(ranks, len(query.urls))
        attractiveness[row, :count] = query.attractiveness[:count]
        satisfaction[row, :count] = query.satisfaction[:count]
    counts = np.array([min(ranks, len(query.urls)) for query in queries], dtype=np.int64)
    return _ResultArrays(attractiveness, satisfaction, counts)


def _draw_batch(
    params: SimulationParameters,
    queries: Sequence[SimulatedQuery],
    probabilities: FloatArray,
    results: _ResultArrays,
    month: Month,
    rng: np.random.Generator,
    start: int,
    size: int,
) -> ImpressionBatch:
    """Draw the query, user, time, result order and clicks of consecutive impressions.

    Args:
        params: Parameters of the simulation.
        queries: Queries to draw from.
        probabilities: float64[queries]; probability with which each query is drawn.
        results: Properties of the results of each query.
        month: Month of the snapshot.
        rng: Random number generator.
        start: Number of impressions of the month in earlier batches; determines the times.
        size: Number of impressions to draw.
    """
    query = np.searchsorted(np.cumsum(probabilities)[:-1], rng.random(size), side="right")
    order = _draw_result_orders(params, results.counts[query], rng)
    attractiveness = np.take_along_axis(results.attractiveness[query], order, axis=1)
    satisfaction = np.take_along_axis(results.satisfaction[query], order, axis=1)
    clicks = simulate_clicks(
        attractiveness, satisfaction, rng.random(order.shape), rng.random(order.shape)
    )
    bot = rng.random(size) < params.bot_rate
    clicks[bot] = np.arange(order.shape[1]) < results.counts[query[bot]][:, None]
    users = max(10, params.impressions // params.impressions_per_user)
    user = np.floor(users * rng.random(size) ** 1.5).astype(np.int64)
    bots = max(1, users // USERS_PER_BOT)
    seconds = (month.end - month.start) / params.impressions
    return ImpressionBatch(
        query=query.astype(np.int64),
        form=_draw_query_forms(params, queries, query, rng),
        user=np.where(bot, rng.integers(0, bots, size), user),
        time=_draw_times(month, seconds, start, size, rng),
        bot=bot,
        anonymous=~bot & (rng.random(size) < params.anonymous),
        tracked=rng.random(size) < params.tracked,
        order=order,
        clicks=clicks,
    )


def _draw_times(
    month: Month, mean_interval: float, start: int, size: int, rng: np.random.Generator
) -> IntArray:
    """Draw ascending Unix times (int64[size]) that are `mean_interval` seconds apart on average."""
    time = month.start + (start + np.arange(size) + rng.random(size)) * mean_interval
    return time.astype(np.int64)


def _draw_result_orders(
    params: SimulationParameters, counts: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw the result order of each impression: as ranked, or with two adjacent results swapped.

    Args:
        params: Parameters of the simulation.
        counts: int64[impressions]; number of results on the result page.
        rng: Random number generator.

    Returns:
        int64[impressions, ranks]; zero-based original index of the result shown at each rank.
    """
    order = np.tile(np.arange(params.results_per_page), (len(counts), 1))
    upper = np.floor(rng.random(len(counts)) * np.maximum(counts - 1, 1)).astype(np.int64)
    swapped = np.flatnonzero((rng.random(len(counts)) < params.reshuffled) & (counts > 1))
    order[swapped, upper[swapped]] += 1
    order[swapped, upper[swapped] + 1] -= 1
    return order


def _draw_query_forms(
    params: SimulationParameters,
    queries: Sequence[SimulatedQuery],
    query_indexes: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Draw the query text typed in each impression, as an index into `SimulatedQuery.forms`."""
    counts = np.array([len(queries[q].forms) for q in query_indexes.tolist()])
    limits = np.cumsum(VARIANT_PROBABILITIES)
    variant = 1 + np.searchsorted(limits, rng.random(len(query_indexes)) * 0.999999)
    is_variant = rng.random(len(query_indexes)) < params.variants
    return np.where(is_variant, variant % counts, 0).astype(np.int64)


def _to_json_record(
    queries: Sequence[SimulatedQuery], batch: ImpressionBatch, index: int
) -> dict[str, object]:
    """Convert the impression with the given index in a batch to a JSON object."""
    query = queries[int(batch.query[index])]
    urls = [query.urls[rank] for rank in batch.order[index].tolist() if rank < len(query.urls)]
    if batch.tracked[index]:
        urls[0] += TRACKING_PARAMETER
    prefix, number = "bot" if batch.bot[index] else "u", int(batch.user[index])
    user = f"{prefix}-{hash_integers(number, 9) % 10**10:010d}"
    return {
        "time": int(batch.time[index]),
        "user": None if batch.anonymous[index] else user,
        "query": query.forms[int(batch.form[index])],
        "results": urls,
        "clicks": (np.flatnonzero(batch.clicks[index]) + 1).tolist(),
    }


def _write_parquet(
    path: Path, queries: Sequence[SimulatedQuery], batches: Iterator[ImpressionBatch]
) -> None:
    """Write impressions to a Parquet file, with one row group per batch."""
    query_arrays = QueryArrays(queries)
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, LOG_SCHEMA, compression="zstd") as writer:
        for batch in batches:
            writer.write_table(to_arrow_table(query_arrays, batch))
