"""What a partial build refuses: a last stage that has no step for the chosen snapshots."""

from pathlib import Path

import pytest

import builder
from builder.errors import UsageError


@pytest.mark.parametrize("until", ["topics", "changes", "maps"])
def test_a_stage_without_a_step_for_the_snapshot(until: str, world: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        builder.build(world / "workflow.toml", tmp_path / "c", snapshots=["2022-07"], until=until)
    assert str(caught.value) == (
        f"--until: stage '{until}' cannot run for only 2022-07; omit --snapshot, or repeat it for "
        "both snapshots of a pair"
    )
    assert not (tmp_path / "c").exists()
