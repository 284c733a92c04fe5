"""One set of bytes, whatever a build may use."""

from pathlib import Path

from tests.faults.kills import make_world
from tests.faults.same import settings, sums


def test_builds_are_the_same_whatever_they_may_use(tmp_path: Path) -> None:
    definition, wanted = make_world(tmp_path)
    for number, how in enumerate(settings(2, seed=5)):
        if how["executor"] != "ray":
            assert sums(definition, tmp_path / str(number), **how) == wanted, how
