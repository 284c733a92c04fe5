"""Columns that occur twice, that a definition names wrongly, or that only some files have."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.errors import FormatError
from builder.ingest import ingest_crawl
from builder.ingest.columns import note_missing_columns
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from tests.ingest.logs.log_files import ingest

URL = "https://a.example/1"
ROW = {"time": 5, "session": "s", "query": "eau", "results": URL, "clicks": "1"}
RESULT = {"time": 5, "user": "u", "query": "eau", "url": URL, "position": 1, "clicked": 1}
PAGE = {"url": URL, "timestamp": 5, "headline": "Eau", "text": "Un texte"}


def _csv(row: dict[str, Any], *other: str) -> bytes:
    cells = [*map(str, row.values()), *["x"] * len(other)]
    return f"{','.join([*row, *other])}\n{','.join(cells)}\n".encode()


def _parquet(row: dict[str, Any], path: Path) -> bytes:
    pl.DataFrame([row]).write_parquet(path)
    return path.read_bytes()


def _ingest_crawl(folder: Path, files: dict[str, bytes], **params: Any) -> RowLedger:
    sources = [Source(folder / name, name) for name in files]
    for source, data in zip(sources, files.values(), strict=True):
        source.path.write_bytes(data)
    for name in ("out", "scratch"):
        (folder / name).mkdir()
    return ingest_crawl(
        folder / "out",
        files=sources,
        interval=Interval(0, 10),
        params=CrawlParameters.model_validate(params),
        limits=ResourceLimits(folder / "scratch", threads=1),
        progress=NoProgress(),
    )


def _refusal(message: str) -> Any:
    return pytest.raises(FormatError, match=f"^{re.escape(message)}$")


def test_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    """The last of them was read, without a word."""
    advice = "found 2; rename or remove the duplicates"
    with _refusal(f"log.csv, line 1: expected one column 'query', {advice}"):
        ingest(tmp_path, {"log.csv": _csv(ROW, "query")})
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    with _refusal(f"crawl.csv, line 1: expected one column 'url', {advice}"):
        _ingest_crawl(crawl, {"crawl.csv": _csv(PAGE, "url")})


@pytest.mark.parametrize(("row", "name"), [(ROW, "query"), (PAGE, "text")])
def test_columns_of_the_same_name_in_parquet_are_refused(
    tmp_path: Path, row: dict[str, Any], name: str
) -> None:
    """It was a traceback."""
    table = pa.table({**{key: [value] for key, value in row.items()}, "other": ["x"]})
    names = [name if key == "other" else key for key in table.column_names]
    pq.write_table(table.rename_columns(names), tmp_path / "a.parquet")
    data = {"a.parquet": (tmp_path / "a.parquet").read_bytes()}
    message = f"a.parquet, line 1: expected one column '{name}', found 2"
    with pytest.raises(FormatError, match=re.escape(message)):
        (ingest if row is ROW else _ingest_crawl)(tmp_path, data)


def test_columns_of_the_same_name_that_are_not_read_do_not_matter(tmp_path: Path) -> None:
    ledger, _ = ingest(tmp_path, {"log.csv": _csv(ROW, "country", "country")})
    assert (ledger.rows_out, ledger.notes) == (1, [])


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        (
            ROW,
            {"user": "sesion"},
            (
                "'sesion' (log.fields.user), found time, session, query, results, clicks; "
                "did you mean 'session'?"
            ),
        ),
        (
            ROW,
            {"clicks": "hits"},
            (
                "'hits' (log.fields.clicks), found time, session, query, results, clicks; "
                "correct or remove log.fields.clicks"
            ),
        ),
        (
            RESULT,
            {"rank": "pos"},
            (
                "'pos' (log.fields.rank), found time, user, query, url, position, clicked; "
                "correct or remove log.fields.rank"
            ),
        ),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_field_that_a_log_lacks_is_refused_if_the_definition_names_it(
    tmp_path: Path, row: dict[str, Any], fields: dict[str, str], message: str, kind: str
) -> None:
    data = _csv(row) if kind == "csv" else _parquet(row, tmp_path / "log")
    with _refusal(f"log.{kind}: expected the column {message}"):
        ingest(tmp_path, {f"log.{kind}": data}, fields=fields)


def test_fields_of_the_other_form_and_of_objects_may_be_named(tmp_path: Path) -> None:
    """A definition may name the fields of both forms, for a log that has files of both."""
    fields = {"user": "session", "rank": "pos", "clicked": "hit", "results": "results"}
    ledger, _ = ingest(tmp_path, {"log.csv": _csv(ROW)}, fields=fields)
    assert (ledger.rows_out, ledger.notes) == (1, [])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_field_that_a_crawl_lacks_is_refused_if_the_definition_names_it(
    tmp_path: Path, kind: str
) -> None:
    data = _csv(PAGE) if kind == "csv" else _parquet(PAGE, tmp_path / "crawl")
    message = "'headlines' (crawl.fields.title), found url, timestamp, headline, text; "
    with _refusal(f"crawl.{kind}: expected the column {message}did you mean 'headline'?"):
        _ingest_crawl(tmp_path, {f"crawl.{kind}": data}, fields={"title": "headlines"})


def test_one_of_several_times_is_enough(tmp_path: Path) -> None:
    fields = {"time": ["fetched", "timestamp"], "title": "headline"}
    crawl = {"crawl.csv": _csv(PAGE)}
    assert _ingest_crawl(tmp_path, crawl, fields=fields, undated="start").rows_out == 1


def test_files_of_a_log_without_a_column_that_others_have_are_noted(tmp_path: Path) -> None:
    """`User` instead of `user` made all impressions of the file anonymous."""
    good = {"time": 5, "user": "u", "query": "eau", "results": URL, "clicks": "1"}
    bad = {name.title() if name == "user" else name: cell for name, cell in good.items()}
    files = {"a.csv": _csv(good), "b.csv": _csv(bad), "c.csv": _csv(RESULT)}
    files["d.parquet"] = _parquet(good, tmp_path / "d")
    files["e.jsonl"] = b'{"time": 6, "query": "eau", "results": ["https://a.example/1"]}\n'
    ledger, _ = ingest(tmp_path, files, repeats="keep")
    assert ledger.notes == [
        (
            "column 'user' is missing from 1 of 4 files, such as b.csv; if "
            "it has a different name in those files, rename it"
        )
    ]


def test_files_of_a_crawl_without_titles_are_noted_if_others_have_titles(tmp_path: Path) -> None:
    files = {"a.csv": _csv(PAGE | {"title": "Eau"}), "b.csv": _csv(PAGE), "c.parquet": b"PAR1"}
    files["d.parquet"] = _parquet(PAGE, tmp_path / "d")
    notes = [note for note in _ingest_crawl(tmp_path, files).notes if "column" in note]
    assert notes == [
        (
            "column 'title' is missing from 2 of 3 files, such as b.csv; if "
            "it has a different name in those files, rename it"
        )
    ]


def test_columns_that_all_files_or_no_files_have_are_not_noted() -> None:
    files = {"a": {"user": True, "clicks": False}, "b": {"user": True, "clicks": False}, "c": {}}
    assert list(note_missing_columns(files)) == []


@pytest.mark.parametrize("lacking", ["url", "timestamp", "text"])
def test_a_parquet_crawl_without_a_column_that_is_needed_is_refused(
    tmp_path: Path, lacking: str
) -> None:
    columns = {name: value for name, value in PAGE.items() if name != lacking}
    message = (
        "a.parquet: expected the columns url, timestamp or last_updated_at or created_at (time), "
        f"text or content (text) and, optionally, title, found {', '.join(columns)}; name the "
        "columns in [crawl.fields]"
    )
    with _refusal(message):
        _ingest_crawl(tmp_path, {"a.parquet": _parquet(columns, tmp_path / "a")})


@pytest.mark.parametrize("lacking", ["time", "query", "results"])
def test_a_parquet_log_without_a_column_that_is_needed_is_refused(
    tmp_path: Path, lacking: str
) -> None:
    columns = {name: value for name, value in ROW.items() if name != lacking}
    message = (
        "a.parquet: expected the columns time, query, results (or url), user, clicks; missing: "
        f"{lacking}; found {', '.join(columns)}; name the columns in [log.fields]"
    )
    with _refusal(message):
        ingest(tmp_path, {"a.parquet": _parquet(columns, tmp_path / "a")})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_a_log_need_no_times_if_it_has_none(tmp_path: Path, kind: str) -> None:
    rows = [{"query": query, "results": URL, "user": "u"} for query in ("eau", "loi")]
    rows[1]["clicks"] = "1"
    files = {
        f"{n}.{kind}": _csv(row) if kind == "csv" else _parquet(row, tmp_path / f"{n}")
        for n, row in enumerate(rows)
    }
    ledger, found = ingest(tmp_path, files, undated="start")
    assert found["clicks"].to_list() == [[], [1]]
    note = f"column 'clicks' is missing from 1 of 2 files, such as 0.{kind}; if it has a different "
    assert ledger.notes == [f"{note}name in those files, rename it"]
    (tmp_path / "dated").mkdir()
    with pytest.raises(FormatError, match="time"):
        ingest(tmp_path / "dated", files)


def test_the_list_of_columns_in_a_message_is_cut(tmp_path: Path) -> None:
    row = {**ROW, **{f"column{n:02}": "x" for n in range(30)}}
    with pytest.raises(FormatError) as caught:
        ingest(tmp_path, {"log.csv": _csv(row)}, fields={"user": "who"})
    said = str(caught.value).partition("found ")[2]
    assert said == f"{', '.join(row)[:200]}; correct or remove log.fields.user"
