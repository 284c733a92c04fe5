"""Imports and classification builds that are killed, and what must hold of what they leave.

`make faults` kills each 60 times (`__main__.py`); the tests kill it twice. The seed is fixed.
"""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.collection.releases import write
from tests.tasks.classification.helpers import define
from tests.tasks.classification.posts import PostWorld, simulate_posts

TREC = "<DOC>\n<DOCNO>doc{n}</DOCNO>\n<TEXT>\nLa page {n} parle d'eau.\n</TEXT>\n</DOC>\n"
PAGES = 1500
CODE = "from builder.cli import main; main()"


@dataclass(frozen=True)
class Publishing:
    """A command that publishes a version.

    Args:
        prepare: Writes its inputs into a folder, and returns its arguments without the output.
        version: The version that it publishes.
    """

    prepare: Callable[[Path], list[str]]
    version: str


def _prepare_import(folder: Path) -> list[str]:
    pages = "".join(TREC.format(n=n) for n in range(PAGES))
    for month in ("2022-06", "2022-07"):
        write(folder / f"r/Trec/{month}_fr/a.trec", pages)
        write(folder / f"r/{month}_queries.txt", "".join(f"{n}\tmot {n}\n" for n in range(200)))
        write(folder / f"r/{month}_qrels.txt", "".join(f"{n} 0 {n} 1\n" for n in range(200)))
    return ["import", str(folder / "r"), "--layout", "longeval-web", "--out"]


def _prepare_classification(folder: Path) -> list[str]:
    posts = simulate_posts(PostWorld(posts=6000, authors=1500))
    posts.drop("truth").write_ndjson(folder / "posts.jsonl")
    return ["classification", "build", str(define(folder)), "--out"]


COMMANDS = {
    "import": Publishing(_prepare_import, "1.0.0"),
    "classification": Publishing(_prepare_classification, "0.1.0"),
}


def start(command: list[str], out: Path) -> subprocess.Popen[bytes]:
    """Run a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *command, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def whole_sums(version: Path) -> str | None:
    """`SHA256SUMS` of a version whose files all have these sums; None where there is no version.

    Raises:
        CalledProcessError: A file is missing or differs.
    """
    if not version.exists():
        return None
    checked = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
    subprocess.run(checked, cwd=version, check=True)
    return (version / "SHA256SUMS").read_text()


@dataclass(frozen=True)
class KilledRuns:
    """What kills of a command left.

    Args:
        kills: How many of the runs were killed; the others were through before.
        new: After how many runs the new version was there.
        broken: What was wrong, one line per run.
        twice: What was wrong with the last two runs, which were at once; see `run_twice`.
    """

    kills: int
    new: int
    broken: tuple[str, ...]
    twice: str | None


def kill_runs(publishing: Publishing, folder: Path, count: int, seed: int) -> KilledRuns:
    """Kill a command at random moments, and look at the version that each kill leaves.

    At last it runs twice at once and is not killed: it must publish the same bytes, without
    leftovers.
    """
    folder.mkdir(exist_ok=True)
    command = publishing.prepare(folder)
    begun = time.monotonic()
    start(command, folder / "whole").communicate()
    seconds = time.monotonic() - begun
    wanted = whole_sums(folder / "whole" / publishing.version)
    out, rng = folder / "out", random.Random(seed)
    killed, new, broken = 0, 0, []
    for _ in range(count):
        process = start(command, out)
        time.sleep(seconds * rng.uniform(0.3, 1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode != 0
        try:
            left = whole_sums(out / publishing.version)
        except (OSError, subprocess.CalledProcessError) as error:
            left = str(error)
        new += left == wanted
        if left not in (None, wanted):
            broken.append(f"after a kill: {left}")
        shutil.rmtree(out / publishing.version, ignore_errors=True)
    twice = _run_both(command, out, publishing.version)
    if whole_sums(out / publishing.version) != wanted:
        broken.append("the last runs published other bytes")
    left_over = sorted(path.name for path in (out / ".work").iterdir())
    if left_over != [".gitignore", "lock"]:
        broken.append(f"leftovers: {left_over}")
    return KilledRuns(killed, new, tuple(broken), twice)


def run_twice(publishing: Publishing, folder: Path) -> str | None:
    """Run a command twice at once on one folder; what is wrong, or None.

    One of them must publish; the other is refused, or finds the version there.
    """
    folder.mkdir(exist_ok=True)
    return _run_both(publishing.prepare(folder), folder / "out", publishing.version)


def _run_both(command: list[str], out: Path, version: str) -> str | None:
    runs = [start(command, out) for _ in range(2)]
    said = [run.communicate()[0].decode() for run in runs]
    codes = [run.returncode for run in runs]
    expected = (
        "another build or import of this collection is running",
        "already exists",
        "nothing to do",
    )
    if 0 not in codes:
        return f"both failed: {said}"
    if whole_sums(out / version) is None:
        return "no version was published"
    others = [text for text in said if any(words in text for words in expected)]
    return None if others else f"neither was refused: {said}"
