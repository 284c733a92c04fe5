"""Web server of the explorer, which listens on 127.0.0.1 until the user interrupts it."""

import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from builder.errors import UsageError
from builder.explore.source import open_collection_source
from builder.extras import import_optional_module

HOST = "127.0.0.1"
PORTS_TO_TRY = 100
"""Number of ports to try above an occupied port, to find a free port to suggest."""


def serve(
    collection: Path,
    *,
    runs: Path | None = None,
    port: int = 8717,
    on_ready: Callable[[str], None],
) -> None:
    """Serve a collection until Ctrl-C or SIGTERM.

    Args:
        collection: Version folder, or collection folder, whose highest version is served.
        runs: Run file, or folder of run files; None to show no runs. The name of a run file, or of
            its folder, must contain the name of the snapshot.
        port: Port of 127.0.0.1; 0 for any free port.
        on_ready: Function that is called with the URL of the explorer once the port is bound.

    Raises:
        UsageError: The folder has no published collection, or the port is in use.
        MissingExtraError: The extra [explore] is not installed.
    """
    uvicorn = import_optional_module("uvicorn", "longeval explore", "explore")
    import_optional_module("starlette", "longeval explore", "explore")
    from builder.explore.application import create_application

    source = open_collection_source(collection)
    try:
        if runs is not None:
            from builder.explore.runs import load_runs

            load_runs(source, runs)
        source.restrict_access()
        with bind_socket(port) as bound:
            number = bound.getsockname()[1]
            config = uvicorn.Config(
                create_application(source, number),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                date_header=False,
                h11_max_incomplete_event_size=16_384,
                limit_concurrency=512,
                ws="none",
                http="h11",
                loop="asyncio",
            )
            server = uvicorn.Server(config)
            on_ready(f"http://{HOST}:{number}/")
            server.capture_signals = lambda: _stop_on_signal(server, source.stop_statements)
            logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
            server.run(sockets=[bound])
    finally:
        source.close()


def bind_socket(port: int) -> socket.socket:
    """Return a socket that listens on a port of 127.0.0.1.

    Raises:
        UsageError: The port is in use or not permitted; the message suggests a free port.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        why = "in use" if error.errno == errno.EADDRINUSE else f"refused ({error.strerror})"
        raise UsageError(
            f"--port: {port} is {why}; use --port {_find_free_port(port)}, or --port 0 for any "
            "free port"
        ) from None
    return bound


def _find_free_port(port: int) -> int:
    """Return a free port, if possible one that is slightly above the given port."""
    for number in (*range(max(port, 1023) + 1, min(port + PORTS_TO_TRY, 65_536)), 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((HOST, number))
                tried.listen(1)
            except OSError:
                continue
            return int(tried.getsockname()[1])
    return 0


@contextmanager
def _stop_on_signal(server: Any, interrupt_statements: Callable[[], None]) -> Iterator[None]:
    """Stop the server on Ctrl-C or SIGTERM while the context is active.

    The server does not wait for open requests to finish.

    Args:
        server: Uvicorn server.
        interrupt_statements: Function that interrupts running SQL statements.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle_stop_signal(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal handler
        server.should_exit = True
        server.force_exit = True
        interrupt_statements()

    previous = {
        number: signal.signal(number, handle_stop_signal)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
