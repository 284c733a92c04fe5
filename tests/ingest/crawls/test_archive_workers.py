"""Pages of an archive that other processes read."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from builder.ingest.crawls import fetches
from builder.ingest.crawls.fetches import (
    BodyType,
    FetchBatch,
    FetchedDocument,
    NumberedPage,
    limits_with_parser_pool,
    parse_fetches,
)
from builder.ingest.crawls.warc import read_archive_fetches
from builder.io.sources import Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import ProcessExecutor
from builder.runtime.limits import ResourceLimits

PAGE = "<html><head><title>Page {0}</title></head><body><p>Le texte numéro {0}.</p></body></html>"
RECORDS = 1100
REASONS = {3: "http_404", 5: "not_html", 7: "unknown_encoding"}


def read_warc(
    source: Source, params: CrawlParameters, limits: ResourceLimits
) -> Iterator[NumberedPage]:
    return parse_fetches(read_archive_fetches(source, params), source, params, limits)


@pytest.fixture
def archive(tmp_path: Path) -> Source:
    """Records of which three in ten are no pages, for different reasons."""
    path = tmp_path / "crawl.warc.gz"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number in range(1, RECORDS + 1):
            reason = REASONS.get(number % 10)
            headers = [("Content-Type", "image/png" if reason == "not_html" else "text/html")]
            packed = b"\x1f\x9d" if reason == "unknown_encoding" else b""
            if packed:
                headers.append(("Content-Encoding", "compress"))
            status = "404 Not Found" if reason == "http_404" else "200 OK"
            record = writer.create_warc_record(
                f"https://a.example/{number}",
                "response",
                payload=io.BytesIO(packed + PAGE.format(number).encode()),
                http_headers=StatusAndHeaders(status, headers, protocol="HTTP/1.1"),
                warc_headers_dict={"WARC-Date": "2022-06-15T12:00:00Z"},
            )
            writer.write_record(record)
    return Source(path, path.name)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[ResourceLimits]:
    """Limits of two other processes."""
    workers = ProcessExecutor()
    yield ResourceLimits(tmp_path, threads=2, executor=workers)
    workers.close()


def test_other_processes_read_the_same_pages(archive: Source, elsewhere: ResourceLimits) -> None:
    params = CrawlParameters()
    here = list(read_warc(archive, params, ResourceLimits(elsewhere.scratch, threads=1)))
    assert list(read_warc(archive, params, elsewhere)) == here
    assert [number for number, _ in here] == list(range(1, RECORDS + 1))
    for number, found in here:
        if isinstance(found, str):
            assert found == REASONS[number % 10]
        else:
            assert (found.title, found.url) == (f"Page {number}", f"https://a.example/{number}")
            assert f"numéro {number}." in found.text


def test_large_archives_are_read_by_processes_in_any_case(
    archive: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params, limits = CrawlParameters(), ResourceLimits(tmp_path, threads=2)
    here = list(read_warc(archive, params, limits))
    size = archive.path.stat().st_size
    monkeypatch.setattr(fetches, "MIN_POOL_BYTES", 2 * size)
    with limits_with_parser_pool([archive], limits) as same:
        assert same is limits
    with limits_with_parser_pool([archive, archive], replace(limits, memory=2**28)) as same:
        assert same.executor.in_process
    with limits_with_parser_pool(
        [archive, archive, Source(tmp_path / "absent", "a")], limits
    ) as others:
        assert not others.executor.in_process
        found = [list(read_warc(archive, params, others)) for _ in range(2)]
    assert found == [here, here]


def test_batches_are_bounded(archive: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[FetchBatch] = []

    def note(_: Any, batches: Iterator[FetchBatch], __: ResourceLimits) -> Iterator[list[Any]]:
        held.extend(batches)
        return iter(())

    monkeypatch.setattr(fetches, "map_partitions", note)
    monkeypatch.setattr(fetches, "BATCH_BYTES", 10_000)
    assert list(read_warc(archive, CrawlParameters(), ResourceLimits(Path(), threads=1))) == []
    sizes = [sum(len(f.body) for _, f in b.records if isinstance(f, FetchedDocument)) for b in held]
    assert sum(len(batch.records) for batch in held) == RECORDS
    assert all(10_000 <= size < 10_200 for size in sizes[:-1])


def test_a_batch_is_called_by_its_records() -> None:
    fetch = FetchedDocument("https://a.example/", 0, BodyType.HTML, b"x" * 10_000, None)
    batch = FetchBatch("june.warc.gz", ((12, fetch), (13, "http_404")))
    assert str(batch) == "records 12 to 13 of june.warc.gz"
