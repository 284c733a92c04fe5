"""Sogou's click log, with every kind of malformed line."""

from pathlib import Path
from typing import Any

import pytest

from builder.ingest.logs import sogou
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from tests.ingest.logs.log_files import ingest, read_impressions

OF_DAY = """00:00:00\t11\t[360安全卫士]\t8 3\tdownload.it.com.cn/17938.html
00:00:01\t12\t[汶川地震原因]\t14 2\twww.a.example/thread
00:00:07\t11\t[360安全卫士]\t2 4\twww.b.example/
00:00:09\t12\t[360安全卫士]\t8 1\tdownload.it.com.cn/17938.html
00:45:00\t11\t[360安全卫士]\t1 1\twww.c.example/x
"""


def _records(folder: Path, data: bytes, **params: Any) -> list[tuple[Any, ...]]:
    """Time, user, query, results and clicks of each impression; then the rejects."""
    (folder / "log").write_bytes(data)
    reading = LogParameters.model_validate({"format": "sogou", **params})
    found: list[tuple[Any, ...]] = []
    rejects: list[tuple[Any, ...]] = []
    ever = Interval(0, 2_000_000_000)
    for records in read_impressions(Source(folder / "log", "log"), ever, reading):
        found += [tuple(row.values())[1:] for row in records.impressions.to_pylist()]
        rejects += records.rejects
    return sorted(found) + rejects


def test_clicks_of_one_user_and_query_are_an_impression(tmp_path: Path) -> None:
    guard, quake = "360安全卫士", "汶川地震原因"
    assert _records(tmp_path, OF_DAY.encode("gb18030")) == [
        (0, "11", guard, ["www.b.example/", "download.it.com.cn/17938.html"], [2, 1]),
        (1, "12", quake, ["www.a.example/thread"], [1]),
        (9, "12", guard, ["download.it.com.cn/17938.html"], [1]),
        (2700, "11", guard, ["www.c.example/x"], [1]),
    ]


def test_copies_in_utf8_are_read_as_utf8(tmp_path: Path) -> None:
    """They were read as GB18030: the query became `360瀹夊叏鍗＋`, without a word."""
    expected = _records(tmp_path, OF_DAY.encode("gb18030"))
    assert _records(tmp_path, OF_DAY.encode()) == expected
    assert _records(tmp_path, OF_DAY.splitlines()[0].encode()) == [
        (0, "11", "360安全卫士", ["download.it.com.cn/17938.html"], [1])
    ]


def test_lines_sorted_by_user_give_the_same(tmp_path: Path) -> None:
    lines = OF_DAY.splitlines(keepends=True)
    by_user = "".join(sorted(lines, key=lambda line: line.split("\t")[1]))
    expected = _records(tmp_path, OF_DAY.encode("gb18030"))
    assert _records(tmp_path, by_user.encode("gb18030")) == expected


def test_open_impressions_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sogou, "MAX_OPEN", 1)
    assert len(_records(tmp_path, OF_DAY.encode("gb18030"))) == 5
    monkeypatch.undo()
    monkeypatch.setattr(sogou, "MAX_CLICKS", 1)
    assert len(_records(tmp_path, OF_DAY.encode("gb18030"))) == 5


def test_editions_with_dates_and_tabs(tmp_path: Path) -> None:
    data = "20111230000005\tab\t奇艺高清\t1\t1\thttp://www.qiyi.com/\n".encode("gb18030")
    found = _records(tmp_path, data, time_zone="Asia/Shanghai")
    assert found == [(1_325_174_405, "ab", "奇艺高清", ["http://www.qiyi.com/"], [1])]


def test_times_of_day_are_relative_to_session_start(tmp_path: Path) -> None:
    data = OF_DAY.encode("gb18030")
    found = _records(tmp_path, data, session_start="2006-08-01T00:00:00+08:00")
    assert found[0][0] == 1_154_361_600


def test_another_encoding(tmp_path: Path) -> None:
    data = OF_DAY.encode()
    assert _records(tmp_path, data, encoding="utf-8")[1][2] == "汶川地震原因"


def test_addresses_get_a_scheme_and_the_ledger_says_so(tmp_path: Path) -> None:
    ledger, _ = ingest(tmp_path, {"log": OF_DAY.encode("gb18030")}, format="sogou")
    assert (ledger.rows_in, ledger.rows_out) == (4, 4)
    assert ledger.notes == ["5 results without a URL scheme were read as https:// (log.scheme)"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "blank_line"),
        (b"  ", "blank_line"),
        (b"no tabs at all", "bad_action"),
        (b"00:00:01\tu\t[eau]\t1\thttp://a.example/", "bad_action"),
        (b"00:00:01\tu\t[eau]\t1 x\thttp://a.example/", "bad_action"),
        (b"00:00:01\tu\t[eau]\t-1 1\thttp://a.example/", "bad_action"),
        (b"00:00:01\tu\t[eau]\t1 1\t", "bad_action"),
        (b"00:00:01\tu\t[eau]\t" + b"9" * 5000 + b" 1\thttp://a.example/", "bad_action"),
        (b"\tu\t[eau]\t1 1\thttp://a.example/", "bad_action"),
        (b"24:00:00\tu\t[eau]\t1 1\thttp://a.example/", "bad_time"),
        (b"00:61:00\tu\t[eau]\t1 1\thttp://a.example/", "bad_time"),
        (b"20111330000005\tu\teau\t1\t1\thttp://a.example/", "bad_time"),
        (b"noon\tu\t[eau]\t1 1\thttp://a.example/", "bad_time"),
        (b"00:00:01\tu\t[]\t1 1\thttp://a.example/", "empty_query"),
        (b"00:00:01\tu\t[\xff\xff]\t1 1\thttp://a.example/", "not_utf8"),
        (b"00:00:01\tu\t[eau]\t1 1\t   ", "bad_action"),
        (b"x" * 7000, "line_too_long"),
    ],
)
def test_malformed_lines(tmp_path: Path, line: bytes, reason: str) -> None:
    good = b"00:00:09\tv\t[loi]\t1 1\thttp://a.example/\n"
    found = _records(tmp_path, good + line + b"\n", max_line_bytes=6000)
    assert found == [(9, "v", "loi", ["http://a.example/"], [1]), (2, reason)]


def test_lines_without_a_user_are_impressions_of_their_own(tmp_path: Path) -> None:
    line = "00:00:0{}\t\t[eau]\t{} 1\thttp://a.example/{}\n"
    data = "".join(line.format(n, n, n) for n in (1, 2)).encode()
    assert [row[1:4] for row in _records(tmp_path, data)] == [
        (None, "eau", ["http://a.example/1"]),
        (None, "eau", ["http://a.example/2"]),
    ]


def _lines(*clicks: str) -> bytes:
    """Clicks as `time rank order url` of one user and query."""
    cells = (click.split(" ") for click in clicks)
    lines = (f"{time}\tu\t[eau]\t{rank} {order}\t{url}\n" for time, rank, order, url in cells)
    return "".join(lines).encode()


def test_half_an_hour_may_pass_between_clicks(tmp_path: Path) -> None:
    clicks = ("01:02:59 1 1 a.fr", "01:32:59 2 2 b.fr", "02:03:00 3 3 c.fr")
    assert _records(tmp_path, _lines(*clicks)) == [
        (3779, "u", "eau", ["a.fr", "b.fr"], [1, 2]),
        (7380, "u", "eau", ["c.fr"], [1]),
    ]
    assert _records(tmp_path, _lines("01:30:00 1 1 a.fr", "01:00:00 2 2 b.fr")) == [
        (5400, "u", "eau", ["a.fr", "b.fr"], [1, 2])
    ]
    assert len(_records(tmp_path, _lines("01:30:00 1 1 a.fr", "00:59:59 2 2 b.fr"))) == 2


def test_results_are_in_order_of_rank_and_clicks_in_their_own(tmp_path: Path) -> None:
    """The first rank and the first click of an address count."""
    clicks = ("00:00:01 9 3 c.fr", "00:00:02 2 1 b.fr", "00:00:03 2 4 a.fr", "00:00:04 1 2 c.fr")
    assert _records(tmp_path, _lines(*clicks)) == [
        (1, "u", "eau", ["a.fr", "b.fr", "c.fr"], [2, 3, 1])
    ]


def test_an_impression_has_a_maximum_number_of_clicks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sogou, "MAX_CLICKS", 2)
    clicks = [f"00:00:0{n} {n} {n} {n}.fr" for n in range(1, 6)]
    assert [row[3] for row in _records(tmp_path, _lines(*clicks))] == [
        ["1.fr", "2.fr"],
        ["3.fr", "4.fr"],
        ["5.fr"],
    ]


def test_the_oldest_impression_is_closed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of `b` before that of `a`, which was clicked again."""
    monkeypatch.setattr(sogou, "MAX_OPEN", 3)
    line = "00:00:0{}\t{}\t[eau]\t1 1\t{}.fr\n"
    data = "".join(line.format(n, user, n) for n, user in enumerate("abacde", 1)).encode()
    (tmp_path / "log").write_bytes(data)
    ever = Interval(0, 2_000_000_000)
    found = list(sogou.read_impressions(Source(tmp_path / "log", "log"), ever, LogParameters()))
    results = [(number, len(row["results"])) for number, row in found if not isinstance(row, str)]
    assert results == [(2, 1), (1, 2), (4, 1), (5, 1), (6, 1)]


def test_a_log_of_which_half_is_utf8_is_in_gb18030(tmp_path: Path) -> None:
    lines = [f"00:00:0{n}\t{n}\t[天气]\t1 1\ta.fr\n" for n in range(3)]
    encodings = ("utf-8", "gb18030", "utf-8")
    data = [line.encode(codec) for line, codec in zip(lines, encodings, strict=True)]
    assert _records(tmp_path, b"".join(data[:2]))[1][2] == "天气"
    assert _records(tmp_path, b"".join(data))[0][2] == "天气"
