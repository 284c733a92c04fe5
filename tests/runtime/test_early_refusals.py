"""What a build refuses before it reads a log or a crawl."""

from pathlib import Path

import pytest

import builder
from builder.errors import FormatError
from builder.runtime.runner import StepResult


@pytest.mark.parametrize("name", ["deny", "allow"])
def test_faulty_url_lists(name: str, world: Path, tmp_path: Path) -> None:
    for path in world.iterdir():
        if path.name != "workflow.toml":
            (tmp_path / path.name).symlink_to(path)
    definition, text = tmp_path / "workflow.toml", (world / "workflow.toml").read_text()
    definition.write_text(f'{text}\n[documents]\n{name} = ["list.txt"]\n')
    (tmp_path / "list.txt").write_text("good.example\n*.bad.example\n")
    steps: list[StepResult] = []
    with pytest.raises(FormatError, match=r"list.txt, line 2: expected a host .*'\*\.bad\.exam"):
        builder.build(definition, tmp_path / "collection", on_step=steps.append)
    assert steps == []
    builder.build(definition, tmp_path / "collection", until="log", on_step=steps.append)
    assert {step.step.stage.name for step in steps} == {"topics", "log"}
