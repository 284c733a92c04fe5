"""The definitions of `docs/public-logs.md`, on the lines of its own commands."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.ingest import ingest_log
from builder.ingest.logs.pyclick import read_result_pages
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import key64

PAGE = Path(__file__).parents[3] / "docs/public-logs.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
EVER = Interval(1_100_000_000, 2_000_000_000)
Pages = list[tuple[str, list[str], list[int]]]

EXPECTED: dict[str, tuple[Pages, dict[str, int]]] = {
    "aol": (
        [
            ("solar oven plans", ["http://sun.example/", "http://www.oven.example/"], [1, 2]),
            ("back yard telescope", ["http://sky.example/"], [1]),
        ],
        {"no_results": 1},
    ),
    "sogou": (
        [
            ("数码相机", ["http://www.lens.example/", "http://photo.example/cameras.html"], [1, 2]),
            ("天气预报", ["http://weather.example/"], [1]),
        ],
        {},
    ),
    "yandex": (
        [
            ("17", [f"https://yandex.example/{n}" for n in (101, 102, 103)], [2, 1]),
            ("18", ["https://yandex.example/101"], []),
        ],
        {},
    ),
    "yandex-2014": (
        [("17", ["https://yandex.example/101", "https://yandex.example/102"], [2])],
        {"clicks_withheld": 1},
    ),
    "thuir": (
        [
            ("21", [f"https://tiangong.example/{n}" for n in (70, 71, 72)], [2]),
            ("22", [f"https://tiangong.example/{n}" for n in (71, 73)], []),
        ],
        {},
    ),
    "pyclick": (
        [
            ("98_1", [f"https://pyclick.example/{n}" for n in (232, 688, 167)], [2, 1]),
            ("98_1", [f"https://pyclick.example/{n}" for n in (232, 182)], []),
        ],
        {"click_not_shown": 1},
    ),
    "trec": (
        [
            ("tidal power", ["http://sea.example/", "http://moon.example/"], [2]),
            ("tidal power cost", ["http://sea.example/cost"], []),
        ],
        {},
    ),
    "matomo": (
        [("rain coat", [f"https://shop.example/coats/{n}" for n in (7, 2)], [1, 2])],
        {},
    ),
    "elastic": (
        [
            ("heat pump", ["https://a.example/1", "https://a.example/2"], [2]),
            ("heat pump price", ["https://a.example/3"], []),
        ],
        {},
    ),
}
"""Query, URLs and clicked ranks of each impression, and rejects by reason."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files that the page writes; `tests/docs` also runs `longeval` there."""
    folder = tmp_path_factory.mktemp("public")
    script = ["longeval() { :; }", *BLOCK.findall(PAGE.read_text("utf-8"))]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(script)],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_log_of_the_page_is_expected(written: Path) -> None:
    assert {path.stem for path in written.glob("*.toml")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_impressions_of_public_logs(written: Path, tmp_path: Path, name: str) -> None:
    found, reasons = _ingested(written / f"{name}.log", tmp_path, _section(written, name))
    pages, rejects = EXPECTED[name]
    folded = [(key64(query), [key64(url) for url in urls], clicks) for query, urls, clicks in pages]
    assert sorted(found) == sorted(folded)
    assert reasons == rejects


def _section(folder: Path, name: str) -> dict[str, Any]:
    """`[log]` of a definition of the page."""
    found: dict[str, Any] = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))["log"]
    return found


def _ingested(
    log: Path, folder: Path, section: dict[str, Any]
) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Surface, results and clicks of each impression, and the rejects by reason."""
    for name in ("out", "scratch"):
        (folder / name).mkdir()
    ledger = ingest_log(
        folder / "out",
        files=[Source(log, log.name)],
        interval=EVER,
        params=LogParameters.model_validate(section),
        limits=ResourceLimits(folder / "scratch", threads=1),
        progress=NoProgress(),
    )
    impressions = pl.read_parquet(folder / "out/impressions")
    return impressions.select("surface", "results", "clicks").rows(), dict(ledger.rejected)


@pytest.mark.parametrize(
    ("name", "pages"),
    [("train_per_query_quid.txt", 2872), ("valid_per_query_quid.txt", 361)],
)
def test_a_real_file_of_thuir(
    written: Path, tmp_path: Path, shared: Path, name: str, pages: int
) -> None:
    log = shared / "click-logs" / name
    found, reasons = _ingested(log, tmp_path, _section(written, "thuir"))
    assert (len(found), reasons) == (pages, {})
    assert 0.6 < sum(not clicks for _, _, clicks in found) / pages < 0.8


def test_malformed_pyclick_pages(tmp_path: Path) -> None:
    good = "1\t5,6 : 6"
    lines = [f"{good}; ; no tab; 1\t5,6; 1\t5,,6 : 5;1\t5:6:7", good, "1\t : ", f"{good}\xff"]
    lines.append("1\t5\t6 : 5")
    (tmp_path / "log").write_bytes("\n".join(lines).encode("latin-1"))
    section = {"format": "pyclick", "undated": "start", "address": "https://a.example/{id}"}
    found, reasons = _ingested(tmp_path / "log", tmp_path, section)
    assert [clicks for _, _, clicks in found] == [[2], [2]]
    assert reasons == {"bad_action": 4, "bad_results": 1, "no_results": 1, "not_utf8": 1}


def test_result_pages_of_pyclick_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"1\t5, 6 :6,5,7;2\t: \n" + b"x" * 30 + b"\n\n3\t5 :\n")
    params = LogParameters(max_line_bytes=29)
    assert list(read_result_pages(Source(path, "log"), EVER, params)) == [
        (1, {"query": "1", "results": ["5", "6"], "clicks": [2, 1, 0]}),
        (2, {"query": "2", "results": [], "clicks": []}),
        (3, "line_too_long"),
        (4, {"query": "3", "results": ["5"], "clicks": []}),
    ]
