"""Tables that are damaged or of other columns: one line that says so, whatever reads them."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from builder import BuildReport
from builder.collection.read import open_collection
from builder.errors import FormatError
from tests.cli.test_cli import run

Captured = pytest.CaptureFixture[str]
NOT_PARQUET = b"PAR1" + bytes(range(200))
READERS = {
    "sanity": ("queries", ()),
    "baseline": ("queries", ("--out", "{out}")),
    "evaluate": ("qrels", ("{runs}",)),
    "attribute": ("qrels", ("{runs}",)),
    "trend snapshots": ("qrels", ("{runs}",)),
    "export": ("qrels", ("--layout", "trec", "--out", "{out}")),
    "diff": ("qrels", ("{whole}",)),
    "pool": ("queries", ("{runs}/2022-06.run", "--snapshot", "2022-06", "--out", "{out}")),
}
"""Verbs, a table that each reads, and what else it is told."""
HANDED_IN = {
    "queries audit": {"query_id": [["q"]], "text": ["eau"]},
    "topics rank": {"label": [["eau"]], "month": ["2022-01"], "count": [1]},
    "assess agreement": {"query_id": ["q"], "doc_id": ["d"], "assessor": [1], "grade": ["x"]},
}
"""Verbs on one table, and a table of other types."""


@pytest.fixture(scope="module")
def place(built: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A collection to damage, a whole one, and runs."""
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copytree(built.root, folder / "collection")
    runs = folder / "runs"
    runs.mkdir()
    for name in ("2022-06", "2022-07"):
        (runs / f"{name}.run").write_text("q1 Q0 d1 1 1.0 a\n")
    return {"whole": built.root, "damaged": folder / "collection", "runs": runs}


@pytest.mark.parametrize("verb", sorted(READERS))
@pytest.mark.parametrize("fault", ["damaged", "missing", "other columns"])
def test_a_collection_with_a_damaged_table(
    verb: str, fault: str, place: dict[str, Path], tmp_path: Path, capsys: Captured
) -> None:
    name, more = READERS[verb]
    (path,) = place["damaged"].glob(f"[0-9]*/snapshots/2022-06/{name}.parquet")
    table = path.read_bytes()
    path.unlink()
    if fault != "missing":
        path.write_bytes(NOT_PARQUET)
    if fault == "other columns":
        pl.DataFrame({"x": [1]}).write_parquet(path)
    try:
        arguments = [part.format(**place, out=tmp_path / "out") for part in more]
        assert run(*verb.split(), place["damaged"], *arguments) in (1, 2)
    finally:
        path.write_bytes(table)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 + ("\r" in told)
    assert f"{name}.parquet" in told or "longeval validate" in told


@pytest.mark.parametrize(
    "verb", ["sanity", "baseline --out {out}", "export --layout trec --out {out}"]
)
def test_texts_that_do_not_unpack(
    verb: str, place: dict[str, Path], tmp_path: Path, capsys: Captured
) -> None:
    (path,) = place["damaged"].glob("[0-9]*/snapshots/2022-06/documents/part-*.parquet")
    table = path.read_bytes()
    path.unlink()
    half = len(table) // 2
    path.write_bytes(table[:half] + bytes(200) + table[half + 200 :])
    first, *more = verb.format(out=tmp_path / "out").split()
    try:
        assert run(first, place["damaged"], *more) == 1
    finally:
        path.write_bytes(table)
    assert "longeval validate" in capsys.readouterr().err


@pytest.mark.parametrize(
    "verb",
    [
        "export {damaged} --layout trec --out {out}",
        "pool {damaged} {runs}/2022-06.run --snapshot 2022-06 --out {out}",
        "baseline {damaged} --out {out}",
    ],
)
def test_documents_that_are_gone_are_missed(
    verb: str, place: dict[str, Path], tmp_path: Path, capsys: Captured
) -> None:
    (folder,) = place["damaged"].glob("[0-9]*/snapshots/2022-06/documents")
    folder.rename(tmp_path / "documents")
    try:
        assert run(*verb.format(**place, out=tmp_path / "out").split()) == 1
        with pytest.raises(FormatError, match="according to the manifest, found none"):
            _ = open_collection(place["damaged"]).snapshot("2022-06").documents
    finally:
        (tmp_path / "documents").rename(folder)
    assert "expected" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", sorted(HANDED_IN))
def test_a_table_that_somebody_hands_in(verb: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(NOT_PARQUET)
    assert run(*verb.split(), path) == 1
    pl.DataFrame(HANDED_IN[verb]).write_parquet(path)
    assert run(*verb.split(), path) == 1
    assert capsys.readouterr().err.count("a.parquet: expected") == 2


def test_a_judged_table_that_is_none(
    place: dict[str, Path], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(NOT_PARQUET)
    options = ("--snapshot", "2022-06", "--out", tmp_path / "out", "--judged", path)
    assert run("pool", place["whole"], place["runs"] / "2022-06.run", *options) == 1
    assert "a.parquet: expected a Parquet table" in capsys.readouterr().err
