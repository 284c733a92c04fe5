"""An import or a classification that is killed leaves the old state or the new one."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.collection.releases import write
from tests.tasks.classification.helpers import define
from tests.tasks.classification.posts import PostWorld, simulate_posts
from tests.thorough import ALL

KILLS = 20 if ALL else 4
TREC = "<DOC>\n<DOCNO>doc{n}</DOCNO>\n<TEXT>\nLa page {n} parle d'eau.\n</TEXT>\n</DOC>\n"
CODE = "from builder.cli import main; main()"


def _import_of(folder: Path) -> list[str]:
    pages = "".join(TREC.format(n=n) for n in range(3000))
    for month in ("2022-06", "2022-07"):
        write(folder / f"r/Trec/{month}_fr/a.trec", pages)
        write(folder / f"r/{month}_queries.txt", "".join(f"{n}\tmot {n}\n" for n in range(200)))
        write(folder / f"r/{month}_qrels.txt", "".join(f"{n} 0 {n} 1\n" for n in range(200)))
    return ["import", str(folder / "r"), "--layout", "longeval-web", "--out"]


def _classification_of(folder: Path) -> list[str]:
    posts = simulate_posts(PostWorld(posts=6000, authors=1500))
    posts.drop("truth").write_ndjson(folder / "posts.jsonl")
    return ["classification", "build", str(define(folder)), "--out"]


def _run(command: list[str], out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *command, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _sums(version: Path) -> str | None:
    """The sums of a version, if it is whole; None where there is none."""
    if not version.exists():
        return None
    checked = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
    subprocess.run(checked, cwd=version, check=True)
    return (version / "SHA256SUMS").read_text()


@pytest.mark.parametrize(
    ("prepare", "version"), [(_import_of, "1.0.0"), (_classification_of, "0.1.0")]
)
def test_a_kill_leaves_the_old_state_or_the_new_one(
    prepare: object, version: str, tmp_path: Path
) -> None:
    command = prepare(tmp_path)  # type: ignore[operator]
    started = time.monotonic()
    assert _run(command, tmp_path / "whole").wait() == 0
    seconds = time.monotonic() - started
    wanted = _sums(tmp_path / "whole" / version)
    rng = random.Random(39)
    out = tmp_path / "out"
    for _ in range(KILLS):
        process = _run(command, out)
        time.sleep(seconds * rng.uniform(0.3, 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert _sums(out / version) in (None, wanted)
        shutil.rmtree(out / version, ignore_errors=True)
    assert _run(command, out).wait() == 0
    assert _sums(out / version) == wanted
    assert [path.name for path in (out / ".work").iterdir()] == ["lock"]


def test_of_two_imports_at_once_one_is_refused(tmp_path: Path) -> None:
    command = _import_of(tmp_path)
    runs = [_run(command, tmp_path / "out") for _ in range(2)]
    said = [run.communicate()[0].decode() for run in runs]
    codes = [run.returncode for run in runs]
    assert sorted(code == 0 for code in codes) == [False, True]
    refused = said[codes.index(next(code for code in codes if code))]
    assert "another build or import of this collection is running" in refused or "exists" in refused
    assert _sums(tmp_path / "out/1.0.0") is not None
