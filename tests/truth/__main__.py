"""Runs the matrix of planted causes and prints it as a table: `make truth SEEDS="0 1"`.

An interrupt (Ctrl-C) ends the run and prints the finished cells. With `--cells FILE` each finished
cell is appended to a file of JSON lines, and a later run continues with the cells that it lacks.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from itertools import product
from pathlib import Path

from tests.truth.matrix import SIZES, Laboratory, Verdict
from tests.truth.planted import CAUSES, Cause

PAGE = Path("docs/drift.md")
BEGIN, END = "<!-- truth: begin -->", "<!-- truth: end -->"
UNCHANGED = "nothing"
SAID = {"named": "named", "cannot tell": "cannot tell", "clear": "clear", "false": "construction"}


def main() -> int:
    """Exit code 1 where a cause was called clear, or a change of the world construction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=range(10), help="of the worlds")
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--causes", nargs="*", help="only causes whose name contains one of these")
    parser.add_argument("--cells", type=Path, help="file of finished cells, to resume a run")
    parser.add_argument("--write", action="store_true", help=f"also write it into {PAGE}")
    options = parser.parse_args()
    causes = [c for c in CAUSES if not options.causes or any(n in c.name for n in options.causes)]
    verdicts = read_cells(options.cells)
    finished = {(v.cause, v.size, v.seed) for v in verdicts}
    with suppress(KeyboardInterrupt):
        for seed, size in product(options.seeds, options.sizes):
            left = [c for c in causes if (c.name, size, seed) not in finished]
            for verdict in judge_world(size, seed, left):
                verdicts.append(verdict)
                sys.stderr.write(f"{size} seed {seed} {verdict.cause}: {verdict.said}\n")
                if options.cells:
                    with options.cells.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(verdict)) + "\n")
    table = as_table(verdicts, options.sizes)
    sys.stdout.write(f"{table}\n")
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        head, rest = text.split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    expected = {c.name for c in CAUSES if c.check}
    wrong = [v for v in verdicts if v.said == ("clear" if v.cause in expected else "false")]
    return 1 if wrong else 0


def read_cells(path: Path | None) -> list[Verdict]:
    """Read the finished cells; an unterminated last line is cut off."""
    if path is None or not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        path.write_text(text, encoding="utf-8")
    cells = (json.loads(line) for line in text.splitlines())
    return [Verdict(**{**cell, "named": tuple(cell["named"])}) for cell in cells]


def judge_world(size: str, seed: int, causes: list[Cause]) -> Iterator[Verdict]:
    """Yield the verdict of each cause planted in one world."""
    if not causes:
        return
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(Path(folder), size, seed)
        for cause in causes:
            yield laboratory.judge(cause)


def as_table(verdicts: list[Verdict], sizes: list[str]) -> str:
    """One row per cause; a cell counts what the checks said of its worlds."""
    lines = [
        f"| planted | check | {' | '.join(f'{size} impressions' for size in sizes)} |",
        f"|---|---|{'---|' * len(sizes)}",
    ]
    for cause in CAUSES:
        cells = []
        for size in sizes:
            said = Counter(v.said for v in verdicts if (v.cause, v.size) == (cause.name, size))
            cells.append(", ".join(f"{said[k]} {v}" for k, v in SAID.items() if said[k]))
        if any(cells):
            check = f"`{cause.check}`" if cause.check else "world"
            lines.append(f"| {cause.name} | {check} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", describe_seeds(verdicts)])


def describe_seeds(verdicts: list[Verdict]) -> str:
    """Say which worlds were judged, and on which ones the checks were tuned."""
    planted = {v.seed for v in verdicts if v.cause != UNCHANGED}
    unchanged = {v.seed for v in verdicts} - planted
    named = ", ".join(map(str, sorted(planted)))
    more = f" (row *{UNCHANGED}*: also {format_ranges(unchanged)})" if unchanged else ""
    return f"Seeds {named}{more}; the checks were tuned on seeds 0 to 4."


def format_ranges(numbers: set[int]) -> str:
    """Format numbers as ranges: `10 to 12, 20`."""
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    pairs = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in pairs)


if __name__ == "__main__":
    sys.exit(main())
