"""The explorer: the first byte of its pages next to bare DuckDB for the same rows.

A version with generated pages, queries and judgements, served by the command in a process of its
own. The peer executes the statements of a page on the same files, over plain views, in this
process. Both read files that the system has cached; each figure is the median of `ROUNDS`, in turn.

Run it as `python -m tests.bench explore`.
"""

import http.client
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from builder.explore import CollectionSource, open_collection_source
from builder.explore.changes import changes_page
from builder.explore.document import document_page
from builder.explore.page_request import PageRequest
from builder.explore.queries import queries_page
from builder.explore.query import query_page
from builder.explore.statements import Row as Found
from builder.explore.statements import Statement
from tests.bench.explored import write_version

ROUNDS = 7
Row = dict[str, object]


def run_bench(quick: bool = False) -> list[Row]:
    """One row per page: name, seconds, peer, peer_seconds, ratio, note."""
    pages, asked = (4000, 200) if quick else (1_500_000, 20_000)
    with tempfile.TemporaryDirectory() as name:
        version = write_version(Path(name), pages, asked)
        return bench_pages(version)


def bench_pages(version: Path) -> list[Row]:
    """The pages of a version."""
    source = Recorder(open_collection_source(version).collection)
    key = str(source.fetch_scalar(Statement("SELECT query_id FROM queries_map LIMIT 1 OFFSET 77")))
    doc = str(source.fetch_scalar(Statement(CHANGED)))
    journeys: dict[str, tuple[str, Any]] = {
        "a query": (f"/query/{key}", lambda a: query_page(source, a, key)),
        "a page with its difference": (f"/page/{doc}", lambda a: document_page(source, a, doc)),
        "a filtered list": (
            "/changes?status=updated&degree=rewritten",
            lambda a: changes_page(source, a),
        ),
        "a search": ("/queries?text=abc", lambda a: queries_page(source, a)),
    }
    command = [sys.executable, "-m", "builder", "explore", str(version), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        port = int(found[1])
        rows = [
            _row(name, address, port, source.record(view, address))
            for name, (address, view) in journeys.items()
        ]
        peak = _peak(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    for row in rows:
        row["note"] = f"{row['note']}, server's peak {peak / 2**20:.0f} MiB"
    return rows


CHANGED = """
SELECT doc_id FROM document_changes WHERE band = 'rewritten' ORDER BY doc_id LIMIT 1 OFFSET 55
"""


class Recorder(CollectionSource):
    """A source that keeps the statements that pages ask."""

    def __init__(self, collection: Any) -> None:
        super().__init__(collection)
        self.asked: list[Statement] = []

    def rows(self, statement: Statement) -> list[Found]:
        """The rows, as usual."""
        self.asked.append(statement)
        return super().rows(statement)

    def record(self, view: Any, address: str) -> "Bare":
        """The statements of a page, ready to be executed on bare files."""
        path, _, given = address.partition("?")
        self.asked = []
        view(PageRequest(path, dict(part.split("=") for part in given.split("&") if part)))
        return Bare(self, self.asked)


class Bare:
    """Statements over plain views in a DuckDB of its own."""

    def __init__(self, source: CollectionSource, statements: list[Statement]) -> None:
        self._connection = duckdb.connect()
        self._last = []
        for statement in statements:
            *views, last = source.script(statement).removesuffix(";").split(";\n")
            for view in views:
                self._connection.execute(view)
            self._last.append(last)

    def __call__(self) -> int:
        """Execute all of them; returns the number of rows."""
        return sum(len(self._connection.execute(one).fetchall()) for one in self._last)


def _row(name: str, address: str, port: int, bare: Bare) -> Row:
    own, peer = [], []
    rows = 0
    for number in range(ROUNDS + 1):
        start = time.perf_counter()
        rows = bare()
        middle = time.perf_counter()
        first = _first_byte(port, address)
        if number:  # the first round warms both
            peer.append(middle - start)
            own.append(first)
    seconds, other = statistics.median(own), statistics.median(peer)
    return {
        "name": name,
        "seconds": round(seconds, 4),
        "peer": "the same statements in bare DuckDB",
        "peer_seconds": round(other, 4),
        "ratio": round(seconds / other, 2),
        "note": f"{rows} rows",
    }


def _first_byte(port: int, address: str) -> float:
    """Seconds until the first byte of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    connection.request("GET", address)
    answer = connection.getresponse()
    answer.read(1)
    seconds = time.perf_counter() - start
    assert answer.status == 200, address
    answer.read()
    connection.close()
    return seconds


def _peak(process: int) -> int:
    """Peak resident memory of a process in bytes, where the system says."""
    try:
        text = Path(f"/proc/{process}/status").read_text("ascii")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else 0
