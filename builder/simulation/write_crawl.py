"""Writes the crawl of a simulated snapshot: all pages in the index, some of them fetched twice."""

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
from builder.runtime.limits import ResourceLimits
from builder.simulation.calendar import Month
from builder.simulation.evolution import count_pages_ever_added, page_states
from builder.simulation.faults import CRAWL_FAULT_KINDS, Fault, insert_malformed_lines
from builder.simulation.files import open_gzip
from builder.simulation.pages import generate_page, page_url
from builder.simulation.parameters import SimulationParameters
from builder.simulation.rng import hash_integers, hash_integers_to_uniform

PAGES_PER_TASK = 2000
EXTENSIONS = {"jsonl": "jsonl.gz", "qwant": "jsonl.gz", "warc": "warc.gz"}


class FetchedPage(NamedTuple):
    """Page version that the crawler fetched.

    Args:
        page: Number of the page.
        url: URL of the page.
        time: Time of the fetch, as Unix time in seconds.
        title: Title of the page, in French.
        text: Text of the page, in French.
    """

    page: int
    url: str
    time: int
    title: str
    text: str


def crawl_path(params: SimulationParameters, month: Month) -> str:
    """Return the path of the crawl file of a month, relative to the output folder."""
    return f"crawls/{month.name}.{EXTENSIONS[params.crawl_format]}"


def write_crawl(
    out: Path,
    params: SimulationParameters,
    snapshot: int,
    month: Month,
    faults: list[Fault],
    on_progress: Callable[[int], None],
    limits: ResourceLimits,
) -> None:
    """Write the crawl of a snapshot.

    Args:
        out: Output folder.
        params: Parameters of the simulation.
        snapshot: Zero-based index of the snapshot.
        month: Month of the snapshot.
        faults: Output list, to which a `Fault` is appended per malformed line.
        on_progress: Function that is called with the number of pages of each finished task.
        limits: Executor and resource limits for generating pages in parallel.
    """
    name = crawl_path(params, month)
    fetches = _generate_fetched_pages(params, snapshot, month, on_progress, limits)
    if params.crawl_format == "warc":
        _write_warc(out / name, fetches)
        return
    to_record = _to_qwant_record if params.crawl_format == "qwant" else _to_json_record
    lines = (orjson.dumps(to_record(fetch)) for fetch in fetches)
    seed = hash_integers(params.seed, snapshot, 21)
    with open_gzip(out / name) as file:
        for line in insert_malformed_lines(
            lines, name, seed, params.malformed_rate, CRAWL_FAULT_KINDS, faults
        ):
            file.write(line + b"\n")


def _generate_fetched_pages(
    params: SimulationParameters,
    snapshot: int,
    month: Month,
    on_progress: Callable[[int], None],
    limits: ResourceLimits,
) -> Iterator[FetchedPage]:
    """Generate the fetched pages of a snapshot in parallel; yield them in order of page number."""
    count = count_pages_ever_added(params, snapshot)
    ranges = [
        (start, min(start + PAGES_PER_TASK, count)) for start in range(0, count, PAGES_PER_TASK)
    ]
    task = partial(_generate_pages_in_range, params, snapshot, month)
    for (start, stop), fetches in zip(ranges, map_partitions(task, ranges, limits), strict=True):
        yield from fetches
        on_progress(stop - start)


def _generate_pages_in_range(
    params: SimulationParameters,
    snapshot: int,
    month: Month,
    page_range: tuple[int, int],
    limits: ResourceLimits,  # noqa: ARG001 - signature of partition tasks
) -> list[FetchedPage]:
    """Return the fetches of all pages that exist in a range of page numbers.

    Args:
        params: Parameters of the simulation.
        snapshot: Zero-based index of the snapshot.
        month: Month of the snapshot.
        page_range: Start and (exclusive) end of the range of page numbers.
        limits: Not used; every partition task takes this parameter.
    """
    pages = np.arange(*page_range, dtype=np.uint64)
    states = page_states(params, pages, snapshot)
    fetches = []
    for index in np.flatnonzero(states.alive).tolist():
        page = page_range[0] + index
        url = page_url(params, page, int(states.moves[index]))
        content = generate_page(params, page, int(states.versions[index]), int(states.edits[index]))
        offset = hash_integers(params.seed, page, snapshot, 22) % (20 * 86_400)
        title, time = content.title[0], month.start + 86_400 + offset
        if hash_integers_to_uniform(params.seed, page, snapshot, 23) < params.refetched:
            earlier_text = content.text + "\nPage en travaux."
            fetches.append(FetchedPage(page, url, time - 3600, title, earlier_text))
        fetches.append(FetchedPage(page, url, time, title, content.text))
    return fetches


def _to_json_record(fetch: FetchedPage) -> dict[str, object]:
    return {"url": fetch.url, "timestamp": fetch.time, "title": fetch.title, "text": fetch.text}


def _to_qwant_record(fetch: FetchedPage) -> dict[str, object]:
    return {
        "url": fetch.url,
        "content": f"{fetch.title}\n{fetch.text}",
        "created_at": fetch.time - 86_400,
        "last_updated_at": fetch.time,
    }


def _write_warc(path: Path, fetches: Iterator[FetchedPage]) -> None:
    """Write fetched pages and some 404 responses to a WARC file; each record is a gzip member."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for fetch in fetches:
            record = _create_warc_record(fetch, "200 OK", _to_html(fetch))
            file.write(gzip.compress(record, 3, mtime=0))
            if fetch.page % 50 == 7:
                missing = fetch._replace(url=fetch.url + "/ancienne")
                body = b"<html><body><h1>Page introuvable</h1></body></html>"
                record = _create_warc_record(missing, "404 Not Found", body)
                file.write(gzip.compress(record, 3, mtime=0))


def _create_warc_record(fetch: FetchedPage, status: str, body: bytes) -> bytes:
    """Create a WARC response record for a fetched page with the given HTTP status and body."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
    http = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    high, low = hash_integers(fetch.page, fetch.time, len(fetch.url)), hash_integers(fetch.time)
    digits = f"{high:016x}{low:016x}"
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


def _to_html(fetch: FetchedPage) -> bytes:
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
