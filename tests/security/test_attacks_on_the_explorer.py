"""Attacks on `longeval explore`: hostile collections, browsers that are led astray, requests."""

import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from starlette.types import ASGIApp

import builder
from builder import BuildReport
from builder.errors import DataError
from builder.explore import open_collection_source
from builder.explore.application import MAX_URL_LENGTH, create_application
from builder.explore.runs import load_runs
from builder.explore.statements import Statement
from tests.explore.client import PORT, Answer, Reader, ask
from tests.security.explorer import HOSTILE, RUN, hostile_copy, hostile_runs

Explored = tuple[Path, ASGIApp]


@pytest.fixture(scope="module")
def hostile(built: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explored]:
    """A hostile collection, and the application of it."""
    folder = tmp_path_factory.mktemp("hostile")
    copy = hostile_copy(built.version, folder)
    source = open_collection_source(copy)
    load_runs(source, hostile_runs(built.version, folder / "runs"))
    source.restrict_access()
    yield copy, create_application(source, PORT)
    source.close()


def _addresses(version: Path) -> list[str]:
    collection = builder.open_collection(version)
    query = collection.table("queries_map").collect()["query_id"][0]
    page = collection.table("document_changes").collect().filter(status="updated")["doc_id"][0]
    lists = ["/", "/queries", "/pages", "/changes", "/changes?kind=queries", "/changes?kind=qrels"]
    return [*lists, "/systems", "/rejects", "/terms", f"/query/{query}", f"/page/{page}"]


def test_texts_of_a_collection_stay_texts_in_the_explorer(hostile: Explored) -> None:
    version, app = hostile
    for address in _addresses(version):
        answer = ask(app, address)
        read = Reader(answer.text)
        assert answer.status == 200, address
        assert {"img", "b"} & set(read.tags) == set(), address
        assert read.tags.count("script") == 1  # the explorer's own file
        assert not [name for name in read.attributes if name.startswith("on")], address
        if address.startswith(("/query/", "/page/")):
            assert "{{7*7}}" in answer.text  # no template takes it for an expression
        assert not [link for link in read.links if link[:1] not in ("/", "#")], address


def test_parameters_stay_texts_in_the_explorer(hostile: Explored) -> None:
    _, app = hostile
    for name in ("text", "snapshot", "sort", "group", "page", "x", RUN):
        answer = ask(app, f"/queries?{name}={HOSTILE}".replace(";", "%3B").replace("&", "%26"))
        assert answer.status in (200, 400)
        assert {"img", "b"} & set(Reader(answer.text).tags) == set()


def test_the_explorer_runs_no_script_but_its_own(hostile: Explored) -> None:
    version, app = hostile
    for address in [*_addresses(version), "/nothing", "/static/explore.js"]:
        answer = ask(app, address)
        policy = dict(
            part.strip().split(" ", 1)
            for part in answer.headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
        if address.startswith("/static"):
            continue
        read = Reader(answer.text)
        assert '<script src="/static/explore.js" defer></script>' in answer.text
        assert "style" not in read.tags
        assert "http://" not in "".join(read.links)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        f"127.0.0.1:{PORT + 1}",
        "127.0.0.1",
        f"0.0.0.0:{PORT}",
        f"localhost:{PORT}@evil.example",
        "",
    ],
)
def test_other_host_names_are_refused_by_the_explorer(hostile: Explored, host: str) -> None:
    _, app = hostile
    answer = ask(app, "/queries", host=host)
    assert answer.status == 403
    assert "Queries of" not in answer.text
    for known in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"):
        assert ask(app, "/terms", host=f"{known}:{PORT}").status == 200
    twice = ((b"host", b"evil.example"),)
    assert ask(app, "/terms", headers=twice).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_the_explorer_only_reads(hostile: Explored, method: str) -> None:
    version, app = hostile
    assert ask(app, "/", method=method).status == 405
    for statement in (
        "CREATE TABLE t AS SELECT 1",
        "COPY (SELECT 1) TO 'written'",
        "ATTACH 'written.db'",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
    ):
        source = open_collection_source(version)
        source.restrict_access()
        if statement.startswith("CREATE"):
            source.fetch_rows(Statement(statement))  # in the memory of the engine alone
        else:
            with pytest.raises(DataError):
                source.fetch_rows(Statement(statement))
        source.close()
    assert not list(Path.cwd().glob("written*"))


@pytest.mark.parametrize(
    "address",
    [
        "/query/../../../../etc/passwd",
        "/query/%2e%2e%2fmanifest.json",
        "/page/..%2f..%2fmanifest.json",
        "/static/../application.py",
        "/static/%2e%2e/%2e%2e/pyproject.toml",
        "/static/report.css",
        "//etc/passwd",
        "/manifest.json",
        "/query/",
        "/page/q%00",
        "/page/%ff",
        "/query/' OR 1=1 --",
        "/query/q%27%3BDROP",
    ],
)
def test_addresses_are_no_paths_in_the_explorer(hostile: Explored, address: str) -> None:
    _, app = hostile
    answer = ask(app, address)
    assert answer.status == 404
    assert "root:" not in answer.text
    assert "sha256" not in answer.text


def test_the_explorer_reads_no_file_outside_the_collection(
    hostile: Explored, tmp_path: Path
) -> None:
    version, _ = hostile
    secret = tmp_path / "secret.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(secret)
    source = open_collection_source(version)
    source.restrict_access()
    for path in (secret, Path("/etc/passwd"), version / ".." / ".." / "secret.parquet"):
        for reader in ("read_parquet", "read_text", "read_csv"):
            with pytest.raises(DataError):
                source.fetch_rows(Statement(f"SELECT * FROM {reader}($path)", {"path": str(path)}))
    source.close()


def test_huge_parameters_are_refused_by_the_explorer(hostile: Explored) -> None:
    _, app = hostile
    assert ask(app, "/queries?text=" + "a" * MAX_URL_LENGTH).status == 414
    assert ask(app, "/query/" + "a" * MAX_URL_LENGTH).status == 414
    assert ask(app, "/queries?text=" + "a" * 201).status == 400
    assert ask(app, "/queries?text=%00%1b").status == 400
    assert ask(app, "/queries?page=" + "9" * 100).status == 400
    assert ask(app, "/query/" + "a" * 201).status == 404
    assert ask(app, "/queries?" + "&".join(f"text={n}" for n in range(200))).status == 200


def test_two_hundred_requests_at_once_are_answered(hostile: Explored) -> None:
    version, app = hostile
    addresses = _addresses(version)
    with ThreadPoolExecutor(200) as pool:
        barrier = threading.Barrier(200, timeout=60)

        def one(number: int) -> Answer:
            barrier.wait()
            return ask(app, addresses[number % len(addresses)])

        answers = list(pool.map(one, range(200)))
    assert {answer.status for answer in answers} == {200}


def test_a_damaged_table_is_a_page_of_the_explorer(built: BuildReport, tmp_path: Path) -> None:
    shutil.copytree(built.version, tmp_path / "1.0.0")
    queries = tmp_path / "1.0.0/snapshots/2022-07/queries.parquet"
    whole = queries.read_bytes()
    qrels = tmp_path / "1.0.0/snapshots/2022-07/qrels.parquet"
    middle = bytearray(qrels.read_bytes())
    middle[len(middle) // 4 : len(middle) // 2] = b"\xff" * (len(middle) // 2 - len(middle) // 4)
    queries.write_bytes(whole[: len(whole) // 2])
    source = open_collection_source(tmp_path)
    source.restrict_access()
    app = create_application(source, PORT)
    answer = ask(app, "/queries")
    assert answer.status == 500
    assert "queries.parquet" in answer.text
    assert "Traceback" not in answer.text
    assert ask(app, "/pages").status == 200
    queries.write_bytes(whole)
    assert ask(app, "/queries").status == 200  # mended: the server lived
    qrels.write_bytes(bytes(middle))
    key = builder.open_collection(tmp_path).table("queries_map").collect()["query_id"][0]
    assert ask(app, f"/query/{key}").status in (200, 500)
    assert ask(app, "/terms").status == 200
    source.close()


def test_a_drift_file_is_not_believed_by_the_explorer(built: BuildReport, tmp_path: Path) -> None:
    shutil.copytree(built.version, tmp_path / "1.0.0")
    for content in ("{", "[]", "{}", json.dumps({"snapshots": [], "pairs": 1, "checks": "x"})):
        (tmp_path / "1.0.0/drift.json").write_text(content, encoding="utf-8")
        source = open_collection_source(tmp_path)
        source.restrict_access()
        app = create_application(source, PORT)
        answer = ask(app, "/")
        assert answer.status == 500, content
        assert "Traceback" not in answer.text
        assert ask(app, "/queries").status == 200
        source.close()


def test_the_explorer_listens_on_this_machine_alone() -> None:
    from builder.explore.serve import bind_socket

    with bind_socket(0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"
