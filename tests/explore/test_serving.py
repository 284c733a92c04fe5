"""The command: ports, its end, and that nothing is written."""

import errno
import hashlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
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


def test_the_server_says_where_it_listens_and_stops_on_a_signal(
    explored: Path, runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from builder.explore.serve import serve

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    found: list[tuple[str, int, set[str]]] = []

    def browse(url: str) -> None:
        def ask_and_stop() -> None:
            port = int(url.removeprefix("http://127.0.0.1:").removesuffix("/"))
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/systems")
            answer = connection.getresponse()
            names = {name.lower() for name, _ in answer.getheaders()} & {"server", "date"}
            found.append((answer.read().decode(), answer.status, names))
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=ask_and_stop).start()

    serve(explored, runs=runs, port=0, on_ready=browse)
    ((text, status, names),) = found
    assert (status, names) == (200, set())
    assert "Differences by snapshot" in text
    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert after == before
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_not_permitted_is_told_from_one_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    class Socket:
        """A socket that can be bound to port 1030 and above, and to any free port."""

        def bind(self, address: tuple[str, int]) -> None:
            tried.append(address[1])
            if 0 < address[1] < 1030:
                raise PermissionError(errno.EACCES, "Permission denied")

        def getsockname(self) -> tuple[str, int]:
            return "127.0.0.1", tried[-1]

        def __enter__(self) -> "Socket":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def close(self) -> None:
            tried.append(-1)

        def setsockopt(self, *_: object) -> None:
            pass

        def listen(self, _: int) -> None:
            pass

    monkeypatch.setattr(socket, "socket", lambda *_: Socket())
    with pytest.raises(UsageError) as caught:
        bind_socket(943)
    assert str(caught.value) == (
        "--port: 943 is refused (Permission denied); use --port 1030, or --port 0 for any free port"
    )
    assert tried == [943, -1, *range(1024, 1031)]
    tried.clear()
    with pytest.raises(UsageError, match="use --port 0,"):
        bind_socket(80)
    assert tried == [80, -1, 0]
