"""The crawl of a snapshot: every page of the index as it is then, some fetched twice."""

import gzip
import html
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson

from builder.runtime.executors import map_partitions
from builder.runtime.limits import Limits
from builder.simulation.calendar import Month
from builder.simulation.draw import mix, unit
from builder.simulation.evolution import pages_until, states
from builder.simulation.faults import CRAWL_KINDS, Fault, with_faults
from builder.simulation.files import gzip_file
from builder.simulation.pages import url_of, write_page
from builder.simulation.parameters import Simulation

BLOCK = 2000
EXTENSIONS = {"jsonl": "jsonl.gz", "qwant": "jsonl.gz", "warc": "warc.gz"}
Done = Callable[[int], None]


class Fetch(NamedTuple):
    """A page as fetched."""

    page: int
    url: str
    time: int
    title: str
    text: str


def crawl_name(params: Simulation, month: Month) -> str:
    """Path of a snapshot's crawl in the world's folder."""
    return f"crawls/{month.name}.{EXTENSIONS[params.crawl_format]}"


def write_crawl(
    out: Path,
    params: Simulation,
    snapshot: int,
    month: Month,
    noted: list[Fault],
    done: Done,
    limits: Limits,
) -> None:
    """Write the crawl of a snapshot; faulty lines are noted. Executors write pages by blocks."""
    name = crawl_name(params, month)
    fetches = _fetches(params, snapshot, month, done, limits)
    if params.crawl_format == "warc":
        _write_warc(out / name, fetches)
        return
    record = _qwant if params.crawl_format == "qwant" else _plain
    lines = (orjson.dumps(record(fetch)) for fetch in fetches)
    seed = mix(params.seed, snapshot, 21)
    with gzip_file(out / name) as file:
        for line in with_faults(lines, name, seed, params.malformed_rate, CRAWL_KINDS, noted):
            file.write(line + b"\n")


def _fetches(
    params: Simulation, snapshot: int, month: Month, done: Done, limits: Limits
) -> Iterator[Fetch]:
    last = pages_until(params, snapshot)
    blocks = [(start, min(start + BLOCK, last)) for start in range(0, last, BLOCK)]
    task = partial(_fetch_block, params, snapshot, month)
    for (start, stop), fetches in zip(blocks, map_partitions(task, blocks, limits), strict=True):
        yield from fetches
        done(stop - start)


def _fetch_block(
    params: Simulation,
    snapshot: int,
    month: Month,
    block: tuple[int, int],
    limits: Limits,  # noqa: ARG001 - every task is given them
) -> list[Fetch]:
    """What is fetched of the pages of a block, in their order."""
    pages = np.arange(*block, dtype=np.uint64)
    state = states(params, pages, snapshot)
    found = []
    for index in np.flatnonzero(state.alive).tolist():
        page = block[0] + index
        url = url_of(params, page, int(state.moves[index]))
        text = write_page(params, page, int(state.versions[index]), int(state.edits[index]))
        time = month.start + 86_400 + mix(params.seed, page, snapshot, 22) % (20 * 86_400)
        if unit(params.seed, page, snapshot, 23) < params.refetched:
            early = text.text + "\nPage en travaux."
            found.append(Fetch(page, url, time - 3600, text.title[0], early))
        found.append(Fetch(page, url, time, text.title[0], text.text))
    return found


def _plain(fetch: Fetch) -> dict[str, object]:
    return {"url": fetch.url, "timestamp": fetch.time, "title": fetch.title, "text": fetch.text}


def _qwant(fetch: Fetch) -> dict[str, object]:
    return {
        "url": fetch.url,
        "content": f"{fetch.title}\n{fetch.text}",
        "created_at": fetch.time - 86_400,
        "last_updated_at": fetch.time,
    }


def _write_warc(path: Path, fetches: Iterator[Fetch]) -> None:
    """One gzip member a record, as WARC 1.1 asks for; now and then a page that is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for fetch in fetches:
            file.write(gzip.compress(_record(fetch, "200 OK", _html(fetch)), 3, mtime=0))
            if fetch.page % 50 == 7:
                gone = fetch._replace(url=fetch.url + "/ancienne")
                body = b"<html><body><h1>Page introuvable</h1></body></html>"
                file.write(gzip.compress(_record(gone, "404 Not Found", body), 3, mtime=0))


def _record(fetch: Fetch, status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
    http = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    digits = f"{mix(fetch.page, fetch.time, len(fetch.url)):016x}{mix(fetch.time):016x}"
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    date = datetime.fromtimestamp(fetch.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    header = (
        "WARC/1.1\r\nWARC-Type: response\r\n"
        f"WARC-Target-URI: {fetch.url}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: <urn:uuid:{'-'.join(parts)}>\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(http)}\r\n\r\n"
    )
    return header.encode() + http + b"\r\n\r\n"


def _html(fetch: Fetch) -> bytes:
    body = []
    for line in fetch.text.split("\n"):
        text = html.escape(line.removeprefix("- "))
        body.append(f"<li>{text}</li>" if line.startswith("- ") else f"<p>{text}</p>")
    return (
        '<!DOCTYPE html>\n<html lang="fr"><head><meta charset="utf-8">'
        f"<title>{html.escape(fetch.title)}</title></head><body>\n"
        '<header><nav><a href="/">Accueil</a> <a href="/contact">Contact</a></nav></header>\n'
        f"<main><article><h1>{html.escape(fetch.title)}</h1>\n" + "\n".join(body) + "\n"
        "</article></main>\n<footer>Mentions légales, plan du site, cookies</footer></body></html>"
    ).encode()
