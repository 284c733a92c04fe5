"""The definitions that are shipped can be built once their data is there."""

import re
from pathlib import Path

import pytest

from builder.definition.model import Definition
from builder.errors import DefinitionError

SHIPPED = sorted((Path(__file__).parents[2] / "workflows").glob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_it_loads_once_its_data_is_there(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "workflows" / path.name
    copy.parent.mkdir()
    copy.write_text(path.read_text())
    with pytest.raises(DefinitionError, match="no such file"):
        Definition.load(copy)
    for name in re.findall(r'"(\.\./[^"]+)"', path.read_text()):
        target = copy.parent / name.replace("*", "1")
        if not target.suffix:
            target = target / "part-0"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    workflow = Definition.load(copy).workflow
    assert workflow.collection.name == path.stem
    assert len(workflow.snapshots) >= 3
    assert workflow.collection.is_draft


def test_all_three_are_shipped() -> None:
    assert [path.stem for path in SHIPPED] == ["demo", "longeval-2023", "longeval-web"]
