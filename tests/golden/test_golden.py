"""Every table of the golden worlds says what it said; see README.md beside this file."""

from pathlib import Path

import pytest

from builder.pipeline import PIPELINE
from tests.golden.hashes import NAMES, REAL, Hashes, differences, hash_world, read_golden
from tests.golden.real import SHARED
from tests.thorough import ALL

GOLDEN = read_golden()
ODD_IN_THE_LOG = ("long-forms", "joined-pages", "click-objects", "malformed")
"""Compared up to `qrels` in `make test`, which compares later stages in the other worlds."""


@pytest.mark.parametrize("name", sorted({*NAMES, *REAL}))
def test_every_table_says_what_it_said(name: str, tmp_path: Path) -> None:
    if name in REAL and not SHARED.is_dir():
        pytest.skip("no ../shared beside this checkout")
    until = "qrels" if name in ODD_IN_THE_LOG and not ALL else None
    golden = _up_to(until, GOLDEN[name]) if until else GOLDEN[name]
    changed = differences(name, golden, hash_world(name, tmp_path, threads=2, until=until))
    assert not changed, "\n".join(changed)


def _up_to(last: str, golden: Hashes) -> Hashes:
    """The tables of the stages up to one; those of `qrels` in two snapshots are among them."""
    names = [stage.name for stage in PIPELINE.stages]
    stages = {*names[: names.index(last) + 1]}
    found = {table: text for table, text in golden.items() if table.split("/")[1] in stages}
    assert {"2022-06/qrels/qrels", "2022-07/qrels/qrels", "2022-07/log/impressions"} < found.keys()
    return found
