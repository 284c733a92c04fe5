"""Programs, repeats and damage in logs: left out by name, nothing lost."""

from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

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
