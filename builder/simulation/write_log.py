"""The query log of a snapshot: blocks of impressions, drawn with numpy, written as they come."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow.parquet as pq

from builder.simulation.behaviour import click
from builder.simulation.calendar import Month
from builder.simulation.draw import Floats, mix
from builder.simulation.faults import LOG_KINDS, Fault, with_faults
from builder.simulation.files import gzip_file
from builder.simulation.log_columns import COLUMNS, TRACKER, Draws, Texts, columns_of
from builder.simulation.needs import Query
from builder.simulation.parameters import Simulation

BLOCK = 50_000
BOT_SHARE_OF_USERS = 500
FORM_WEIGHTS = (0.35, 0.3, 0.1, 0.15, 0.1)
"""How often the second, third ... form of a query is typed, among variants."""

Integers = npt.NDArray[np.int64]


def log_name(params: Simulation, month: Month) -> str:
    """Path of a snapshot's log in the world's folder."""
    suffix = "parquet" if params.log_format == "parquet" else "jsonl.gz"
    return f"logs/{month.name}.{suffix}"


def write_log(
    out: Path,
    params: Simulation,
    queries: Sequence[Query],
    popularity: Floats,
    month: Month,
    noted: list[Fault],
    done: Callable[[int], None],
) -> None:
    """Write the log of a snapshot; faulty lines are noted.

    Args:
        out: The world's folder.
        params: The world.
        queries: What is asked; each shows at least one result.
        popularity: float64[queries]; sums to 1.
        month: The snapshot.
        noted: Receives a note of each faulty line.
        done: Told the impressions written.
    """
    name = log_name(params, month)
    blocks = _blocks(params, queries, popularity, month, done)
    if params.log_format == "parquet":
        _write_parquet(out / name, queries, blocks)
        return
    seed = mix(params.seed, month.start, 31)
    encoded = (
        orjson.dumps(_line(queries, drawn, index))
        for drawn in blocks
        for index in range(len(drawn.query))
    )
    with gzip_file(out / name) as file:
        for line in with_faults(encoded, name, seed, params.malformed_rate, LOG_KINDS, noted):
            file.write(line + b"\n")


def _blocks(
    params: Simulation,
    queries: Sequence[Query],
    popularity: Floats,
    month: Month,
    done: Callable[[int], None],
) -> Iterator[Draws]:
    page = _result_table(queries, params.results_per_page)
    for number, start in enumerate(range(0, params.impressions, BLOCK)):
        size = min(BLOCK, params.impressions - start)
        rng = np.random.Generator(np.random.Philox(key=mix(params.seed, month.start, number)))
        yield _draw(params, queries, popularity, page, month, rng, start, size)
        done(size)


@dataclass(frozen=True)
class _Results:
    """Probabilities of every query's first page, padded with 0: queries x ranks."""

    attractiveness: Floats
    satisfaction: Floats
    shown: Integers


def _result_table(queries: Sequence[Query], ranks: int) -> _Results:
    attractiveness = np.zeros((len(queries), ranks))
    satisfaction = np.zeros((len(queries), ranks))
    for row, query in enumerate(queries):
        count = min(ranks, len(query.urls))
        attractiveness[row, :count] = query.attractiveness[:count]
        satisfaction[row, :count] = query.satisfaction[:count]
    shown = np.array([min(ranks, len(query.urls)) for query in queries], dtype=np.int64)
    return _Results(attractiveness, satisfaction, shown)


def _draw(
    params: Simulation,
    queries: Sequence[Query],
    popularity: Floats,
    page: _Results,
    month: Month,
    rng: np.random.Generator,
    start: int,
    size: int,
) -> Draws:
    query = np.searchsorted(np.cumsum(popularity)[:-1], rng.random(size), side="right")
    order = _orders(params, page.shown[query], rng)
    attractiveness = np.take_along_axis(page.attractiveness[query], order, axis=1)
    satisfaction = np.take_along_axis(page.satisfaction[query], order, axis=1)
    clicks = click(attractiveness, satisfaction, rng.random(order.shape), rng.random(order.shape))
    bot = rng.random(size) < params.bot_rate
    clicks[bot] = np.arange(order.shape[1]) < page.shown[query[bot]][:, None]
    users = max(10, params.impressions // params.impressions_per_user)
    user = np.floor(users * rng.random(size) ** 1.5).astype(np.int64)
    bots = max(1, users // BOT_SHARE_OF_USERS)
    span = (month.stop - month.start) / params.impressions
    return Draws(
        query=query.astype(np.int64),
        form=_forms(params, queries, query, rng),
        user=np.where(bot, rng.integers(0, bots, size), user),
        time=(month.start + (start + np.arange(size) + rng.random(size)) * span).astype(np.int64),
        bot=bot,
        anonymous=~bot & (rng.random(size) < params.anonymous),
        tracked=rng.random(size) < params.tracked,
        order=order,
        clicks=clicks,
    )


def _orders(params: Simulation, shown: Integers, rng: np.random.Generator) -> Integers:
    """Ranks of each impression: as the engine has them, or with two neighbours swapped."""
    order = np.tile(np.arange(params.results_per_page), (len(shown), 1))
    place = np.floor(rng.random(len(shown)) * np.maximum(shown - 1, 1)).astype(np.int64)
    swapped = np.flatnonzero((rng.random(len(shown)) < params.reshuffled) & (shown > 1))
    order[swapped, place[swapped]] += 1
    order[swapped, place[swapped] + 1] -= 1
    return order


def _forms(
    params: Simulation, queries: Sequence[Query], query: Integers, rng: np.random.Generator
) -> Integers:
    counts = np.array([len(queries[q].forms) for q in query.tolist()])
    other = 1 + np.searchsorted(np.cumsum(FORM_WEIGHTS), rng.random(len(query)) * 0.999999)
    varied = rng.random(len(query)) < params.variants
    return np.where(varied, other % counts, 0).astype(np.int64)


def _line(queries: Sequence[Query], drawn: Draws, index: int) -> dict[str, object]:
    query = queries[int(drawn.query[index])]
    shown = [rank for rank in drawn.order[index].tolist() if rank < len(query.urls)]
    urls = [query.urls[rank] for rank in shown]
    if drawn.tracked[index]:
        urls[0] += TRACKER
    user = f"{'bot' if drawn.bot[index] else 'u'}-{mix(int(drawn.user[index]), 9) % 10**10:010d}"
    return {
        "time": int(drawn.time[index]),
        "user": None if drawn.anonymous[index] else user,
        "query": query.forms[int(drawn.form[index])],
        "results": urls,
        "clicks": (np.flatnonzero(drawn.clicks[index]) + 1).tolist(),
    }


def _write_parquet(path: Path, queries: Sequence[Query], blocks: Iterator[Draws]) -> None:
    """Parquet in row groups of one block."""
    texts = Texts(queries)
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, COLUMNS, compression="zstd") as writer:
        for drawn in blocks:
            writer.write_table(columns_of(texts, drawn))
