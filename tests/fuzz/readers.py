"""All readers of ingestion under damage: nothing crashes, nothing hangs, no record is lost."""

import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from builder.errors import LongEvalError
from builder.ingest import ingest_crawl, ingest_log
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.simulation import SimulationParameters, simulate
from tests.fuzz.differential import LONG_FORMS
from tests.fuzz.log_records import GOOD, ONE, TWO, long_rows
from tests.fuzz.mutations import mutate

INTERVAL = Interval(0, 2**40)
BY_ID = {"address": "https://a.example/works/{id}"}
SETTINGS: dict[str, dict[str, Any]] = {
    "log-flags": BY_ID | {"click_form": "flags"},
    "log-flags-parquet": BY_ID | {"click_form": "flags"},
    "log-ids": BY_ID | {"click_form": "ids"},
    "log-sessions": BY_ID | {"columns": ["user", "query", "time", "results", "clicks"]},
    "crawl-ids": BY_ID,
    "crawl-html": BY_ID | {"text_format": "html"},
}
"""Parameters of kinds that are not read with the defaults."""
ALLOWED = {"empty": "allow", "clickless": "allow"}
"""So that the account of a log without impressions or clicks is checked, too."""
SLOWEST = 10.0
"""Seconds of computing after which an input counts as one that hangs, however busy the machine."""


def seeds(folder: Path) -> dict[str, bytes]:
    """One small valid file of every kind; those of crawls begin with `crawl`."""
    found: dict[str, bytes] = {}
    for number, (crawl, log) in enumerate((("jsonl", "jsonl"), ("qwant", "parquet"), ("warc", ""))):
        world = folder / str(number)
        options = {"documents": 6, "queries": 4, "impressions": 6, "snapshots": 1}
        kinds = {"crawl_format": crawl, "log_format": log or "jsonl"}
        simulate(world, SimulationParameters.model_validate({**options, **kinds}))
        (page_file,) = (world / "crawls").iterdir()
        (log_file,) = (world / "logs").iterdir()
        found[f"crawl-{crawl}"] = _unpacked(page_file)
        found[f"crawl-{crawl}-packed"] = page_file.read_bytes()
        found[f"log-{log or 'again'}"] = _unpacked(log_file)
    rows = [("5", "u", "eau", "https://a.example/1 https://a.example/2", "2")] * 3
    for name, mark in (("csv", ","), ("tsv", "\t")):
        lines = [("time", "user", "query", "results", "clicks"), *rows]
        found[f"log-{name}"] = "\n".join(mark.join(cells) for cells in lines).encode()
    found["log-long"] = b"time\tquery\turl\trank\n1\teau\thttps://a.example/\t1\n"
    hit = b'{"time":1,"user":"u","query":"eau","url":"https://a.example/%d","rank":%d}\n'
    found["log-long-jsonl"] = b"".join(hit % (rank, rank) for rank in (1, 2, 3))
    found["log-yandex"] = b"0\t0\tQ\t17\t0\t1\t2\n0\t3\tC\t2\n1\t0\tQ\t18\t0\t9\n"
    found |= _by_ids(folder)
    found |= _long_and_encoded()
    frame = pl.DataFrame({"url": ["https://a.example/"], "timestamp": [1], "text": ["Un texte."]})
    frame.write_parquet(folder / "c.parquet")
    found["crawl-parquet"] = (folder / "c.parquet").read_bytes()
    return found


def _long_and_encoded() -> dict[str, bytes]:
    """Logs with a row for each result, with objects as results and clicks, and not in UTF-8."""
    records = [
        GOOD | {"user": user, "time": time} for time, user in enumerate(("ada", "bob", None))
    ]
    results = [{"url": ONE, "rank": 1}, {"url": TWO, "rank": 2, "clicked": True}]
    clicks = [{"url": TWO, "time": 9}, {"rank": 1, "time": 3}]
    table = f"time,user,query,results,clicks\n5,é,été,{ONE},1\n6,,crêpe,{TWO},\n"
    return {
        **{f"log-long-{form}-rows": long_rows(records, form) for form in LONG_FORMS},
        "log-objects": orjson.dumps(GOOD | {"results": results, "clicks": clicks}) + b"\n",
        **{f"log-{name}": table.encode(name) for name in ("latin-1", "utf-16", "gb18030")},
    }


def _by_ids(folder: Path) -> dict[str, bytes]:
    """Files that name documents by ids, and clicks in other forms; see `SETTINGS`."""
    page = {"time": 1, "user": "u", "query": "eau", "results": [7, 2, 9], "clicks": [0, 1, 0]}
    pl.DataFrame([page] * 3).write_parquet(folder / "flags.parquet")
    paper = {"url": 7, "timestamp": 1, "title": "Eau", "text": "", "content": "<p>De l'eau.</p>"}
    return {
        "log-flags": b"".join(orjson.dumps(page) + b"\n" for _ in range(3)),
        "log-flags-parquet": (folder / "flags.parquet").read_bytes(),
        "log-ids": b"".join(orjson.dumps(page | {"clicks": [9, 7]}) + b"\n" for _ in range(3)),
        "log-sessions": b"0,eau,1970-01-01 00:00:05,\"[7, 2]\",\"[('2', 'works')]\"\n" * 3,
        "crawl-ids": b"".join(orjson.dumps(paper) + b"\n" for _ in range(3)),
        "crawl-html": b"".join(orjson.dumps(paper) + b"\n" for _ in range(3)),
    }


def _unpacked(path: Path) -> bytes:
    import gzip

    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def read(kind: str, data: bytes) -> RowLedger | LongEvalError:
    """Ingest one input; its account, or the error that refuses all of it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        path = folder / "input"
        path.write_bytes(data)
        for part in ("out", "scratch"):
            (folder / part).mkdir()
        limits = ResourceLimits(folder / "scratch", threads=1, memory=2**29)
        files = [Source(path, "input")]
        common = {"files": files, "interval": INTERVAL, "limits": limits, "progress": NoProgress()}
        try:
            given = SETTINGS.get(kind, {})
            if kind.startswith("crawl"):
                crawl = CrawlParameters.model_validate(given)
                ledger = ingest_crawl(folder / "out", params=crawl, **common)  # type: ignore[arg-type]
            else:
                log = LogParameters.model_validate(ALLOWED | given)
                ledger = ingest_log(folder / "out", params=log, **common)  # type: ignore[arg-type]
        except LongEvalError as error:
            return error
        ledger.check(kind)
        rejects = pl.read_parquet(folder / "out/rejects.parquet")
        assert rejects["rows"].sum() == sum(ledger.rejected.values())
        return ledger


def try_all(originals: dict[str, bytes], count: int, first: int = 0) -> dict[str, int]:
    """Read mutated inputs of every kind in turn; how they ended."""
    kinds = sorted(originals)
    ends = {"accepted or rejected by record": 0, "refused": 0}
    for seed in range(first, first + count):
        kind = kinds[seed % len(kinds)]
        data = mutate(originals[kind], seed)
        begun = time.process_time()
        try:
            found = read(kind, data)
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {type(error).__name__}: {error}") from error
        assert time.process_time() - begun < SLOWEST, f"{kind}, seed {seed} hangs"
        refused = isinstance(found, LongEvalError)
        ends["refused" if refused else "accepted or rejected by record"] += 1
    return ends
