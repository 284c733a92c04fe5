"""The bundled model in a whole build: English that can be searched, against the world's truth."""

from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport, SimulationParameters
from builder.evaluation import Bm25Parameters, run_sanity_check, search_snapshot
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.registry import parse_measures
from builder.models import bundled_model_folder
from builder.text.keys import doc_id, fold_texts, key64, query_id, url_key

WORLD = SimulationParameters(
    name="bilingual",
    snapshots=2,
    documents=400,
    queries=40,
    impressions=4000,
    seed=11,
    translation="embedded",
)


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildReport]:
    """A world and its collection in both languages."""
    folder = tmp_path_factory.mktemp("bilingual")
    builder.simulate(folder / "world", WORLD)
    return folder / "world", builder.build(folder / "world/workflow.toml", folder / "collection")


def test_the_model_is_small_and_says_what_it_is() -> None:
    folder = bundled_model_folder()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 20_000_000
    card = (folder / "README.md").read_text("utf-8")
    for test_set in ("newstest2014", "flores_devtest", "ntrex", "tico19"):
        assert test_set in card
    assert "Open Government Licence" in card


def test_both_languages_are_valid_and_complete(bilingual: tuple[Path, BuildReport]) -> None:
    _, report = bilingual
    assert builder.validate(report.root) == []
    card = builder.open_collection(report.root).path / "README.md"
    assert "English texts are machine translations" in card.read_text("utf-8")
    for name in ("2022-06", "2022-07"):
        snapshot = builder.open_collection(report.root).snapshot(name)
        documents = snapshot.documents.collect()
        assert documents["text_en"].str.len_chars().min() > 0  # type: ignore[operator]
        different = documents.filter(pl.col("text") != pl.col("text_en")).height
        assert different == documents.height
        went = pl.read_parquet(snapshot.folder / "translations.parquet")
        assert went["translated"].sum() > 0.95 * went["sentences"].sum()


def test_bm25_is_above_chance_in_both_languages(bilingual: tuple[Path, BuildReport]) -> None:
    _, report = bilingual
    collection = builder.open_collection(report.root)
    snapshots = [collection.snapshot(name) for name in collection.snapshots]
    rows = run_sanity_check(snapshots, collection.languages)
    assert [(row.language, row.snapshot) for row in rows] == [
        ("fr", "2022-06"),
        ("fr", "2022-07"),
        ("en", "2022-06"),
        ("en", "2022-07"),
    ]
    for row in rows:
        assert row.ndcg > 5 * row.by_chance
        assert row.ndcg > 0.15


@pytest.mark.parametrize("language", ["fr", "en"])
def test_bm25_finds_what_is_truly_relevant(
    bilingual: tuple[Path, BuildReport], language: str
) -> None:
    world, report = bilingual
    truth = pl.read_parquet(world / "truth/attraction.parquet").filter(
        (pl.col("snapshot") == "2022-06") & (pl.col("grade") > 0)
    )
    qrels = pl.DataFrame(
        {
            "query_id": [query_id(key64(text)) for text in fold_texts(truth["query"])],
            "doc_id": [doc_id(key64(url_key(url))) for url in truth["url"]],
            "grade": truth["grade"],
        }
    ).unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    snapshot = builder.open_collection(report.root).snapshot("2022-06")
    held = qrels.join(snapshot.queries.collect(), on="query_id", how="semi")
    parts = sorted((snapshot.folder / "documents").glob("part-*.parquet"))
    queries = snapshot.folder / "queries.parquet"
    run = search_snapshot(parts, queries, Bm25Parameters(language=language))
    assert held["query_id"].n_unique() > 15
    scores = RunScorer(held, parse_measures(["nDCG@10"])).score(run).values
    assert scores.mean() > 0.15
