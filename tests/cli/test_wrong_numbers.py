"""Numbers beyond reason: told at once, never an overflow or a wait."""

from pathlib import Path

import pytest

from builder import BuildReport
from tests.cli.test_cli import run

HUGE = ("2147483648", "18446744073709551616", "1" + "0" * 30)
USES = {
    "topics rank {place}/counts.tsv --top": "less than or equal to",
    "queries audit {place}/queries.tsv --examples": "less than or equal to",
    "topics audit {place}/topics.tsv {place}/queries.tsv --examples": "less than or equal to",
    "translate {place}/queries.tsv --out {place}/out.tsv --beam-size": "less than or equal to",
    "build {place}/none.toml --threads": "less than or equal to",
    "simulate {place}/world --threads": "less than or equal to",
    "simulate {place}/world --seed": "seed: expected less than",
    "simulate {place}/world --snapshots": "snapshots: expected at most",
    "simulate {place}/world --documents": "documents: expected at most",
    "pool {root} {place}/2022-06.run --snapshot 2022-06 --out {place}/out --depth": "number from 1",
    "filtering {place}/truth.txt {place}/truth.txt --granularity": "seconds up to",
}


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("use", sorted(USES))
def test_huge_numbers_are_told(
    use: str,
    number: str,
    built: BuildReport,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "--granularity" in use or "--seed" in use:
        number = number if len(number) > 11 else str(2**63)
    for name in ("counts.tsv", "queries.tsv", "topics.tsv", "2022-06.run", "truth.txt"):
        (tmp_path / name).write_text("q1 Q0 d1 1 1.0 a\n")
    assert run(*use.format(place=tmp_path, root=built.root).split(), number) == 2
    assert USES[use] in " ".join(capsys.readouterr().err.split())


def test_a_pivot_is_no_path_that_breaks(
    built: BuildReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "2022-06.run"
    path.write_text("q1 Q0 d1 1 1.0 a\n")
    assert run("evaluate", built.root, path, "--pivot", "a\0b") == 2
    assert "expected a run file or one of the systems" in capsys.readouterr().err
