"""Logs as tables: quoted headers, and tables without any."""

from pathlib import Path

import pytest

from builder.errors import FormatError
from builder.ingest.logs.formats import detect_format
from builder.io.sources import Source
from builder.parameters import LogFields, LogParameters
from tests.ingest.logs.log_files import read_impressions

URLS = ["https://a.example/1", "https://a.example/2"]
COLUMNS = LogParameters(
    columns=("who", "when", "region", "query", "seconds", "results", "clicks"), list_separator=";"
)
ROWS = [
    ["399266", "2/15/2012 11:53:16 AM", "fr", "eau potable", "73", ";".join(URLS), URLS[1]],
    ["382045", "2/15/2012 11:53:18 AM", "fr", "sel", "614", ";".join(URLS), ""],
]
PAGES = [("eau potable", URLS, [2]), ("sel", URLS, [])]


def _read(path: Path, params: LogParameters) -> tuple[list[object], list[tuple[int, str]]]:
    pages, rejects = [], []
    for records in read_impressions(Source(path, path.name), None, params):
        rejects += records.rejects
        for batch in [records.impressions]:
            rows = batch.select(["query", "results", "clicks"]).to_pylist()
            pages += [tuple(row.values()) for row in rows]
    return pages, rejects


def _write(path: Path, rows: list[list[str]], delimiter: str, quote: str = "") -> Path:
    lines = (delimiter.join(f"{quote}{cell}{quote}" for cell in row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("delimiter", ["\t", ",", "|"])
def test_tables_without_a_header(tmp_path: Path, delimiter: str) -> None:
    path = _write(tmp_path / "part-00000", ROWS, delimiter)
    assert _read(path, COLUMNS) == (PAGES, [])
    quoted = _write(tmp_path / "part-00001", ROWS, delimiter, "" if delimiter == "\t" else '"')
    assert _read(quoted, COLUMNS) == (PAGES, [])
    headed = _write(tmp_path / "part-00002", [list(COLUMNS.columns), *ROWS], delimiter)
    assert _read(headed, COLUMNS) == (PAGES, [])


def test_quotes_in_tables_with_tabs_are_quotes(tmp_path: Path) -> None:
    path = _write(tmp_path / "log", [['"eau', URLS[0]], ['le "sel"', URLS[1]]], "\t")
    params = LogParameters(columns=("query", "results"))
    assert _read(path, params) == ([('"eau', URLS[:1], []), ('le "sel"', URLS[1:], [])], [])


def test_a_wide_table_of_one_row_without_a_header(tmp_path: Path) -> None:
    """Columns beyond those that are needed do not matter, however many there are."""
    others = [f"column{n}" for n in range(300)]
    params = COLUMNS.model_copy(update={"columns": (*COLUMNS.columns, *others)})
    row = [*ROWS[0], *others[:-1], "x"]
    for name, delimiter in (("tabs", "\t"), ("bars", "|")):
        path = _write(tmp_path / name, [row], delimiter)
        assert _read(path, params) == (PAGES[:1], [])


def test_rows_that_do_not_fit_are_rejects(tmp_path: Path) -> None:
    path = _write(tmp_path / "log", [ROWS[0][:-1], ROWS[1]], "\t")
    assert _read(path, COLUMNS) == (PAGES[1:], [(1, "wrong_number_of_cells")])


def test_log_columns_must_include_required_fields(tmp_path: Path) -> None:
    path = _write(tmp_path / "log", ROWS, "\t")
    lacking = COLUMNS.model_copy(update={"fields": LogFields(query="words")})
    with pytest.raises(
        FormatError, match=r"expected log\.columns with words and either results or url"
    ):
        _read(path, lacking)
    with pytest.raises(FormatError, match=r"or in log\.columns if the file has no header"):
        _read(path, LogParameters())


@pytest.mark.parametrize(("delimiter", "kind"), [("\t", "tsv"), (",", "csv"), (";", "csv")])
def test_headers_in_quotes(tmp_path: Path, delimiter: str, kind: str) -> None:
    rows = [["user", "query", "results", "clicks"]]
    for query, urls, clicks in PAGES:
        rows.append(["u", query, " ".join(urls), " ".join(map(str, clicks))])
    path = _write(tmp_path / "log", rows, delimiter, '"')
    assert detect_format(Source(path, "log")) == kind
    assert _read(path, LogParameters()) == (PAGES, [])


def test_absent_values(tmp_path: Path) -> None:
    rows = [[user, *ROWS[1][1:-1], clicks] for user, clicks in (("NULL", "\\N"), ("\\N", "NULL"))]
    path = _write(tmp_path / "log", rows, "\t")
    assert _read(path, COLUMNS) == (PAGES[1:] * 2, [])
    named = COLUMNS.model_copy(update={"fields": LogFields(user="who")})
    (records,) = read_impressions(Source(path, "log"), None, named)
    assert [batch["user"].to_pylist() for batch in [records.impressions]] == [[None, None]]


def test_json_is_not_detected_as_table(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text('"just a text"\n')
    assert detect_format(Source(path, "log")) == "jsonl"
    assert _read(path, LogParameters()) == ([], [(1, "not_an_object")])


def test_a_quoted_cell_may_have_32_line_breaks(tmp_path: Path) -> None:
    """With one more, the lines after the first are rows of their own."""
    path = tmp_path / "log.csv"
    for breaks, queries, reasons in (
        (32, ["eau loi", "mer"], []),
        (33, ['loi"', "mer"], ["bad_quotes", *["blank_line"] * 32]),
    ):
        query = "eau" + "\n" * breaks + "loi"
        path.write_text(f'query,results\n"{query}",{URLS[0]}\nmer,{URLS[0]}\n')
        pages, rejects = _read(path, LogParameters())
        assert pages == [(found, URLS[:1], []) for found in queries]
        assert [reason for _, reason in rejects] == reasons


def test_the_columns_in_a_message_are_cut(tmp_path: Path) -> None:
    names = [f"column{n:02}" for n in range(30)]
    path = _write(tmp_path / "log", [names], ",")
    with pytest.raises(FormatError) as caught:
        _read(path, LogParameters(format="csv"))
    assert str(caught.value) == (
        "log, line 1: expected a header with query and either results or url, found "
        f"{', '.join(names)[:200]}; name the columns in [log.fields], or in log.columns if the "
        "file has no header"
    )
    path.write_text("")
    with pytest.raises(FormatError, match="found none; name the columns"):
        _read(path, LogParameters(format="csv"))


def test_the_delimiter_is_that_with_which_the_header_has_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"a,b;query;results\n1;eau;{URLS[0]}\n")
    assert _read(path, LogParameters()) == ([("eau", URLS[:1], [])], [])
    path.write_text("a,b;c|d\n")
    with pytest.raises(FormatError, match=r"found a, b;c\|d; name"):
        _read(path, LogParameters())
