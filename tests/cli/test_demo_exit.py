"""`demo` exits as `validate` does: 1 on errors, 0 on warnings."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from builder import BuildReport
from builder.cli import app
from builder.collection.checks import Finding
from builder.commands import demo
from builder.commands.demo import DemoReport


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 0)])
def test_exit_codes_agree(
    severity: str,
    code: int,
    built: BuildReport,
    world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finding = Finding("LB215", severity, "x", "m", 1, (), "f")  # type: ignore[arg-type]
    report = DemoReport(world, built, [finding], None)
    monkeypatch.setattr(demo, "demo", lambda *_, **__: report)
    said = CliRunner().invoke(app, ["demo", str(tmp_path), "--quiet"])
    assert said.exit_code == code, said.output
    assert "longeval validate: 1 finding\n" in said.output
