"""Word counts of snapshots and of documents that leave the core, against counters."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.drift import words
from builder.drift.vocabulary import join_word_counts
from builder.drift.words import (
    count_batch_words,
    count_lost_words,
    count_snapshot_words,
    read_row_groups,
)
from builder.io.tables import Table, table_at, write_frame
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Documents, LostWords, WordCounts
from tests.drift.worlds import frame, page
from tests.progress import Steps
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
    tokens = dict(found.select("token", "is_word").iter_rows())
    assert tokens == {token: token != "42" for token in tokens}


def test_only_texts_of_documents_that_left_are_counted(tmp_path: Path) -> None:
    series = [{1: "eau eau", 2: "loi"}, {1: "eau", 2: "loi loi"}, {2: "été"}, {1: "été", 2: "été"}]
    beside(tmp_path, series)
    rows = [
        list(pl.read_parquet(tmp_path / f"to-{name}/lost_words.parquet").iter_rows())
        for name in NAMES[1:]
    ]
    assert rows == [[], [("eau", 2, "2022-06"), ("eau", 1, "2022-07")], []]


def test_a_row_group_is_counted_at_a_time(tmp_path: Path) -> None:
    """Of three row groups, one has no document that leaves the core: it is not read."""
    rows = sorted(
        (page(f"https://site.fr/{n}", "", f"mot{n}") for n in range(6)),
        key=lambda row: str(row["doc_id"]),
    )
    path = tmp_path / "documents.parquet"
    documents = frame(rows, Documents)
    pq.write_table(documents.to_arrow(), path, row_group_size=2)
    table = Table((path,), Documents)
    groups = list(read_row_groups(table))
    assert [group.columns for group in groups] == [["doc_id", "title", "text"]] * 3
    assert [group["text"].to_list() for group in groups] == [
        [rows[n]["text"], rows[n + 1]["text"]] for n in (0, 2, 4)
    ]
    wanted = pl.LazyFrame({"doc_id": [rows[1]["doc_id"], rows[4]["doc_id"], rows[5]["doc_id"]]})
    groups = list(read_row_groups(table, wanted))
    assert [group["text"].to_list() for group in groups] == [
        [rows[1]["text"]],
        [rows[4]["text"], rows[5]["text"]],
    ]
    later = tmp_path / "later.parquet"
    pq.write_table(documents[[0, 1, 2, 3]].to_arrow(), later)
    steps = Steps()
    ledger = count_snapshot_words(
        tmp_path, documents=table, earlier=(), limits=limits(tmp_path / "one"), progress=steps
    )
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("documents", 6, 6)
    assert [step[3] for step in steps.done] == [[2, 2, 2]]
    steps = Steps()
    ledger = count_lost_words(
        tmp_path,
        earlier={"2022-06": table},
        documents_to=Table((later,), Documents),
        limits=limits(tmp_path / "two"),
        progress=steps,
    )
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("documents", 2, 2)
    assert [step[3] for step in steps.done] == [[2]]
    assert set(pl.read_parquet(tmp_path / "lost_words.parquet").iter_rows()) == {
        (str(rows[n]["text"]), 1, "2022-06") for n in (4, 5)
    }


def test_words_of_a_batch_are_counted_in_all_documents_and_in_the_core() -> None:
    """The core has `a` and a document that is not in the batch; `b` has no text."""
    batch = pl.DataFrame(
        {
            "doc_id": ["a", "b", "c"],
            "title": ["Eau", "", "loi"],
            "text": ["eau eau", "?!", "Eau\nloi loi\neau eau"],
        }
    )
    core = pl.LazyFrame({"doc_id": ["0", "a", "z"]})
    counts = count_batch_words(batch, core)
    assert sorted(counts.iter_rows()) == [("eau", 6, 3), ("loi", 3, 0)]
    assert count_batch_words(batch.clear(), core).is_empty()


def test_counts_are_merged_where_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches with two words each: files are written whenever four words are pending."""
    monkeypatch.setattr(words, "ROWS_BEFORE_FLUSH", 4)
    batches = [
        pl.DataFrame({"doc_id": [f"d{n}"], "title": [f"mot{n}"], "text": ["fin"]}) for n in range(5)
    ]
    core = pl.LazyFrame({"doc_id": ["d1"]})
    words._write_partial_counts(batches, core, tmp_path / "parts", 1)
    files = {
        path.name: sorted(pl.read_parquet(path).iter_rows())
        for path in (tmp_path / "parts").iterdir()
    }
    assert files == {
        "00000.parquet": [("fin", 2, 1), ("mot0", 1, 0), ("mot1", 1, 1)],
        "00001.parquet": [("fin", 2, 0), ("mot2", 1, 0), ("mot3", 1, 0)],
        "00002.parquet": [("fin", 1, 0), ("mot4", 1, 0)],
    }
