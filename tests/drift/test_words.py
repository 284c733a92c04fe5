"""Word counts of snapshots and of documents that leave the core, against counters."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.drift.vocabulary import join_word_counts
from builder.drift.words import count_lost_words, count_snapshot_words
from builder.io.tables import Table, table_at, write_frame
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Documents, LostWords, WordCounts
from tests.drift.worlds import frame, page
from tests.thorough import examples

NAMES = ("2022-06", "2022-07", "2022-08", "2022-09")
WORDS = ("eau", "loi", "été", "42")

Held = dict[int, str]
"""Texts of the documents of a snapshot, by number."""

snapshots = st.lists(
    st.dictionaries(st.integers(0, 5), st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)),
    min_size=1,
    max_size=len(NAMES),
)


def written(folder: Path, held: Held) -> Table:
    rows = [page(f"https://site.fr/{number}", "", text) for number, text in held.items()]
    path = folder / "documents.parquet"
    write_frame(frame(rows, Documents).sort("doc_id"), path, Documents)
    return Table((path,), Documents)


def limits(folder: Path) -> ResourceLimits:
    folder.mkdir(parents=True)
    return ResourceLimits(folder, threads=1, memory=2**28)


def beside(folder: Path, series: list[Held]) -> pl.DataFrame:
    """The counts of all snapshots as drift reads them: one row for each token."""
    tables, counts, lost = {}, {}, []
    for name, held in zip(NAMES, series, strict=False):
        (folder / name).mkdir()
        earlier = tuple(tables.values())
        tables[name] = written(folder / name, held)
        count_snapshot_words(
            folder / name,
            documents=tables[name],
            earlier=earlier,
            limits=limits(folder / name / "scratch"),
            progress=NoProgress(),
        )
        counts[name] = table_at(folder / name, "word_counts", WordCounts)
    for place, (_, later) in enumerate(pairwise(tables)):
        out = folder / f"to-{later}"
        scratch = limits(out / "scratch")
        before = dict(list(tables.items())[: place + 1])
        ledger = count_lost_words(
            out, earlier=before, documents_to=tables[later], limits=scratch, progress=NoProgress()
        )
        assert ledger.rows_out == sum(len(left(series, place)) for _ in before)
        lost.append(table_at(out, "lost_words", LostWords))
    with limits(folder / "together").connect_to_duckdb() as connection:
        join_word_counts(connection, counts, lost, folder / "beside.parquet")
    return pl.read_parquet(folder / "beside.parquet")


def left(series: list[Held], place: int) -> set[int]:
    """Documents that all snapshots up to a place hold, and the next does not."""
    return set.intersection(*(set(held) for held in series[: place + 1])) - set(series[place + 1])


@given(snapshots)
@settings(max_examples=examples(60), deadline=None)
def test_the_core_follows_by_subtraction(series: list[Held]) -> None:
    with TemporaryDirectory() as folder:
        found = beside(Path(folder), series)
    core = set.intersection(*(set(held) for held in series))
    for place, held in enumerate(series):
        everything = Counter(word for text in held.values() for word in text.split())
        in_core = Counter(word for number in core & set(held) for word in held[number].split())
        for column, expected in ((f"all_{place}", everything), (f"core_{place}", in_core)):
            counted = dict(found.select("token", column).filter(pl.col(column) != 0).iter_rows())
            assert counted == expected
    words = dict(found.select("token", "is_word").iter_rows())
    assert words == {token: token != "42" for token in words}


def test_only_texts_of_documents_that_left_are_counted(tmp_path: Path) -> None:
    series = [{1: "eau eau", 2: "loi"}, {1: "eau", 2: "loi loi"}, {2: "été"}, {1: "été", 2: "été"}]
    beside(tmp_path, series)
    rows = [
        list(pl.read_parquet(tmp_path / f"to-{name}/lost_words.parquet").iter_rows())
        for name in NAMES[1:]
    ]
    assert rows == [[], [("eau", 2, "2022-06"), ("eau", 1, "2022-07")], []]
