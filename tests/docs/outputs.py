"""Run the code blocks of a manual page in order, and compare the shown outputs with the real ones.

A ```sh block is run by bash, a ```python block by Python; a ```text block shows the output of the
last block before it. A line `...` stands for any number of lines, and `...` in a
line for any characters. Durations, sizes, rates and blank lines at the end may differ. Commands
that a test must not run are ```bash blocks.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

FENCE = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VOLATILE = re.compile(r" *\b[\d.,]*\d(?= ?(?:m?s|min|[kKMG]i?B)(?:/s)?\b)")
"""Numbers followed by a unit of time, size or rate, with the spaces that align them."""
NOT_RUN = ("make ", "git clone", "cd ", "source ")
"""Commands of a fresh clone; CI runs `make` itself."""
END = "-- end of block --"


@dataclass(frozen=True)
class Block:
    """A code block of a page.

    Args:
        language: `sh`, `python` or `text`.
        text: Its lines.
    """

    language: str
    text: str

    def as_bash(self) -> str:
        """Return bash commands that run the block; empty for a block of output."""
        if self.language == "text":
            return ""
        if self.language == "python":
            return f"python - <<'CELL'\n{self.text}CELL\n"
        lines = self.text.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(NOT_RUN))


def read_blocks(page: Path) -> list[Block]:
    """Return the `sh`, `python` and `text` blocks of a page, in order."""
    return [Block(*match.groups()) for match in FENCE.finditer(page.read_text("utf-8"))]


def has_commands(page: Path) -> bool:
    """Return whether a page has shell commands to run."""
    return any(block.language == "sh" and block.as_bash() for block in read_blocks(page))


def run_blocks(blocks: list[Block], folder: Path) -> list[str]:
    """Run blocks in a folder; return for each `text` block what the last block before it wrote.

    Standard output and standard error are one stream, as on a terminal.

    Raises:
        AssertionError: a command failed.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = "".join(f"{block.as_bash()}echo '{END}'\n" for block in blocks)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    written = ["", *done.stdout.split(f"{END}\n")]
    return [written[index] for index, block in enumerate(blocks) if block.language == "text"]


def compare(shown: str, output: str) -> str:
    """Return the unified diff of a shown and a real output; empty if they agree."""
    expected, found = (VOLATILE.sub(" #", text.rstrip()).splitlines() for text in (shown, output))
    if matches(expected, [line.rstrip() for line in found]):
        return ""
    lines = unified_diff(shown.splitlines(), output.splitlines(), "shown", "real", n=1, lineterm="")
    return "\n".join(lines)


def matches(expected: list[str], found: list[str]) -> bool:
    """Return whether lines agree; an expected `...` stands for any lines or any characters."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None
