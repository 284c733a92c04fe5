"""Keys seen lately: against a set, and bounded."""

import numpy as np
import pytest

from builder.ingest.logs import strings
from builder.ingest.logs.strings import RecentKeys


def test_inserted_keys_equal_those_of_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MERGE_THRESHOLD", 50)
    draw = np.random.default_rng(1)
    recent, seen = RecentKeys(10**6), set[int]()
    for _ in range(200):
        keys = draw.permutation(np.unique(draw.integers(0, 5000, 60).astype(np.uint64)))
        assert recent.insert(keys).tolist() == [int(key) not in seen for key in keys]
        seen |= {int(key) for key in keys}


def test_cache_is_cleared_beyond_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MERGE_THRESHOLD", 5)
    recent, keys = RecentKeys(10), np.arange(20, dtype=np.uint64)
    assert recent.insert(keys).all()
    assert recent.insert(keys).all()
