"""The command: ports, its end, and that nothing is written."""

import hashlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builder.errors import UsageError
from builder.explore.serve import bind_socket


@contextmanager
def started(
    *arguments: object, cwd: Path | None = None, temporary: Path | None = None
) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """The command, once it serves, with its port."""
    variables = dict(os.environ) | ({"TMPDIR": str(temporary)} if temporary else {})
    command = [sys.executable, "-B", "-m", "builder", "explore", *map(str, arguments)]
    variables["PYTHONPATH"] = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=variables
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(r"http://127\.0\.0\.1:(\d+)/ ", line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()


def get(port: int, address: str) -> int:
    """The status of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", address)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_while_connections_are_open(explored: Path, number: int) -> None:
    with started(explored, "--port", 0) as (process, port):
        assert get(port, "/queries") == 200
        idle = http.client.HTTPConnection("127.0.0.1", port)
        idle.request("GET", "/")
        idle.getresponse().read()
        half = socket.create_connection(("127.0.0.1", port))
        half.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
        half.close()
        idle.close()


def test_a_second_one_on_the_same_port_is_told_which_is_free(explored: Path) -> None:
    with started(explored, "--port", 0) as (_, port):
        with pytest.raises(UsageError) as error:
            bind_socket(port)
        found = re.fullmatch(
            rf"--port: {port} is in use; use --port (\d+), or --port 0 for any free port",
            str(error.value),
        )
        assert found
        with bind_socket(int(found[1])) as other:
            assert other.getsockname()[1] == int(found[1])


def test_nothing_is_written(explored: Path, tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    before = _contents(explored)
    with started(explored, "--port", 0, cwd=home, temporary=temporary) as (process, port):
        for address in ("/", "/queries?text=a", "/pages", "/changes", "/rejects", "/nothing"):
            assert get(port, address) in (200, 404)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
    assert _contents(explored) == before
    assert not list(home.iterdir())
    assert not list(temporary.iterdir())


def _contents(folder: Path) -> dict[Path, str]:
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_no_collection_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "builder", "explore", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "not a published collection" in done.stderr


def test_without_its_extra_it_says_how_to_install_it(
    explored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builder.errors import MissingExtraError
    from builder.explore.serve import serve

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"longeval-builder\[explore\]"):
        serve(explored, on_ready=lambda _: None)
