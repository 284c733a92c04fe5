"""The advice of every check is a definition that works; severities are those of checks."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import builder
from builder import SimulationParameters
from builder.cli import app
from builder.collection.checks import CHECKS
from builder.definition.model import Definition
from builder.errors import UsageError

ROOT = Path(__file__).parents[2]
SETTING = re.compile(r"`([a-z_]+)\.([a-z_]+) = ([^`]+)`")
ADVICE = [(check.id, *found) for check in CHECKS for found in SETTING.findall(check.fix)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    builder.simulate(
        folder,
        SimulationParameters(name="tiny", snapshots=1, documents=40, queries=8, impressions=600),
    )
    return folder


@pytest.mark.parametrize(("check", "section", "key", "value"), ADVICE)
def test_advice_is_a_definition(
    check: str, section: str, key: str, value: str, world: Path, tmp_path: Path
) -> None:
    shutil.copytree(world, tmp_path / "w")
    path = tmp_path / "w/workflow.toml"
    text = path.read_text("utf-8")
    text = re.sub(rf"(?m)^{key} = .*\n", "", text)
    header = f"[{section}]\n"
    if header in text:
        text = text.replace(header, f"{header}{key} = {value}\n")
    else:
        text = text.replace("[[snapshots]]", f"{header}{key} = {value}\n\n[[snapshots]]", 1)
    path.write_text(text, "utf-8")
    found = getattr(getattr(Definition.load(path).workflow, section), key)
    wanted = tomllib.loads(f"x = {value}")["x"]
    assert (list(found) if isinstance(found, tuple) else type(wanted)(found)) == wanted, check


def test_every_setting_that_advice_names_is_written_as_one() -> None:
    assert {check for check, *_ in ADVICE} >= {"LB213", "LB215", "LB222", "LB226", "LB227"}
    sections = "log|crawl|select|documents|qrels|clicks|split|translate|collection|variants"
    for check in CHECKS:
        bare = SETTING.sub("", check.fix)
        assert not re.search(rf"\b({sections})\.[a-z_]+", bare), check.id


@pytest.mark.parametrize(
    "given", ["LB0=warning", "LB999=warning", "LB205=fatal", "LB205", "=error"]
)
def test_a_severity_that_means_nothing_is_refused(given: str, tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["validate", str(tmp_path), "--severity", given])
    assert said.exit_code != 0
    assert isinstance(said.exception, UsageError)
    assert "--severity" in str(said.exception)


def test_every_version_below_is_checked(world: Path, tmp_path: Path) -> None:
    built = builder.build(world / "workflow.toml", tmp_path / "c", allow_empty=True)
    assert built.version is not None
    shutil.copytree(built.version, tmp_path / "deep/er/0.0.9")
    (tmp_path / "deep/er/0.0.9/notes.txt").write_text("not listed")
    (tmp_path / "app").mkdir()
    (tmp_path / "app/manifest.json").write_text("{}")
    (tmp_path / "broken/snapshots").mkdir(parents=True)
    (tmp_path / "broken/manifest.json").write_text("{")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["always_run"], "a removed or stray file must not keep the hook from running"
    command = [sys.executable, "-m", "builder", *hook["entry"].split()[1:], *hook["args"]]
    said = subprocess.run(
        [*command, "--format", "json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert said.returncode == 1, said.stderr
    errors = {
        (found["check"], found["version"], found["where"])
        for found in json.loads(said.stdout)["findings"]
        if found["severity"] == "error"
    }
    assert errors >= {
        ("LB004", "broken", "manifest.json"),
        ("LB002", "deep/er/0.0.9", "notes.txt"),
    }
    assert "app" not in {version for _, version, _ in errors}
    with pytest.raises(UsageError, match="no published version found at or below"):
        builder.collection.validate.validate_all_versions(tmp_path / "app")
