"""Options that take no value from the user, and the numbers that they accept.

`golden/defaults.txt` lists the default and the limits of every option of every command. Whoever
changes one changes the results of all who do not give it.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from builder.cli import app
from tests.cli.test_cli import run

GOLDEN = Path(__file__).parent / "golden" / "defaults.txt"


def test_options_have_the_documented_defaults_and_limits() -> None:
    assert sorted(_options(typer.main.get_command(app), "")) == GOLDEN.read_text().splitlines()


def _options(command: object, path: str) -> Iterator[str]:
    """One line per option or argument that is required or has a default or limits."""
    for name, part in getattr(command, "commands", {}).items():
        yield from _options(part, f"{path}{name} ")
    for option in getattr(command, "params", []):
        limits = [getattr(option, bound, None) for bound in ("min", "max")]
        default = None if option.required else getattr(option.default, "value", option.default)
        values = {"default": default, "least": limits[0], "most": limits[1]}
        words = ["required"] if option.required else []
        words += [f"{word} {value}" for word, value in values.items() if value is not None]
        if words:
            yield f"{path}{option.opts[0]}: {', '.join(words)}"


def test_filtering_trends_try_twenty_cutoffs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three documents on as many days, all with confidence 500: found at cutoffs up to 500."""
    days = (1317945600, 1318032000, 1318118400)
    lines = [f"team\tsys\t{day}-page\thttp://target/x\t500\t2\n" for day in days]
    (tmp_path / "truth.tsv").write_text("".join(lines))
    (tmp_path / "run.tsv").write_text("".join(lines))
    files = (tmp_path / "truth.tsv", tmp_path / "run.tsv")
    assert run("trend", "filtering", *files, "--measure", "recall", "--format", "json") == 0
    trends = json.loads(capsys.readouterr().out)["trends"]
    assert [row["cutoff"] for row in trends] == list(range(50, 1001, 50))
    assert [row["end_point"] for row in trends] == pytest.approx([1] * 10 + [0] * 10)
