"""Every table of the golden worlds says what it said; see README.md beside this file."""

from pathlib import Path

import pytest

from tests.golden.hashes import NAMES, REAL, differences, hash_world, read_golden
from tests.golden.real import SHARED

GOLDEN = read_golden()


@pytest.mark.parametrize("name", sorted({*NAMES, *REAL}))
def test_every_table_says_what_it_said(name: str, tmp_path: Path) -> None:
    if name in REAL and not SHARED.is_dir():
        pytest.skip("no ../shared beside this checkout")
    changed = differences(name, GOLDEN[name], hash_world(name, tmp_path, threads=2))
    assert not changed, "\n".join(changed)
