"""The manual lists every attack, in the order of the tests."""

import re

from tests.security.tools import ROOT


def test_the_manual_lists_every_attack() -> None:
    listed = re.findall(r"`(test_\w+)`", (ROOT / "docs/security.md").read_text("utf-8"))
    here: list[str] = []
    for name in (
        "test_attacks",
        "test_attacks_on_files",
        "test_attacks_on_formats",
        "test_attacks_on_the_explorer",
    ):
        text = (ROOT / f"tests/security/{name}.py").read_text("utf-8")
        here += re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    assert listed == here
    assert len(listed) >= 60
