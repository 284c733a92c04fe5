"""tests/README.md says what each folder of tests is for, and each package has its folder."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "tests/README.md").read_text("utf-8")
NOT_MIRRORED = {"commands", "models", "parameters", "trec"}
"""Packages without a folder: tested through `cli`, `translation`, `definition` and `evaluation`."""


def _folders(parent: str) -> set[str]:
    return {path.relative_to(ROOT / parent).parts[0] for path in (ROOT / parent).rglob("*/*.py")}


def test_each_folder_mirrors_a_package_or_has_a_row() -> None:
    rows = {row for row in README.splitlines() if row.startswith("| ")}
    named = {name for row in rows for name in re.findall(r"`([a-z]+)`", row)}
    assert _folders("tests") - _folders("builder") <= named


def test_each_package_has_a_folder() -> None:
    assert _folders("builder") - _folders("tests") == NOT_MIRRORED
