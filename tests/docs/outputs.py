"""Run the code blocks of a manual page in order, and compare the shown outputs with the real ones.

A ```sh block is run by bash, a ```python block by Python; a ```text block shows the output of the
last block before it. Lines that only call `longeval` are run in this process, which saves most of
their time. A line `...` stands for any number of lines, and `...` in a line for any characters.
Durations, sizes, rates and blank lines at the end may differ. Commands that a test must not run are
```bash blocks.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest

from builder.cli import main

FENCE = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VOLATILE = re.compile(r" *\b[\d.,]*\d(?= ?(?:m?s|min|[kKMG]i?B)(?:/s)?\b)")
"""Numbers followed by a unit of time, size or rate, with the spaces that align them."""
NOT_RUN = ("make ", "git clone", "cd ", "source ")
"""Commands of a fresh clone; CI runs `make` itself."""
PLAIN = re.compile(r"(^longeval (?:[^\\\n|&;<>$`*?()]|\\\n)+\n)", re.MULTILINE)
"""A call of `longeval` that needs no shell; it may be continued on the next line."""


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
    shown, written = [], ""
    with chdir(folder):
        for block in blocks:
            if block.language == "text":
                shown.append(written)
            else:
                written = "".join(_run_commands(block.as_bash()))
    return shown


def _run_commands(script: str) -> Iterator[str]:
    """Run a bash script, one part after another; yield what each part writes."""
    for part in PLAIN.split(script):
        if PLAIN.fullmatch(part):
            yield _run_longeval(shlex.split(part)[1:])
        elif part.strip():
            yield _run_bash(part)


def _run_longeval(arguments: list[str]) -> str:
    """Run the program in this process; return what it writes."""
    stream = io.BytesIO()
    output = io.TextIOWrapper(stream, "utf-8", write_through=True)
    with redirect_stdout(output), redirect_stderr(output), pytest.raises(SystemExit) as end:
        main(arguments)
    written = stream.getvalue().decode()
    assert not end.value.code, written[-4000:]
    return written


def _run_bash(script: str) -> str:
    """Run a script in a new process; return what it writes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


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
