"""Programs, repeats and damage in logs: left out by name, nothing lost."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import DataError
from tests.ingest.logs.log_files import ingest, seen, shown


def test_programs_and_repeats_are_left_out_by_name(tmp_path: Path) -> None:
    lines = [
        *(shown("hasty", f"eau {n}", 3600 + n, [1]) for n in range(30)),
        *(shown("alike", f"loi {n}", 10_000 * n, [1, 2, 3]) for n in range(8)),
        *(shown("person", f"mer {n}", 10_000 * n, [1]) for n in range(8)),
        shown("person", "mer 0", 0.7, [2]),
        shown(None, "mer 0", 0, [2]),
        shown(None, "mer 0", 0, [2]),
        shown("other", "mer 0", 0, [2]),
    ]
    params = {"bot_rate": 30, "bot_alike": 8}
    ledger, found = ingest(tmp_path, {"a.jsonl": b"".join(lines)}, **params)
    assert dict(ledger.rejected) == {
        "bot_rate": 30,
        "bot_no_variation": 8,
        "repeated_impression": 1,
    }
    assert found.height == 11
    assert found["impression"].is_sorted()
    rejects = pl.read_parquet(tmp_path / "out/rejects.parquet")
    again = rejects.filter(pl.col("reason") == "repeated_impression")
    assert again.select("file", "line").rows() == [("a.jsonl", 47)]
    (tmp_path / "kept").mkdir()
    ledger, _ = ingest(
        tmp_path / "kept", {"a.jsonl": b"".join(lines)}, bots="keep", repeats="keep", **params
    )
    assert ledger.rejected == {}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ada", "bob", None]),
            st.sampled_from(["eau", "loi"]),
            st.integers(0, 4),
            st.lists(st.integers(1, 3), max_size=3),
        ),
        max_size=25,
    ),
)
def test_rules_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str | None, str, int, list[int]]],
) -> None:
    data = b"".join(shown(u, q, t * 3600, c) for u, q, t, c in rows)
    folder = tmp_path_factory.mktemp("log")
    ledger, found = ingest(folder, {"a.jsonl": data}, bot_rate=4, bot_alike=3)
    kept, before = [], set()
    for number, (user, query, time, clicks) in enumerate(sorted(rows, key=lambda row: row[2])):
        mine = [row for row in rows if user is not None and row[0] == user]
        if max((sum(r[2] == hour for r in mine) for hour in range(5)), default=0) >= 4:
            continue
        if len(mine) >= 3 and len(clicks) >= 2 and all(row[3] == clicks for row in mine):
            continue
        if user is not None and (user, query, time) in before:
            continue
        before.add((user, query, time))
        kept.append(number)
    assert found["impression"].to_list() == kept
    assert ledger.rows_out == len(kept)


def test_rows_before_damage_are_read(tmp_path: Path) -> None:
    whole = zstandard.compress(b"".join(shown(f"u{n}", f"eau {n}", n, []) for n in range(3000)))
    ledger, found = ingest(tmp_path, {"a.jsonl.zst": whole[: len(whole) // 2]})
    assert ledger.rejected["file_truncated"] == 1
    assert ledger.rows_in == ledger.rows_out + 1 + ledger.rejected.get("not_json", 0)
    frames = [zstandard.compress(shown("a", q, n, [])) for n, q in enumerate(("eau", "loi"))]
    two = b"".join(frames)
    (tmp_path / "two").mkdir()
    ledger, found = ingest(tmp_path / "two", {"a.jsonl.zst": two})
    assert seen(found) == [("eau", []), ("loi", [])]
    assert ledger.rejected == {}


@pytest.mark.parametrize(
    ("form", "lines", "number", "params"),
    [
        ("jsonl", [shown("u", "eau", n, []).decode().rstrip() for n in (1, 2)], 3, {}),
        (
            "jsonl",
            ['{"time":5,"query":"eau","url":"a.fr"}', '{"time":6,"query":"a","url":"a.fr"}'],
            3,
            {},
        ),
        ("csv", ["time,query,results", "5,eau,a.fr", "6,eau,a.fr"], 4, {}),
        ("tsv", ["time\tquery\turl", "5\teau\ta.fr", "6\teau\ta.fr"], 4, {}),
        ("yandex", ["0\t0\tQ\t17\t0\t101", "1\t0\tQ\t17\t0\t101"], 3, {}),
        (
            "yandex-2014",
            ["7\tM\t2\t1", "7\t0\tQ\t0\t17\t11\t1,1", "7\t1\tQ\t1\t17\t11\t1,1"],
            4,
            {},
        ),
        ("sogou", ["00:00:01\tu\t[eau]\t1 1\ta.fr", "00:00:01\tv\t[eau]\t1 1\ta.fr"], 3, {}),
        (
            "pyclick",
            ["1\t5,6 : 6", "1\t5,6 : 5"],
            3,
            {"undated": "start", "address": "https://a.fr/{id}"},
        ),
    ],
)
def test_the_line_at_which_a_file_ends_early_is_told(
    tmp_path: Path, form: str, lines: list[str], number: int, params: dict[str, str]
) -> None:
    data = gzip.compress("".join(f"{line}\n" for line in [*lines, "more"]).encode(), 0)[:-10]
    ledger, _ = ingest(tmp_path, {"log": data}, format=form, **params)
    assert (ledger.rows_out, dict(ledger.rejected)) == (2, {"file_truncated": 1})
    assert pl.read_parquet(tmp_path / "out/rejects.parquet")["line"].to_list() == [number]


BAD = {
    "bad_time": {"time": "x"},
    "bad_user": {"user": []},
    "bad_query": {"query": []},
    "no_results": {"results": []},
    "bad_results": {"results": 1},
    "click_not_shown": {"clicks": [9]},
}


def _bad(reason: str, count: int) -> bytes:
    good = {"time": 5, "user": "u", "query": "eau", "results": ["a.fr"], "clicks": []}
    return (json.dumps(good | BAD[reason]) + "\n").encode() * count


def test_the_reasons_why_a_log_is_empty_are_told(tmp_path: Path) -> None:
    lines = b"".join(_bad(reason, 20 - n) for n, reason in enumerate(BAD))
    with pytest.raises(DataError) as caught:
        ingest(tmp_path, {"a.jsonl": lines, "b.jsonl": lines + b"\n"}, empty="refuse")
    assert str(caught.value) == (
        "expected impressions, found none in 211 records (40 bad_time, 38 bad_user, 36 bad_query, "
        "34 no_results, 32 bad_results) of a.jsonl and 1 more file; clicked ranks start at 1; if "
        "clicks are flags or ids, set log.click_form; if times have a different format, set "
        "log.time_format or log.time_unit; otherwise check [log.fields], log.format and the "
        'interval of the snapshot, or set log.empty = "allow"'
    )


@pytest.mark.parametrize(
    ("count", "files"),
    [(1, "0.jsonl"), (2, "0.jsonl and 1 more file"), (3, "0.jsonl and 2 more files")],
)
def test_a_log_without_clicks_is_refused_with_what_was_rejected(
    tmp_path: Path, count: int, files: str
) -> None:
    data = [shown("u", "eau", n, []) + _bad("click_not_shown", 1) for n in range(count)]
    with pytest.raises(DataError) as caught:
        ingest(tmp_path, {f"{n}.jsonl": lines for n, lines in enumerate(data)}, clickless="refuse")
    impressions = f"{count} impression{'' if count == 1 else 's'}"
    assert str(caught.value) == (
        f"expected clicks, found none in {impressions} of {files} (rejected: {count} "
        "click_not_shown); check log.fields.clicks (now 'clicks'), log.fields.clicked and "
        'log.click_form, or set log.clickless = "allow"'
    )
