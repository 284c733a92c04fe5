"""Lines whose results were seen before say what they would say if nothing had been seen."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.ingest import impressions, ingest_log, json_lines
from builder.ingest import known_pages as module
from builder.ingest.doubtful import are_plain_lines
from builder.ingest.impression import clean_query
from builder.ingest.known_pages import KnownPages
from builder.ingest.lines import Chunk
from builder.ingest.lists import lists_of
from builder.ingest.result_texts import find_lists
from builder.parameters import LogParameters
from builder.progress import Silent
from builder.resources import Limits
from builder.sources import Source
from tests.fuzz.mutations import mutate
from tests.ingest.log_files import INTERVAL, ingest
from tests.thorough import examples

PAGES = (
    *('"https://a.example/1","https://a.example/2"', '"https://a.example/1", "https://b.example"'),
    *('"https://a.example/[x]","https://a.example/2"', '"https://a.example/,","https://b.example"'),
    *('"https:\\/\\/a.example\\/1"', '"https://a.example/\\"]","https://b.example/"'),
    *('"https://a.example/1",null', '"https://a.example/1",""', '"no address at all"', '"x"', ""),
    *(
        '"https://a.example/1",["https://b.example/2"]',
        '{"url":"https://a.example/1"}',
        "1,2,3456789",
    ),
    *(
        '"https://a.example/{}","https://b.example/"',
        '"https://a.example/caf\\u00e9"',
        '"https://é.fr/"',
    ),
    '"https://a.example/1" "https://a.example/2"',
)
HEADS = (
    *('{"time":5,"query":"eau",', '{"time": 5, "user": "u", "query": "l\'eau {vive}", '),
    *('{"time":5,"query":"\\"results\\":[\\"x\\",",', '{"time":5,"query":"a\\"results\\":[",'),
    *('{"time":5,"query":"eau","meta":{"results":["https://c.example/"]},', "{"),
    *('{"time":5,"query":"caf\\u00e9","user":null,', '{"time":5,"query":"eau","x\\"results":[1],'),
    '{"time":5,"query":"eau","results":["https://c.example/other"],',
    '{"time":5,"query":"eau","clicks":[1],',
)
TAILS = (
    *(',"clicks":[1]}', ', "clicks": [2]}', ',"clicks":[]}', "}", ',"clicks":[3]}\r', ""),
    *(',"results":["https://c.example/other"]}', ',"results":[]}', ',"more":{"results":["y"]}}'),
    ',"user":"results","clicks":[1,1]}',
)
NAMES = ('"results":[', '"results": [', '"results":\t [', '"results":null,"other":[')
LINE = st.builds(
    lambda head, name, page, tail: f"{head}{name}{page}]{tail}".encode(),
    st.one_of(st.just(HEADS[0]), st.sampled_from(HEADS)),
    st.one_of(st.just(NAMES[0]), st.sampled_from(NAMES)),
    st.one_of(st.just(PAGES[0]), st.sampled_from(PAGES)),
    st.one_of(st.just(TAILS[0]), st.sampled_from(TAILS)),
)
PLAIN = [f"{HEADS[0]}{NAMES[0]}{page}]{TAILS[0]}".encode() for page in PAGES[:1] * 3 + PAGES]


def outcome(
    lines: list[bytes], *, chunk: int, remembers: bool, most: int = 2**20
) -> dict[str, Any]:
    """The files that a log becomes, read in chunks of so many bytes."""
    with (
        tempfile.TemporaryDirectory() as name,
        patch.object(impressions, "CHUNK", chunk),
        patch.object(module, "BYTES_A_KEY", 2**26 // most),
        patch.object(KnownPages, "is_worth", remembers),
    ):
        try:
            ledger, _ = ingest(Path(name), {"log.jsonl": b"\n".join(lines)}, repeats="keep")
        except FormatError as error:
            return {"error": str(error).replace(name, "")}
        digests = {
            str(path.relative_to(name)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((Path(name) / "out").rglob("*.parquet"))
        }
        return {**digests, "rejected": dict(ledger.rejected)}


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(LINE, max_size=8),
    st.lists(LINE, max_size=8),
    st.none() | st.integers(0, 2**20),
    st.integers(40, 2000),
    st.sampled_from([2**20, 5, 1]),
)
@example([PLAIN[0]] * 2, [PLAIN[0]] * 3, None, 200, 2**20)
def test_what_was_seen_before_changes_nothing(
    some: list[bytes], others: list[bytes], seed: int | None, chunk: int, most: int
) -> None:
    lines = [*PLAIN, *some, *PLAIN, *others, *some]
    if seed is not None:
        lines = mutate(b"\n".join(lines), seed).split(b"\n")
    plain = outcome(lines, chunk=chunk, remembers=False)
    assert outcome(lines, chunk=chunk, remembers=True, most=most) == plain


def test_a_page_is_parsed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parsed = []

    def counted(lists: Chunk) -> pa.ListArray:
        parsed.append(len(lists))
        return found(lists)

    found = json_lines._parsed
    monkeypatch.setattr(json_lines, "_parsed", counted)
    monkeypatch.setattr(impressions, "CHUNK", 1000)
    pages = [f'"https://a.example/{n}","https://b.example/{n}"' for n in range(3)]
    lines = [f"{HEADS[0]}{NAMES[0]}{pages[n % 3]}]{TAILS[0]}".encode() for n in range(100)]
    _, rows = ingest(tmp_path, {"log.jsonl": b"\n".join(lines)}, repeats="keep")
    assert sum(parsed) == 3
    assert len(parsed) > 5
    assert rows["results"].list.len().to_list() == [2] * 100
    assert rows["results"].n_unique() == 3


def test_several_threads_know_what_one_does(tmp_path: Path) -> None:
    """Chunks that are read beside each other, some of them before what they show is known."""
    rng = np.random.default_rng(1)
    lines = []
    for number in range(4000):
        page = [f"https://a{rng.zipf(1.5) % 50}.example/{n}" for n in range(3)]
        row = {"time": number, "user": f"u{number % 300}", "query": f"q {rng.zipf(1.4) % 90}"}
        clicks = [1] if number % 3 else []
        lines.append(json.dumps(row | {"results": page, "clicks": clicks}).encode())
    (tmp_path / "log.jsonl").write_bytes(b"\n".join(lines))
    found = []
    for threads, size in ((1, 2**20), (2, 5000), (4, 3000)):
        home = tmp_path / f"{threads}"
        for name in ("out", "scratch"):
            (home / name).mkdir(parents=True)
        with patch.object(impressions, "CHUNK", size):
            ingest_log(
                home / "out",
                files=[Source(tmp_path / "log.jsonl", "log.jsonl")],
                interval=INTERVAL,
                params=LogParameters(),
                limits=Limits(home / "scratch", threads=threads),
                progress=Silent(),
            )
        paths = sorted((home / "out").rglob("*.parquet"))
        found.append({p.relative_to(home): p.read_bytes() for p in paths})
    assert found[0] == found[1] == found[2]


def test_results_under_another_name(tmp_path: Path) -> None:
    line = b'{"time":5,"query":"eau","documents":["https://a.example/1"],"clicks":[1]}'
    params = {"fields": {"results": "documents"}, "repeats": "keep"}
    with patch.object(impressions, "CHUNK", 100):
        ledger, rows = ingest(tmp_path, {"log.jsonl": b"\n".join([line] * 9)}, **params)
    assert (ledger.rows_out, rows["results"].n_unique()) == (9, 1)
    assert rows["clicks"].to_list() == [[1]] * 9


def test_where_nothing_repeats_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIED", 10)
    known = KnownPages(2**20)
    known.ask(pl.Series([b"%d" % n for n in range(9)]))
    assert known.is_worth
    known.ask(pl.Series([b"%d" % n for n in range(9, 18)]))
    assert not known.is_worth
    known = KnownPages(2**20)
    known.ask(pl.Series([b"1"] * 20))
    assert known.is_worth


@given(st.lists(st.lists(st.integers(1, 9), max_size=3), max_size=9), st.integers(1, 60))
def test_pages_are_remembered_until_there_is_no_room(pages: list[list[int]], most: int) -> None:
    texts = pl.Series([repr(page).encode() for page in pages], dtype=pl.Binary)
    known = KnownPages(most * module.BYTES_A_KEY)
    for _ in range(3):
        asked = known.ask(texts)
        kept = [page for page, new in zip(pages, asked.new, strict=True) if not new]
        assert asked.keys.to_pylist() == kept
        fresh = [pages[place] for place in asked.places]
        sizes = np.array(list(map(len, fresh)), np.int64)
        keys = pa.array([key for page in fresh for key in page], pa.uint64())
        known.remember(asked.halves, lists_of(sizes, keys))
    distinct = {tuple(page) for page in pages}
    if sum(map(len, distinct)) <= most and len(distinct) <= most // module.KEYS_A_PAGE:
        assert kept == pages


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"results":["https://a.example/"]}', b'"https://a.example/"'),
        (b'{"a":1,"results":["https://a.example/]"]}', b'"https://a.example/'),
        (b'{"a":{"results":["https://a.example/"]}}', None),
        (b'{"a":"\\"results\\":[","results":["https://a.example/"]}', None),
        (b'{"a":"\\"","results":["https://a.example/"]}', None),
        (b'{"results":["https://a.example/"', None),
        (b'{"results":["x"]}', None),
        (b'{"result":["https://a.example/"]}', None),
    ],
)
def test_where_lists_stand(line: bytes, found: bytes | None) -> None:
    first = b'{"results":["https://first.example/"]}'
    data = b"\n".join([first, line, first])
    shown = find_lists(Chunk(1, data, 1000), "results")
    texts = {
        int(place): data[start:stop]
        for place, start, stop in zip(shown.lines, shown.starts, shown.stops, strict=True)
    }
    expected = {0: b'"https://first.example/"', 2: b'"https://first.example/"'}
    assert texts == (expected if found is None else {**expected, 1: found})


def test_plain_texts_are_their_own_clean_ones() -> None:
    """Every character alone, doubled, between letters and beside spaces."""
    characters = [chr(n) for n in range(0x3000) if not 0xD800 <= n < 0xE000]
    forms = ("{}", "{0}{0}", "a{}b", "a {} b", " {}", "{} ", "a{}", "{}a")
    texts = [form.format(c) for c in characters for form in forms] + ["", "a  b", " ", "a b"]
    plain = are_plain_lines(pl.Series(texts))
    for text, is_plain in zip(texts, plain.tolist(), strict=True):
        if is_plain:
            assert clean_query(text, LogParameters()) == text
    alone = plain[: len(characters) * len(forms) : len(forms)]
    assert alone.sum() > 600
    assert are_plain_lines(pl.Series(["a", None, "b"], dtype=pl.String)).tolist() == [1, 0, 1]
