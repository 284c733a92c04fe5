"""What attacks have in common: a clock that stops what hangs, readers, forged files."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builder import BuildReport
from builder.ingest import ingest_crawl, ingest_log
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress

ROOT = Path(__file__).parents[2]
ANY = Interval(0, 2**40)
SCRIPT = "<script>alert(1)</script>"
Captured = pytest.CaptureFixture[str]


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Stop what hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read_log(folder: Path, data: bytes, name: str = "log", **params: object) -> RowLedger:
    """Ingest a log, which may be without an impression or a click."""
    (folder / name).write_bytes(data)
    for part in ("out", "scratch"):
        (folder / part).mkdir(exist_ok=True)
    return ingest_log(
        folder / "out",
        files=[Source(folder / name, name)],
        interval=ANY,
        params=LogParameters.model_validate({"empty": "allow", "clickless": "allow", **params}),
        limits=ResourceLimits(folder / "scratch", 1, 2**29),
        progress=NoProgress(),
    )


def read_crawl(folder: Path, data: bytes) -> RowLedger:
    """Ingest a crawl."""
    (folder / "crawl").write_bytes(data)
    for part in ("out", "scratch"):
        (folder / part).mkdir(exist_ok=True)
    return ingest_crawl(
        folder / "out",
        files=[Source(folder / "crawl", "crawl")],
        interval=ANY,
        params=CrawlParameters(interval="ignore"),
        limits=ResourceLimits(folder / "scratch", 1, 2**29),
        progress=NoProgress(),
    )


def definition(folder: Path, world: Path, before: str, after: str) -> Path:
    """The definition of a world with one text changed."""
    for name in ("logs", "crawls", "topics.tsv"):
        (folder / name).symlink_to(world / name)
    path = folder / "workflow.toml"
    text = (world / "workflow.toml").read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    return path


def forged(built: BuildReport, folder: Path, change: dict[str, object]) -> Path:
    """A version whose manifest has other values."""
    assert built.version is not None
    version = folder / "version"
    version.mkdir()
    manifest = json.loads((built.version / "manifest.json").read_text())
    manifest |= change
    (version / "manifest.json").write_text(json.dumps(manifest))
    return version
