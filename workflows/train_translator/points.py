"""Known points of the learning curve over data and size."""

import json
from pathlib import Path
from typing import Any

CURVE = Path(__file__).parent / "learning.jsonl"
SETS = ("newstest2014", "flores_devtest")
"""Test sets that are translated: those with a goal."""
BEAM_SETS = ("valid.newstest2013",)
"""Sets on which beam widths are compared: nothing is chosen on a test set."""


def points() -> list[dict[str, Any]]:
    """The models trained for the learning curve, by width and number of pairs.

    Each has `width`, `parameters`, `one_in`, `pairs`, `steps`, `validation` (nats per piece), and
    `bleu` (greedy) and `beam` by test set.
    """
    lines = CURVE.read_text("utf-8").splitlines() if CURVE.exists() else []
    return sorted((json.loads(line) for line in lines), key=lambda p: (p["width"], p["pairs"]))
