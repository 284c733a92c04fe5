"""Collections that the explorer is tried on: in two languages, and an imported release."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

import builder
from builder import SimulationParameters
from builder.explore import CollectionSource, open_collection_source
from builder.explore.application import create_application
from builder.explore.runs import load_runs
from builder.trec.runs import Run, write_run
from tests.collection.releases import imported, write
from tests.explore.client import PORT

WORLD = SimulationParameters(
    name="explored",
    snapshots=3,
    documents=240,
    queries=30,
    impressions=4000,
    seed=42,
    malformed_rate=0.01,
    translation="embedded",
)


@pytest.fixture(scope="session")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in two languages."""
    folder = tmp_path_factory.mktemp("explored")
    builder.simulate(folder / "world", WORLD)
    return builder.build(folder / "world/workflow.toml", folder / "collection").root


@pytest.fixture(scope="session")
def runs(explored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems that rank judged pages: one by their ids, one by evidence."""
    folder = tmp_path_factory.mktemp("runs")
    collection = builder.open_collection(explored)
    for name in collection.snapshots:
        qrels = collection.snapshot(name).qrels.collect()
        by_id = qrels.select("query_id", "doc_id", score=qrels["doc_id"].hash(1) % 1000)
        by_clicks = qrels.select("query_id", "doc_id", score="clicks")
        write_run(Run.from_scores(by_id, "ids"), folder / "ids" / f"{name}.txt")
        write_run(Run.from_scores(by_clicks, "clicks"), folder / "clicks" / f"{name}.txt")
    return folder


@pytest.fixture(scope="session")
def source(explored: Path, runs: Path) -> Iterator[CollectionSource]:
    """The collection with its runs."""
    opened = open_collection_source(explored)
    load_runs(opened, runs)
    opened.restrict_access()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def app(source: CollectionSource) -> ASGIApp:
    """The application of the collection."""
    return create_application(source, PORT)


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported release: queries and judgements of two months, no text, no clicks."""
    root = tmp_path_factory.mktemp("release") / "r"
    for month, shift in (("2022-06", 0), ("2022-07", 1)):
        listed = "".join(f"{n + shift}\tquestion {n}\n" for n in range(40))
        judged = "".join(f"{n + shift} 0 {n % 7} {(n + shift) % 3}\n" for n in range(42))
        write(root / f"collection/queries/{month}_queries.txt", listed)
        write(root / f"collection/qrels/{month}_qrels_processed.txt", judged)
    return imported(root, "longeval-web").version


@pytest.fixture(scope="session")
def imported_app(release: Path) -> Iterator[ASGIApp]:
    """The application of the imported release."""
    opened = open_collection_source(release)
    opened.restrict_access()
    yield create_application(opened, PORT)
    opened.close()
