"""Simulates a search engine: writes crawls, query logs, topics, a definition and ground truth."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.runtime.executors import create_executor
from builder.runtime.limits import ResourceLimits, check_thread_count
from builder.simulation import truth
from builder.simulation.calendar import consecutive_months
from builder.simulation.definition import write_definition, write_topics
from builder.simulation.faults import Fault
from builder.simulation.files import write_ground_truth_table
from builder.simulation.needs import (
    NAVIGATIONAL_QUERIES,
    OFF_TOPIC_QUERIES,
    SimulatedQuery,
    create_query_for_need,
    create_topics,
)
from builder.simulation.parameters import SimulationParameters
from builder.simulation.personal import PERSONAL_DATA_KINDS, create_personal_data_query
from builder.simulation.rng import FloatArray, hash_arrays_to_uniform, hash_integers
from builder.simulation.write_crawl import crawl_path, write_crawl
from builder.simulation.write_log import USERS_PER_BOT, log_path, write_log

ProgressCallback = Callable[[str, int, int], None]
"""Function that receives a label, the number of finished rows and the total number of rows."""
FIRST_UNWANTED_QUERY = 2**32
"""Number of the first query that does not express an information need."""
PERSONAL_QUERIES = 30
"""Number of distinct queries with personal data."""


def simulate(
    out: Path | str,
    params: SimulationParameters,
    progress: ProgressCallback | None = None,
    *,
    threads: int = 1,
) -> None:
    """Simulate a search engine and write its raw data and ground truth.

    The same parameters produce the same bytes, regardless of `threads`.

    Args:
        out: Output folder; created if missing. Existing files are replaced, but a definition or a
            topic table with other contents is kept as `*.bak`.
        params: Parameters of the simulation.
        progress: Function that receives a label, the number of finished rows and the total number.
        threads: Number of worker processes that generate pages; if 1, the calling process does.

    Raises:
        UsageError: `threads` is below 1, or there are so few documents that no query has results
            in one of the snapshots.
    """
    check_thread_count(threads)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    executor = create_executor("local" if threads == 1 else "processes")
    try:
        with tempfile.TemporaryDirectory(prefix="longeval-simulate-") as scratch:
            _simulate(
                out, params, progress, ResourceLimits(Path(scratch), threads, executor=executor)
            )
    finally:
        executor.close()


def _simulate(
    out: Path,
    params: SimulationParameters,
    progress: ProgressCallback | None,
    limits: ResourceLimits,
) -> None:
    faults: list[Fault] = []
    relevance_rows: list[tuple[object, ...]] = []
    query_rows: list[tuple[object, ...]] = []
    months = consecutive_months(params.snapshots)
    for snapshot, month in enumerate(months):
        queries = [
            *create_queries_for_needs(params, snapshot),
            *create_unwanted_queries(params, snapshot),
        ]
        probabilities = query_probabilities(params, queries, snapshot)
        if not probabilities.any():
            raise UsageError(
                f"simulate: expected queries with results in {month.name}, found none (documents: "
                f"{params.documents}); increase the number of documents or queries, or remove "
                "fewer documents"
            )
        on_crawl = _create_progress_callback(progress, f"crawl {month.name}", params.documents)
        write_crawl(out, params, snapshot, month, faults, on_crawl, limits)
        on_log = _create_progress_callback(progress, f"log {month.name}", params.impressions)
        write_log(out, params, queries, probabilities, month, faults, on_log)
        truth.write_page_changes(out, params, snapshot, month)
        relevance_rows += truth.create_relevance_rows(month, queries)
        query_rows += truth.create_query_rows(month, queries, probabilities)
    truth_folder = out / "truth"
    write_ground_truth_table(truth_folder, "attraction", relevance_rows, truth.RELEVANCE_SCHEMA)
    write_ground_truth_table(truth_folder, "queries", query_rows, truth.QUERY_SCHEMA)
    truth.write_faults(out, faults)
    write_user_ground_truth(out, params, PERSONAL_QUERIES)
    write_topics(out, create_topics())
    write_definition(
        out,
        params.name,
        [(month, log_path(params, month), crawl_path(params, month)) for month in months],
        translation=params.translation,
    )


def create_queries_for_needs(params: SimulationParameters, snapshot: int) -> list[SimulatedQuery]:
    """Return the query of each information need; queries without results are omitted."""
    queries = (create_query_for_need(params, need, snapshot) for need in range(params.queries))
    return [query for query in queries if query.urls]


def create_unwanted_queries(params: SimulationParameters, snapshot: int) -> list[SimulatedQuery]:
    """Return the queries that a collection should exclude: off-topic, navigational or personal."""
    texts = [("off_topic", text) for text in OFF_TOPIC_QUERIES]
    texts += [("navigational", text) for text in NAVIGATIONAL_QUERIES]
    texts += [
        ("personal", create_personal_data_query(params.seed, index)[0])
        for index in range(PERSONAL_QUERIES)
    ]
    queries = []
    for number, (kind, text) in enumerate(texts, FIRST_UNWANTED_QUERY):
        need = create_query_for_need(params, number, snapshot)
        if need.urls:
            queries.append(
                SimulatedQuery(
                    number,
                    kind,
                    (text,),
                    need.urls,
                    (0,) * len(need.urls),
                    need.attractiveness,
                    need.satisfaction,
                )
            )
    return queries


def query_probabilities(
    params: SimulationParameters, queries: list[SimulatedQuery], snapshot: int
) -> FloatArray:
    """Return the probability with which each query is drawn for an impression, float64[queries].

    The popularity of information needs follows Zipf's law, and drifts from month to month. Among
    the queries of any other kind, the first few are more frequent than the rest. The probabilities
    sum to 1, unless no query can be drawn; then, all are 0.
    """
    numbers = np.array([query.number for query in queries], dtype=np.uint64)
    kinds = np.array([query.kind for query in queries])
    ranks = numbers.astype(np.float64) + 2
    drift = np.zeros(len(queries))
    for step in range(1, snapshot + 1):
        drift += params.interest_drift * (
            2 * hash_arrays_to_uniform(params.seed, numbers, step, 41) - 1
        )
    weights = ranks**-params.zipf * np.exp(drift)
    shares = {
        "off_topic": params.off_topic / 2,
        "navigational": params.off_topic / 2,
        "personal": params.personal_rate,
    }
    probabilities = np.zeros(len(queries))
    for kind, share in shares.items():
        indexes = np.flatnonzero(kinds == kind)
        if len(indexes):
            is_frequent = np.arange(len(indexes)) < len(PERSONAL_DATA_KINDS)
            kind_weights = np.where(is_frequent, 4.0, 1.0)
            probabilities[indexes] = share * kind_weights / kind_weights.sum()
    is_need = kinds == "need"
    need_share = max(0.0, 1 - probabilities.sum())
    probabilities[is_need] = need_share * weights[is_need] / weights[is_need].sum()
    total = probabilities.sum()
    return np.asarray(probabilities / total if total else probabilities, dtype=np.float64)


def _create_progress_callback(
    progress: ProgressCallback | None, label: str, total: int
) -> Callable[[int], None]:
    """Return a function that adds finished rows to a sum, and reports the sum to `progress`."""
    finished = 0

    def advance_progress(count: int) -> None:
        nonlocal finished
        finished += count
        if progress is not None:
            progress(label, min(finished, total), total)

    return advance_progress


def write_user_ground_truth(
    out: Path, params: SimulationParameters, personal_query_count: int
) -> None:
    """Write the ids of simulated bots, and the query texts that contain personal data.

    Args:
        out: Folder of the simulated world.
        params: Parameters of the simulation.
        personal_query_count: Number of distinct queries with personal data in the logs.
    """
    users = max(10, params.impressions // params.impressions_per_user)
    bots = [
        (f"bot-{hash_integers(number, 9) % 10**10:010d}",)
        for number in range(max(1, users // USERS_PER_BOT))
    ]
    folder = out / "truth"
    write_ground_truth_table(folder, "bots", bots, {"user": pl.String()})
    texts = [
        create_personal_data_query(params.seed, index) for index in range(personal_query_count)
    ]
    schema = {"text": pl.String(), "kind": pl.String()}
    write_ground_truth_table(folder, "personal", list(texts), schema)
