"""Keys of many texts at once are keys of each, and each is new once."""

import hashlib
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import DataError
from builder.ingest import seen as module
from builder.ingest.dictionary import Dictionary
from builder.ingest.seen import Flags, Halves, Keys, Seen, md5_halves, pseudonyms
from builder.ingest.texts import canonical_url
from builder.keys import key64
from builder.resources import Limits

URLS = [
    "https://a.example/1",
    "https://a.example/1#top",
    " https://a.example/1 ",
    "https://A.example/1",
    "https://b.example/é",
    "https://b.example/x?utm_source=y&b=2&a=1",
    "x",
    "ftp://a.example/",
    "https://c.example/2",
]


def _keys(*numbers: int) -> Keys:
    return np.array(numbers, dtype=np.uint64)


def _add(seen: Seen, keys: Keys, others: Keys) -> Flags:
    """Which hashes are new; they are remembered, each with a number told by its key."""
    halves = Halves(keys, others)
    new, numbers = seen.find(halves)
    old = ~new & ~np.isin(keys, keys[new])
    assert numbers[old].tolist() == (keys[old] * np.uint64(3)).tolist()
    seen.remember(halves.take(new), keys[new] * np.uint64(3))
    return new


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=30))
def test_the_engine_makes_the_keys_that_python_makes(texts: list[str]) -> None:
    with duckdb.connect() as connection:
        keys, others = md5_halves(pa.array(texts, pa.string()), connection)
    assert keys.tolist() == [key64(text) for text in texts]
    assert len(set(zip(keys.tolist(), others.tolist(), strict=True))) == len(set(texts))


def test_pseudonyms_are_keyed() -> None:
    texts = ["ann", "Zoë", ""]
    with duckdb.connect() as connection:
        found = pseudonyms(pa.array(texts), "abc", connection).tolist()
    digests = [hashlib.sha256(f"abc{text}".encode()).digest() for text in texts]
    assert found == [int.from_bytes(digest[:8], "big") for digest in digests]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=12), st.integers(1, 8))
def test_each_key_is_new_once(batches: list[list[int]], recent: int) -> None:
    known: set[int] = set()
    seen = Seen(10**6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_RECENT", recent)
        for batch in batches:
            new = _add(seen, _keys(*batch), _keys(*batch) + np.uint64(7))
            fresh = [key for key, is_new in zip(batch, new.tolist(), strict=True) if is_new]
            assert sorted(fresh) == sorted(set(batch) - known)
            known |= set(batch)


@pytest.mark.parametrize("recent", [1, 100])
def test_one_key_for_two_addresses_is_an_error(
    recent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_RECENT", recent)
    seen = Seen(100)
    _add(seen, _keys(1, 2, 3), _keys(7, 8, 9))
    assert not _add(seen, _keys(3, 1), _keys(9, 7)).any()
    with pytest.raises(DataError, match="one key"):
        _add(seen, _keys(5, 2), _keys(5, 5))
    with pytest.raises(DataError, match="one key"):
        _add(Seen(100), _keys(4, 4), _keys(1, 2))


def test_what_was_forgotten_is_new_again() -> None:
    seen = Seen(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_RECENT", 1)
        assert _add(seen, _keys(1, 2, 3), _keys(1, 2, 3)).all()
        assert _add(seen, _keys(1, 2, 3), _keys(1, 2, 3)).all()


def test_keys_of_urls_of_all_kinds(tmp_path: Path) -> None:
    limits = Limits(tmp_path, threads=1, memory=2**28)
    with Dictionary(limits, b"secret") as dictionary:
        for urls in (URLS, URLS[::-1], []):
            distinct = pa.array(urls, pa.string())
            keys = dictionary.urls(dictionary.look_up_urls(distinct))
            wanted = [canonical_url(url) for url in urls]
            assert keys.tolist() == [key64(key) if key else 0 for key in wanted]
        dictionary.write(tmp_path)
    written = pl.read_parquet(tmp_path / "log_urls.parquet")
    wanted_rows = {(key64(key), key) for url in URLS if (key := canonical_url(url))}
    assert set(written.select("doc", "url_key").rows()) == wanted_rows
    assert written.filter(pl.col("url_key") == "https://a.example/1")["url"].to_list() == [
        "https://A.example/1"
    ]


def test_what_two_threads_look_up_at_once_is_written_once(tmp_path: Path) -> None:
    limits = Limits(tmp_path, threads=1, memory=2**28)
    with Dictionary(limits, b"secret") as dictionary:
        distinct = pa.array(["L'eau", "eau", "!"])
        one, other = (dictionary.look_up_queries(distinct) for _ in range(2))
        found = [dictionary.queries(looked)[1].tolist() for looked in (one, other)]
        dictionary.write(tmp_path)
    assert found[0] == found[1] == [key64("l eau"), key64("eau"), 0]
    assert pl.read_parquet(tmp_path / "log_queries.parquet").height == 2
    assert pl.read_parquet(tmp_path / "queries.parquet").height == 2
