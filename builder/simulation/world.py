"""A whole world: what is asked and found at each snapshot, written down with its truth.

In: parameters. Out: a folder with logs, crawls, topics, a definition ready to build, and `truth/`.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.runtime.executors import get_executor
from builder.runtime.limits import Limits
from builder.simulation import truth
from builder.simulation.calendar import months
from builder.simulation.definition import write_definition, write_topics
from builder.simulation.draw import Floats, mix, units
from builder.simulation.faults import Fault
from builder.simulation.files import write_truth
from builder.simulation.needs import NAVIGATIONAL, OFF_TOPIC, Query, make_need, topics
from builder.simulation.parameters import Simulation
from builder.simulation.personal import KINDS, personal_query
from builder.simulation.write_crawl import crawl_name, write_crawl
from builder.simulation.write_log import BOT_SHARE_OF_USERS, log_name, write_log

Progress = Callable[[str, int, int], None]
FIRST_OTHER = 2**32
"""Numbers of queries that are no needs begin here."""
PERSONAL_QUERIES = 30


def simulate(
    out: Path | str,
    params: Simulation,
    progress: Progress | None = None,
    *,
    threads: int = 1,
) -> None:
    """Write a world.

    Args:
        out: Folder; created, and files of a former world in it replaced.
        params: The world. The same parameters give the same bytes.
        progress: Told what is written, how much of it is done, and of how much.
        threads: Processes that write pages beside each other; the bytes are the same.

    Raises:
        UsageError: there are so few documents that no query finds one.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    executor = get_executor("local" if threads == 1 else "processes")
    try:
        with tempfile.TemporaryDirectory(prefix="longeval-simulate-") as scratch:
            _simulate(out, params, progress, Limits(Path(scratch), threads, executor=executor))
    finally:
        executor.close()


def _simulate(out: Path, params: Simulation, progress: Progress | None, limits: Limits) -> None:
    noted: list[Fault] = []
    attraction: list[tuple[object, ...]] = []
    asked: list[tuple[object, ...]] = []
    calendar = months(params.snapshots)
    for snapshot, month in enumerate(calendar):
        queries = [*needs(params, snapshot), *others(params, snapshot)]
        popularity = popularities(params, queries, snapshot)
        if not popularity.any():
            raise UsageError(
                f"simulate: expected documents that some query finds, found none in {month.name} "
                f"among {params.documents}; simulate more documents or queries, or remove fewer"
            )
        tell = _teller(progress)
        crawl_done = tell(f"crawl {month.name}", params.documents)
        write_crawl(out, params, snapshot, month, noted, crawl_done, limits)
        log_done = tell(f"log {month.name}", params.impressions)
        write_log(out, params, queries, popularity, month, noted, log_done)
        truth.write_pages(out, params, snapshot, month)
        attraction += truth.attraction_rows(month, queries)
        asked += truth.query_rows(month, queries, popularity)
    write_truth(out / "truth", "attraction", attraction, truth.ATTRACTION)
    write_truth(out / "truth", "queries", asked, truth.QUERIES)
    truth.write_faults(out, noted)
    write_people(out, params)
    write_topics(out, topics(params))
    write_definition(
        out,
        params.name,
        [(m, log_name(params, m), crawl_name(params, m)) for m in calendar],
        translation=params.translation,
    )


def needs(params: Simulation, snapshot: int) -> list[Query]:
    """The needs of users, as far as the index has anything for them."""
    found = (make_need(params, number, snapshot) for number in range(params.queries))
    return [need for need in found if need.urls]


def others(params: Simulation, snapshot: int) -> list[Query]:
    """Queries that should not enter a collection: off topic, navigational, personal."""
    texts = [("off_topic", text) for text in OFF_TOPIC]
    texts += [("navigational", text) for text in NAVIGATIONAL]
    texts += [("personal", personal_query(params.seed, n)[0]) for n in range(PERSONAL_QUERIES)]
    found = []
    for number, (kind, text) in enumerate(texts, FIRST_OTHER):
        shown = make_need(params, number, snapshot)
        if shown.urls:
            found.append(
                Query(
                    number,
                    kind,
                    (text,),
                    shown.urls,
                    (0,) * len(shown.urls),
                    shown.attractiveness,
                    shown.satisfaction,
                )
            )
    return found


def popularities(params: Simulation, queries: list[Query], snapshot: int) -> Floats:
    """Probability of each query at a snapshot; sums to 1, or is 0 where nobody asks any.

    Needs follow Zipf's law in an order of their own, and drift from month to month; of the
    queries with personal data the first ones, one of each kind, are asked by many.
    """
    numbers = np.array([query.number for query in queries], dtype=np.uint64)
    kinds = np.array([query.kind for query in queries])
    ranks = numbers.astype(np.float64) + 2
    drift = np.zeros(len(queries))
    for step in range(1, snapshot + 1):
        drift += params.interest_drift * (2 * units(params.seed, numbers, step, 41) - 1)
    weights = ranks**-params.zipf * np.exp(drift)
    shares = {
        "off_topic": params.off_topic / 2,
        "navigational": params.off_topic / 2,
        "personal": params.personal_rate,
    }
    result = np.zeros(len(queries))
    for kind, share in shares.items():
        chosen = kinds == kind
        if chosen.any():
            few = np.flatnonzero(chosen)
            often = np.where(np.arange(len(few)) < len(KINDS), 4.0, 1.0)
            result[few] = share * often / often.sum()
    need = kinds == "need"
    result[need] = max(0.0, 1 - result.sum()) * weights[need] / weights[need].sum()
    total = result.sum()
    return np.asarray(result / total if total else result, dtype=np.float64)


def _teller(progress: Progress | None) -> Callable[[str, int], Callable[[int], None]]:
    """Makes, for a label and a total, what a writer tells its progress to."""

    def teller(label: str, total: int) -> Callable[[int], None]:
        done = 0

        def tell(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress(label, min(done, total), total)

        return tell

    return teller


def write_people(out: Path, params: Simulation) -> None:
    """Which users are bots, and which texts hold personal data."""
    users = max(10, params.impressions // params.impressions_per_user)
    bots = [
        (f"bot-{mix(number, 9) % 10**10:010d}",)
        for number in range(max(1, users // BOT_SHARE_OF_USERS))
    ]
    write_truth(out / "truth", "bots", bots, {"user": pl.String()})
    texts = [personal_query(params.seed, number) for number in range(PERSONAL_QUERIES)]
    write_truth(out / "truth", "personal", list(texts), {"text": pl.String(), "kind": pl.String()})
