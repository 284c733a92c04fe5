"""Sizes of memory."""

from pathlib import Path

import pytest

from builder.errors import UsageError
from builder.resources import Limits, parse_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GiB", 4 * 2**30), ("900MB", 900 * 10**6), ("1.5 gib", 3 * 2**29), ("2g", 2 * 10**9)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "4 elephants", "-1GiB", "1MiB", "4GiBs", "1e9"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="--memory"):
        parse_memory(text)


def test_the_engine_gets_its_limits(tmp_path: Path) -> None:
    with Limits(tmp_path, threads=1, memory=2**30).connect() as connection:
        query = "SELECT current_setting('threads'), current_setting('memory_limit')"
        threads, memory = connection.execute(query).fetchall()[0]
    assert threads == 1
    assert memory == "716.0 MiB"
