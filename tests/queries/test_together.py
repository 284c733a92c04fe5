"""Spellings of one query are on one side of the split."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.io.tables import Table, table_at
from builder.parameters import SplitParameters
from builder.queries import split_judged_queries
from builder.queries.leakage import SnapshotQueries, check_leakage
from builder.runtime.progress import NoProgress
from builder.text.keys import key64, query_id
from schemas import Queries

SPELLINGS = ["en ligne vote", "en line vote", "en lignes votes"]
WORDS = ["recette", "recete", "recettes", "vote", "votes", "crepe", "creme", "pain", "sable"]


def judged(text: str) -> dict[str, object]:
    counts = dict.fromkeys(("impressions", "users", "clicks", "judged", "relevant"), 9)
    return {
        "query_id": query_id(key64(text)),
        "text": text,
        "topics": ["t0"],
        **counts,
        "variant_set": None,
    }


def run(  # type: ignore[no-untyped-def]
    room, texts: list[str], train: tuple[Table, ...], is_train: bool, near: str = "together"
) -> Table:
    out = room.out()
    split_judged_queries(
        out,
        judged_queries=room.table("judged_queries", [judged(text) for text in texts]),
        train_queries=train,
        is_train=is_train,
        threshold=0.8,
        params=SplitParameters(heldout_share=0.5, near=near),  # type: ignore[arg-type]
        limits=room.limits,
        progress=NoProgress(),
    )
    return table_at(out, "split_queries", Queries)


def sides(table: Table) -> dict[str, str]:
    return dict(table.scan().select("text", "split").collect().rows())


def near_leaks(room, **snapshots: Table) -> pl.DataFrame:  # type: ignore[no-untyped-def]
    found = [SnapshotQueries(name, None, t.scan().collect()) for name, t in snapshots.items()]
    return check_leakage(found, 0.8, room.limits).near


def test_spellings_are_on_one_side(room) -> None:  # type: ignore[no-untyped-def]
    places = ("paris", "lyon", "brest", "nantes", "lille", "nice", "dijon", "metz")
    texts = [f"{text} {place}" for place in places for text in SPELLINGS]
    listed = run(room, texts, (), is_train=True, near="listed")
    assert near_leaks(room, june=listed).height > 0
    together = run(room, texts, (), is_train=True)
    assert near_leaks(room, june=together).is_empty()
    assert set(sides(together)) == set(texts)
    assert set(sides(together).values()) == {"train", "heldout"}


def test_a_later_spelling_of_a_trained_query_is_seen(room) -> None:  # type: ignore[no-untyped-def]
    first = run(room, [f"recette {n}" for n in ("alpha", "gamma", "omega")], (), is_train=True)
    texts = [f"recete {n}" for n in ("alpha", "gamma", "omega")]
    later = sides(run(room, texts, (first,), is_train=False))
    for text, side in later.items():
        trained = sides(first)[text.replace("recete", "recette")] == "train"
        assert side == ("seen" if trained else "test")
    assert set(sides(run(room, texts, (first,), is_train=False, near="listed")).values()) == {
        "test"
    }


@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=12, unique=True),
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=12, unique=True),
)
def test_no_spelling_leaks(new_room: Callable, june: list, july: list) -> None:  # type: ignore[type-arg]
    room = new_room()
    first = run(room, [" ".join(words) for words in june], (), is_train=True)
    later = run(room, [" ".join(words) for words in july], (first,), is_train=False)
    assert near_leaks(room, june=first, july=later).is_empty()


def test_a_second_training_snapshot_follows_the_first(room) -> None:  # type: ignore[no-untyped-def]
    first = run(room, [f"recette {n}" for n in ("alpha", "gamma", "omega")], (), is_train=True)
    texts = [f"{word} {n}" for n in ("alpha", "gamma", "omega") for word in ("recete", "recette")]
    second = run(room, texts, (first,), is_train=True)
    for text, side in sides(second).items():
        assert side == sides(first)[text.replace("recete", "recette")]
    assert near_leaks(room, june=first, july=second).is_empty()


def test_spellings_of_one_query_without_and_with_apostrophe_stay_together(room) -> None:
    """Their signatures differ: an elided word is recognized only by its apostrophe."""
    words = ["achat", "eau", "envoi", "usine", "huile", "entretien"]
    typed, plain = [f"prix d'{w}" for w in words], [f"prix d {w}" for w in words]
    first = run(room, typed + plain, (), is_train=True)
    found = sides(first)
    assert [found[text] for text in typed] == [found[text] for text in plain]
    assert set(found.values()) == {"train", "heldout"}
    train = [t for t in typed if sides(run(room, typed, (), is_train=True))[t] == "train"]
    later = sides(run(room, plain, (run(room, typed, (), is_train=True),), is_train=False))
    seen = {text for text, side in later.items() if side == "seen"}
    assert seen == {text.replace("'", " ") for text in train} != set(plain)


@pytest.mark.parametrize("name", ["longeval-web"])
def test_published_months_have_no_near_leak(name: str, shared: Path, room) -> None:  # type: ignore[no-untyped-def]
    path = shared / name / "2022-06_queries.txt.gz"
    if not path.is_file():
        pytest.skip("no longeval-web")
    lines = gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines()
    texts = {line.partition("\t")[2].strip() for line in lines} - {""}
    unique = sorted(texts)[:3000]
    assert near_leaks(room, june=run(room, unique, (), is_train=True)).is_empty()
