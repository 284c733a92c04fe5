"""Ordinary variants of a log that once lost clicks, each through the whole stage.

The numbers are those of `review/logs-and-clicks.md`; point 7 (Yandex) is tested in `test_yandex`,
points 9 to 11 (click models) in `tests/clicks`, point 13 (hashes of inputs) in
`tests/runtime/test_store.py`, point 14 (what ids depend on) in `tests/text/test_keys.py`.
"""

import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import builder
from builder.errors import DataError
from builder.ingest.lists import build_list_array
from builder.io.sources import Source
from builder.judging.assessments import read_assessments
from builder.text.keys import key64
from tests.cli.test_cli import run
from tests.ingest.logs.log_files import ingest, seen

Captured = pytest.CaptureFixture[str]
HEADER = "time,user,query,url,rank,clicked"
URL = "https://a.example/{}"


def _long(*clicked: object) -> bytes:
    """One impression in the long format, with these values of `clicked` from rank 1 on."""
    rows = [f"5,u,eau,{URL.format(n)},{n},{value}" for n, value in enumerate(clicked, 1)]
    return "\n".join([HEADER, *rows]).encode()


# 1: clicks in any spelling


@pytest.mark.parametrize(
    ("spellings", "clicks"),
    [
        (("0.0", "1.0", "0.0"), [2]),
        (("0", "1", "1"), [2, 3]),
        (("false", "true", "False"), [2]),
        (("", "TRUE", "nan"), [2]),
        (("no", "yes", "N"), [2]),
        (("f", "t", "NULL"), [2]),
        (("0", "2", "1"), [3, 2]),
        (("2.0", "0.0", "1.0"), [3, 1]),
        ((-0.0, 1e0, 0), [2]),
    ],
)
def test_clicks_are_read_in_any_spelling(
    tmp_path: Path, spellings: tuple[object, ...], clicks: list[int]
) -> None:
    ledger, found = ingest(tmp_path, {"log.csv": _long(*spellings)})
    assert seen(found) == [("eau", clicks)]
    assert not ledger.rejected


@pytest.mark.parametrize("spelling", ["maybe", "-1", "1e999", "1,0", "clicked"])
def test_unknown_click_flag_is_rejected(tmp_path: Path, spelling: str) -> None:
    data = _long("0", f'"{spelling}"') + b"\n6,u,loi,https://a.example/1,1,1"
    ledger, found = ingest(tmp_path, {"log.csv": data})
    assert seen(found) == [("loi", [1])]
    assert dict(ledger.rejected) == {"bad_clicks": 1}


def test_click_flags_are_equal_across_formats(tmp_path: Path) -> None:
    for spelling, clicks in ((2, [1]), (1.0, [1]), (True, [1]), (0, []), (0.0, []), (None, [])):
        row = {"time": 5, "query": "eau", "url": URL.format(1), "rank": 1, "clicked": spelling}
        wide = {"time": 5, "query": "eau", "results": [{"url": row["url"], "clicked": spelling}]}
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / "rows")
        pq.write_table(pa.Table.from_pylist([wide]), tmp_path / "wide")
        files = {
            "a.csv": pl.DataFrame([row]).write_csv().encode(),
            "a.tsv": pl.DataFrame([row]).write_csv(separator="\t").encode(),
            "rows.jsonl": json.dumps(row).encode(),
            "wide.jsonl": json.dumps(wide).encode(),
            "rows.parquet": (tmp_path / "rows").read_bytes(),
            "wide.parquet": (tmp_path / "wide").read_bytes(),
        }
        (folder := tmp_path / f"of {spelling}").mkdir()
        ledger, found = ingest(folder, files)
        assert seen(found) == [("eau", clicks)] * len(files), spelling
        assert not ledger.rejected


def test_click_order_column_preserves_all_clicks(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines, clicks = [HEADER], 0
    for number in range(300):
        order = draw.sample(range(1, 6), draw.randint(0, 5))
        clicks += len(order)
        lines += [
            f"{number},u,eau,{URL.format(rank)},{rank},"
            f"{order.index(rank) + 1 if rank in order else 0}"
            for rank in range(1, 6)
        ]
    _, found = ingest(tmp_path, {"log.csv": "\n".join(lines).encode()}, bots="keep")
    assert found["clicks"].list.len().sum() == clicks


# 2: rows of the long format in any order


def _rows(users: int = 1) -> list[str]:
    """Rows of 40 impressions of each user, five results each; the third is clicked."""
    return [
        f"{n},u{user},eau,{URL.format(rank)},{rank},{int(rank == 3)}"
        for n in range(40)
        for user in range(users)
        for rank in range(1, 6)
    ]


@pytest.mark.parametrize("users", [1, 2])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_rows_of_results_are_grouped_in_any_order(tmp_path: Path, users: int, form: str) -> None:
    rows = _rows(users)
    random.Random(7).shuffle(rows)
    table = pl.read_csv("\n".join([HEADER, *rows]).encode())
    if form == "csv":
        data = table.write_csv().encode()
    elif form == "jsonl":
        data = table.write_ndjson().encode()
    else:
        table.write_parquet(tmp_path / "rows")
        data = (tmp_path / "rows").read_bytes()
    ledger, found = ingest(tmp_path, {"log": data}, bots="keep")
    assert (ledger.rows_in, ledger.rows_out) == (40 * users, 40 * users)
    results = [key64(URL.format(rank)) for rank in range(1, 6)]
    assert found["results"].to_list() == [results] * 40 * users
    assert found["clicks"].to_list() == [[3]] * 40 * users


def test_rows_of_two_users_may_be_interleaved(tmp_path: Path) -> None:
    rows = sorted(_rows(2), key=lambda row: (row.split(",")[0], row.split(",")[4]))
    ledger, found = ingest(tmp_path, {"log.csv": "\n".join([HEADER, *rows]).encode()}, bots="keep")
    assert (ledger.rows_out, dict(ledger.rejected)) == (80, {})
    assert set(found["results"].list.len()) == {5}
    assert found["user"].n_unique() == 2


# 3: nothing kept, and fields that are called something else


LINE = {"time": 5, "user": "u", "query": "eau", "results": [URL.format(1)], "clicks": [1]}


@pytest.mark.parametrize("data", [b"", b"\n\n", b"{}\n", json.dumps(LINE | {"time": -1}).encode()])
def test_a_log_without_impressions_is_refused_unless_allowed(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(
        DataError,
        match=r'expected impressions, found none.* of log\.jsonl; .*log\.empty = "allow"',
    ):
        ingest(tmp_path, {"log.jsonl": data}, empty="refuse", format="jsonl")
    (tmp_path / "allowed").mkdir()
    ledger, _ = ingest(tmp_path / "allowed", {"log.jsonl": data}, format="jsonl")
    assert ledger.rows_out == 0


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({}, ""),
        (
            {"time": "03/06/2022"},
            "if times have a different format, set log.time_format or log.tim",
        ),
        ({"results": ["https://a.fr|https://b.fr"]}, "if list items have a different separator, "),
    ],
)
def test_an_error_names_the_parameter_that_may_be_wrong(
    tmp_path: Path, change: dict[str, str], remedy: str
) -> None:
    line = LINE | (change or {"query": "?"})
    with pytest.raises(DataError) as error:
        ingest(tmp_path, {"log.jsonl": json.dumps(line).encode()}, empty="refuse", format="jsonl")
    tail = str(error.value).partition(" of log.jsonl; ")[2]
    assert tail.startswith(remedy)
    assert tail.endswith(
        ("otherwise " if remedy else "") + "check [log.fields], log.format and the interval of the "
        'snapshot, or set log.empty = "allow"'
    )
    assert remedy or tail.startswith("check")


def test_a_misnamed_field_of_clicks_is_refused_by_name(tmp_path: Path) -> None:
    lines = [{**LINE, "clicked_ranks": [1]} for _ in range(3)]
    for line in lines:
        line.pop("clicks")
    data = "\n".join(map(json.dumps, lines)).encode()
    expected = (
        r"found none in 1 impression of log\.jsonl; check log\.fields\.clicks \(now 'clicks'\)"
        r".*clickless"
    )
    with pytest.raises(DataError, match=expected):
        ingest(tmp_path, {"log.jsonl": data}, clickless="refuse")
    (other := tmp_path / "other").mkdir()
    lines[0]["clicks"] = ["1"]
    with pytest.raises(DataError, match=r"found none in 1 impression of log \(rejected: 1 bad_cl"):
        ingest(other, {"log": "\n".join(map(json.dumps, lines)).encode()}, clickless="refuse")
    for name, params, clicks in (
        ("allowed", {"clickless": "allow"}, []),
        ("named", {"clickless": "refuse", "fields": {"clicks": "clicked_ranks"}}, [1]),
    ):
        (folder := tmp_path / name).mkdir()
        _, found = ingest(folder, {"log.jsonl": data}, **params)
        assert seen(found) == [("eau", clicks)]


def _definition(folder: Path, log: bytes, section: str = "") -> Path:
    """A definition of one snapshot with one log."""
    page = {"url": URL.format(1), "timestamp": 1_654_300_000, "title": "Eau", "text": "De l'eau."}
    (folder / "crawl.jsonl").write_text(json.dumps(page) + "\n", "utf-8")
    (folder / "log").write_bytes(log)
    (folder / "topics.tsv").write_text(
        "topic_id\tlabel\taliases\tlanguage\tsource\nt\teau\t\tfr\tx\n"
    )
    (folder / "workflow.toml").write_text(
        f'[collection]\nname = "small"\nversion = "0.1.0"\ntopics = "topics.tsv"\n{section}\n'
        '[[snapshots]]\nname = "2022-06"\nstart = 2022-06-01\nend = 2022-07-01\n'
        'log = ["log"]\ncrawl = ["crawl.jsonl"]\n',
        "utf-8",
    )
    return folder / "workflow.toml"


def _build(definition: Path) -> int:
    """The exit code of a build up to the log."""
    return run("build", definition, "--until", "log", "--out", definition.parent / "out")


def test_log_without_clicks_fails_with_advice(tmp_path: Path, capsys: Captured) -> None:
    line = {**LINE, "time": 1_654_300_000}
    line["clicked"] = line.pop("clicks")
    data = json.dumps(line).encode()
    assert _build(_definition(tmp_path, data)) != 0
    message = "expected clicks, found none in 1 impression of log; check"
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "out").rglob("impressions"))
    assert _build(_definition(tmp_path, data, '[log]\nclickless = "allow"')) == 0


# 4: the key of the pseudonyms


def test_the_pseudonym_key_depends_on_every_file(tmp_path: Path) -> None:
    """An empty first file once made the key a constant that anybody could compute."""
    users = []
    for name, files in (
        ("one", {"a": b"", "b": json.dumps(LINE).encode()}),
        ("other", {"a": b"", "b": json.dumps({**LINE, "query": "loi"}).encode()}),
        ("alone", {"b": json.dumps(LINE).encode()}),
    ):
        (folder := tmp_path / name).mkdir()
        users.append(ingest(folder, files, format="jsonl")[1]["user"][0])
    assert users[0] != users[1]
    assert users[0] == users[2]


# 5: the format of each snapshot


def test_snapshots_may_be_written_in_different_formats(tmp_path: Path) -> None:
    """One `[log]` and one `[crawl]` once described the files of all snapshots."""
    june, july = 1_654_300_000, 1_657_000_000
    definition = _definition(tmp_path, json.dumps({**LINE, "time": june}).encode())
    (tmp_path / "july.csv").write_text(
        f"when|query|results|ranks\n{july}|loi|{URL.format(2)}|1\n", "utf-8"
    )
    page = {"where": URL.format(2), "when": july, "title": "Loi", "body": "La loi."}
    (tmp_path / "july.jsonl").write_text(json.dumps(page) + "\n", "utf-8")
    with definition.open("a", encoding="utf-8") as file:
        file.write(
            '[[snapshots]]\nname = "2022-07"\nstart = 2022-07-01\nend = 2022-08-01\n'
            'log = ["july.csv"]\ncrawl = ["july.jsonl"]\n'
            '[snapshots.overrides.log]\nformat = "csv"\n'
            'fields = { time = "when", clicks = "ranks" }\n'
            "[snapshots.overrides.crawl]\n"
            'fields = { url = "where", time = "when", text = "body" }\n'
        )
    builder.build(definition, tmp_path / "out", until="crawl")
    work = tmp_path / "out/.work"
    for month, query, text in (
        ("2022-06", "eau", "De l'eau."),
        ("2022-07", "loi", "La loi."),
    ):
        (log,), (crawl,) = (list((work / stage).glob(f"{month}/*/")) for stage in ("log", "crawl"))
        assert seen(pl.read_parquet(log / "impressions")) == [(query, [1])]
        assert pl.read_parquet(crawl / "fetches.parquet")["text"].to_list() == [text]


# 6: addresses without a scheme


def test_addresses_without_a_scheme_get_that_of_the_definition(tmp_path: Path) -> None:
    results = ["www.a.example/1", "http://b.example/2", "c.example", "not an address"]
    lines = [{**LINE, "time": n, "results": [url]} for n, url in enumerate(results)]
    data = "\n".join(map(json.dumps, lines)).encode()
    for name, scheme, kept in (("https", "https", 3), ("http", "http", 3), ("none", None, 1)):
        (folder := tmp_path / name).mkdir()
        ledger, found = ingest(folder, {"log.jsonl": data}, scheme=scheme)
        assert dict(ledger.rejected) == {"bad_url": len(results) - kept}
        given = [f"{scheme}://www.a.example/1", results[1], f"{scheme}://c.example/"]
        wanted = given if scheme else [results[1]]
        assert [keys[0] for keys in found["results"]] == [key64(url) for url in wanted]
        assert ledger.notes == (
            [f"2 results without a URL scheme were read as {scheme}:// (log.scheme)"]
            if scheme
            else []
        )


def test_a_refused_address_is_one_message(tmp_path: Path) -> None:
    definition = _definition(tmp_path, b"", '[log]\naddress = "https://{id}"')
    command = [sys.executable, "-m", "builder", "build", str(definition), "--until", "log"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "expected an http or https URL with {id} in its path or query" in done.stderr
    assert "nanobind" not in done.stderr


# 8: encodings, quoted line breaks, float ranks


ACCENTED = "time,user,query,results,clicks\n" + "".join(
    f"{n},u{n},{query},{URL.format(1)},1\n"
    for n, query in enumerate(("pâte à crêpes", "été à la mer", "forêt brûlée", "eau", "Noël"))
)


@pytest.mark.parametrize("encoding", ["auto", "windows-1252", "latin-1"])
def test_tables_in_latin_1_keep_every_line(tmp_path: Path, encoding: str) -> None:
    data = ACCENTED.encode("latin-1")
    ledger, found = ingest(tmp_path, {"log.csv": data}, encoding=encoding)
    assert (ledger.rows_in, ledger.rows_out) == (5, 5)
    assert key64("pâte à crêpes") in found["surface"].to_list()
    assert bool(ledger.notes) == (encoding == "auto")


def test_a_detected_encoding_is_reported(tmp_path: Path) -> None:
    ledger, _ = ingest(
        tmp_path, {"log.csv": ACCENTED.encode("latin-1"), "b.csv": ACCENTED.encode()}
    )
    note, *advice = ledger.notes
    assert note.startswith("log.csv: detected encoding windows-1252; set log.encoding to confirm")
    causes = [text.partition(":")[0] for text in advice]
    assert causes == [
        "5 of 10 records were rejected as repeated_impression"
    ]  # both files have them


def test_empty_files_are_noted(tmp_path: Path) -> None:
    files = {"log.csv": ACCENTED.encode(), "b.csv": b"", "c.parquet": b""}
    ledger, _ = ingest(tmp_path, files)
    assert (ledger.rows_out, ledger.notes) == (5, ["b.csv, c.parquet are empty (0 bytes)"])


def test_an_encoding_that_cannot_be_detected_is_reported(tmp_path: Path) -> None:
    text = "time,user,query,results,clicks\n5,u,汶川地震原因,https://a.example/1,1\n"
    ledger, _ = ingest(tmp_path, {"log.csv": text.encode("gb18030")})
    assert dict(ledger.rejected) == {"not_utf8": 1}
    assert ledger.notes == [
        "log.csv: not valid UTF-8, and the encoding cannot be detected; set log.encoding"
    ]


def test_build_prints_detected_encoding(tmp_path: Path, capsys: Captured) -> None:
    rows = [f"{1_654_300_000 + n},u,forêt brûlée,a.example/1,1" for n in range(3)]
    data = "\n".join(["time,user,query,results,clicks", *rows]).encode("latin-1")
    definition = _definition(tmp_path, data)
    assert _build(definition) == 0
    shown = capsys.readouterr().out
    notes = [line.strip() for line in shown.splitlines() if "note:" in line]
    assert notes == [
        "note: log: detected encoding windows-1252; set log.encoding to confirm",
        "note: 3 results without a URL scheme were read as https:// (log.scheme)",
    ]
    assert _build(definition) == 0
    assert "note:" not in capsys.readouterr().out


def test_clicks_command_prints_detected_encoding(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.csv").write_bytes(ACCENTED.encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    assert run("clicks", "log.csv", "--out", "pairs.tsv") == 0
    shown = capsys.readouterr().out
    assert "note: log.csv: detected encoding windows-1252; set log.encoding" in shown
    assert "pâte à crêpes" in (tmp_path / "pairs.tsv").read_text("utf-8")


@pytest.mark.parametrize("encoding", ["auto", "gb18030"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_logs_in_gb18030(tmp_path: Path, encoding: str, form: str) -> None:
    texts = ("三亚酒店预订", "汶川地震原因", "奇艺高清电影")
    rows = [{**LINE, "time": n, "query": text} for n, text in enumerate(texts)]
    data = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    if form == "csv":
        cells = [f"{n},u,{text},{URL.format(1)},1" for n, text in enumerate(texts)]
        data = "\n".join(["time,user,query,results,clicks", *cells])
    data += "\n"
    ledger, found = ingest(tmp_path, {"log": data.encode("gb18030")}, encoding=encoding)
    assert ledger.rows_out == 3, ledger
    assert found["surface"].to_list() == [key64(text) for text in texts]


def test_few_invalid_utf8_lines_are_rejected(tmp_path: Path) -> None:
    data = ACCENTED.encode() + b"9,u,\xe9t\xe9,https://a.example/1,1\n"
    ledger, _ = ingest(tmp_path, {"log.csv": data})
    assert dict(ledger.rejected) == {"not_utf8": 1}
    assert ledger.notes == []


def test_quoted_cells_may_span_lines(tmp_path: Path) -> None:
    data = (
        'time,user,query,results,clicks\n5,u,"eau\npotable",https://a.example/1,1\n'
        '6,u,"a ""b""\r\n\r\nc",https://a.example/1,1\n7,u,loi,https://a.example/1,\n'
    )
    ledger, found = ingest(tmp_path, {"log.csv": data.encode()})
    assert (ledger.rows_in, ledger.rows_out) == (3, 3)
    texts = pl.read_parquet(tmp_path / "out/log_queries.parquet")["text"]
    assert sorted(texts) == ['a "b" c', "eau potable", "loi"]
    assert found["clicks"].to_list() == [[1], [1], []]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.decimal128(22, 1), pa.string()])
def test_whole_ranks_of_any_type_are_ranks(tmp_path: Path, kind: pa.DataType) -> None:
    ranks = ["2.0", "1.0"] if pa.types.is_string(kind) else [2, 1]
    columns: dict[str, Any] = {
        "time": [5, 5],
        "query": ["eau", "eau"],
        "url": [URL.format(2), URL.format(1)],
        "rank": pa.array(ranks, pa.string()) if kind == pa.string() else pa.array(ranks).cast(kind),
        "clicked": [1, 0],
    }
    pq.write_table(pa.table(columns), tmp_path / "rows")
    ledger, found = ingest(tmp_path, {"log": (tmp_path / "rows").read_bytes()})
    assert found["results"].to_list() == [[key64(URL.format(1)), key64(URL.format(2))]]
    assert found["clicks"].to_list() == [[2]]
    assert not ledger.rejected


@pytest.mark.parametrize("rank", ["1.5", "inf", "1e400", "first", "0x1"])
def test_ranks_that_are_not_whole_numbers_are_rejected(tmp_path: Path, rank: str) -> None:
    data = f"{HEADER}\n5,u,eau,{URL.format(1)},1,1\n5,u,eau,{URL.format(2)},{rank},0\n".encode()
    ledger, found = ingest(tmp_path, {"log.csv": data})
    assert seen(found) == [("eau", [1])]
    assert dict(ledger.rejected) == {"bad_rank": 1}


def test_float_ranks_of_clicks_in_parquet(tmp_path: Path) -> None:
    table = pa.table({"time": [5, 6], "query": ["eau", "loi"], "results": [[URL.format(1)]] * 2})
    clicks = pa.array([[1.0], [1.5]], pa.list_(pa.float64()))
    pq.write_table(table.append_column("clicks", clicks), tmp_path / "wide")
    ledger, found = ingest(tmp_path, {"log": (tmp_path / "wide").read_bytes()})
    assert seen(found) == [("eau", [1])]
    assert dict(ledger.rejected) == {"bad_clicks": 1}


# 12: limits of the process and of Arrow


def test_reading_a_sheet_of_judgements_leaves_long_cells_of_logs_readable(tmp_path: Path) -> None:
    """The `csv` module has one limit of cells in a process; each reader once set its own."""
    (tmp_path / "sheet.tsv").write_text("query_id\tdoc_id\tassessor\tgrade\nq1\td1\tada\t1\n")
    assert read_assessments([Source(tmp_path / "sheet.tsv", "sheet.tsv")]).height == 1
    before = csv.field_size_limit()
    note = "x" * (2**24 + 1)
    data = f'time,query,results,clicks,note\n5,"eau",{URL.format(1)},1,{note}\n'.encode()
    ledger, found = ingest(tmp_path, {"log.csv": data}, max_line_bytes=2**25)
    assert seen(found) == [("eau", [1])]
    assert not ledger.rejected
    assert csv.field_size_limit() == before


def test_offsets_of_lists_do_not_wrap() -> None:
    sizes = np.array([2**31 - 1, 1])
    with pytest.raises(
        pa.ArrowInvalid, match=r"^Integer value 2147483648 not in range: -2147483648 to 2147483647$"
    ):
        build_list_array(sizes, pa.nulls(0))
    assert build_list_array(np.array([2, 0, 1]), pa.array([7, 8, 9])).to_pylist() == [
        [7, 8],
        [],
        [9],
    ]
