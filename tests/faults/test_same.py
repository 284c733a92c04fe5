"""One set of bytes, whatever a build may use; executors are in tests/test_executors.py."""

from pathlib import Path

from tests.faults.kills import make_world
from tests.faults.same import sums


def test_builds_are_the_same_with_one_thread_and_little_memory(tmp_path: Path) -> None:
    definition, wanted = make_world(tmp_path)
    assert sums(definition, tmp_path / "again", threads=1, memory="256MiB") == wanted
