"""The logs of Yandex's challenges of 2011 and 2014, with every kind of malformed line."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.errors import DataError
from builder.ingest.logs import detect_format
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.text.keys import key64
from tests.ingest.logs.log_files import INTERVAL, ingest, read_impressions, seen

OF_2011 = """0\t0\tQ\t17\t0\t101\t102\t103
0\t5\tC\t102
"""
OF_2014 = """744\tM\t2\t123
744\t0\tQ\t0\t17\t11,12\t101,1\t102,2\t103,1
744\t9\tC\t0\t102
744\t12\tC\t0\t101
744\t20\tQ\t1\t18\t13\t104,4\t101,1
745\tM\t3\t123
745\t0\tQ\t0\t17\t11,12\t101,1
745\t2\tT\t1\t18\t13\t104,4
746\tM\t3\t9
746\t0\tQ\t0\t18\t13\t101,1
746\t3\tC\t0\t101
"""


def _records(folder: Path, text: str, **params: Any) -> list[tuple[Any, ...]]:
    """Time, user, query, results and clicks of each impression; then the rejects."""
    (folder / "train").write_text(text, "utf-8")
    source = Source(folder / "train", "train")
    found: list[tuple[Any, ...]] = []
    rejects: list[tuple[Any, ...]] = []
    for records in read_impressions(source, INTERVAL, LogParameters.model_validate(params)):
        found += [tuple(row.values())[1:] for row in records.impressions.to_pylist()]
        rejects += records.rejects
    return found + rejects


def _urls(*ids: int) -> list[str]:
    return [f"https://yandex.invalid/{number}" for number in ids]


def test_2014_pages_have_the_user_and_the_day_of_their_session(tmp_path: Path) -> None:
    day = 86_400
    assert detect_format(_source(tmp_path, OF_2014)) == "yandex-2014"
    assert _records(tmp_path, OF_2014) == [
        (2 * day, "123", "17", _urls(101, 102, 103), [2, 1]),
        (2 * day + 20, "123", "18", _urls(104, 101), []),
        (3 * day, "123", "17", _urls(101), []),
        (3 * day, "9", "18", _urls(101), [1]),
        (8, "clicks_withheld"),
    ]


def _source(folder: Path, text: str) -> Source:
    (folder / "log").write_text(text, "utf-8")
    return Source(folder / "log", "log")


def test_days_of_2014_count_from_a_given_moment(tmp_path: Path) -> None:
    start = {"session_start": "1970-01-11T00:00:00+00:00"}
    assert _records(tmp_path, OF_2014, **start)[0][0] == 12 * 86_400


@pytest.mark.parametrize(("form", "text"), [("yandex", OF_2011), ("yandex-2014", OF_2014)])
def test_addresses_are_those_of_the_definition(tmp_path: Path, form: str, text: str) -> None:
    _, found = ingest(tmp_path, {"train": text.encode()}, address="https://a.example/doc/{id}")
    assert found["results"].to_list()[0][0] == key64("https://a.example/doc/101"), form
    urls = pl.read_parquet(tmp_path / "out/log_urls.parquet")["url"]
    assert urls.str.starts_with("https://a.example/doc/").all()


def test_2014_read_as_2011_is_refused_instead_of_misread(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none in 11 records \(11 bad_action\).*log\.format"):
        ingest(tmp_path, {"train": OF_2014.encode()}, format="yandex", empty="refuse")
    (tmp_path / "other").mkdir()
    with pytest.raises(DataError, match=r"none in 2 records \(2 bad_action\)"):
        ingest(tmp_path / "other", {"t": OF_2011.encode()}, format="yandex-2014", empty="refuse")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "blank_line"),
        (" \t ", "blank_line"),
        ("0", "bad_action"),
        ("0\t1\tQ", "bad_action"),
        ("0\t1\tQ\t17", "bad_action"),
        ("0\t1\tX\t17\t0\t101", "bad_action"),
        ("0\t-1\tQ\t17\t0\t101", "bad_action"),
        ("0\t1.5\tQ\t17\t0\t101", "bad_action"),
        ("0\t" + "9" * 5000 + "\tQ\t17\t0\t101", "bad_action"),
        ("0\t" + "9" * 12 + "\tQ\t17\t0\t101", "bad_time"),
        ("0\t10000000\tQ\t17\t0\t101", "outside_interval"),
        ("\t1\tQ\t17\t0\t101", "bad_action"),
        ("0\t1\tQ\t\t0\t101", "bad_action"),
        ("0\t1\tQ\t17\t0\t\t101", "bad_action"),
        ("0\t1\tQ\t17\t5,6\t101,1\t102,2", "bad_action"),
        ("0\t1\tQ\t17\t0", "no_results"),
        ("0\t1\tC\t102\t7", "bad_action"),
        ("0\t1\tC\t999", "click_not_shown"),
        ("7\t1\tC\t102", "click_not_shown"),
        ("0\t1\tQ\t17\té\t101", "not_ascii"),
        ("0\t1\tQ\t17\t0\t" + "1" * 3000, "line_too_long"),
    ],
)
def test_malformed_lines_of_2011(tmp_path: Path, line: str, reason: str) -> None:
    params = {"format": "yandex", "max_line_bytes": 6000 if "9" * 5000 in line else 2000}
    good = ("0", "17", _urls(101, 102, 103), [2])
    found = _records(tmp_path, OF_2011 + line + "\n" + "1\t0\tQ\t18\t0\t101\n", **params)
    assert found == [(0, *good), (0, "1", "18", _urls(101), []), (3, reason)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("746\tM\t3", "bad_action"),
        ("746\tM\t3\t9\t1", "bad_action"),
        ("746\tM\tthree\t9", "bad_action"),
        ("747\t0\tQ\t0\t18\t13\t101,1", "no_session"),
        ("747\t0\tC\t0\t101", "no_session"),
        ("746\t5\tQ\t0\t18\t13\t101,1", "bad_action"),
        ("746\t5\tQ\t2\t18\t13\t101", "bad_action"),
        ("746\t5\tQ\t2\t18\tword\t101,1", "bad_action"),
        ("746\t5\tQ\t2\t18\t13", "no_results"),
        ("746\t5\tQ\t2", "bad_action"),
        ("746\t5\tC\t9\t101", "click_not_shown"),
        ("746\t5\tC\t0\t999", "click_not_shown"),
        ("746\t5\tC\t0", "bad_action"),
        ("746\t" + "9" * 13 + "\tC\t0\t101", "bad_action"),
        ("746\tM\t" + "9" * 6 + "\t5\n746\t0\tQ\t0\t18\t13\t101,1", "outside_interval"),
    ],
)
def test_malformed_lines_of_2014(tmp_path: Path, line: str, reason: str) -> None:
    found = _records(tmp_path, OF_2014 + line + "\n", format="yandex-2014")
    assert [row for row in found if row[0] == 8] == [(8, "clicks_withheld")]
    assert (len(found), found[-1][1]) == (6, reason)


def test_a_click_belongs_to_the_latest_page_with_its_url(tmp_path: Path) -> None:
    text = OF_2011 + "0\t6\tQ\t18\t0\t102\t101\n0\t7\tC\t101\n0\t8\tC\t103\n"
    _, found = ingest(tmp_path, {"train": text.encode()})
    assert seen(found) == [("17", [2, 3]), ("18", [2])]


@pytest.mark.parametrize("form", ["flags", "ids", "rows"])
def test_clicks_are_ranks_whatever_the_definition_says_of_them(tmp_path: Path, form: str) -> None:
    _, found = ingest(tmp_path, {"train": OF_2011.encode()}, click_form=form)
    assert seen(found) == [("17", [2])]


def test_users_of_2014_have_several_sessions(tmp_path: Path) -> None:
    ledger, found = ingest(tmp_path, {"train": OF_2014.encode()})
    assert dict(ledger.rejected) == {"clicks_withheld": 1}
    assert found["user"].n_unique() == 2


@pytest.mark.parametrize("first", ["744\t0\tC\t0\t101", OF_2014.splitlines()[1]])
def test_2014_is_detected_from_any_action(tmp_path: Path, first: str) -> None:
    assert detect_format(_source(tmp_path, first + "\n" + OF_2014)) == "yandex-2014"
