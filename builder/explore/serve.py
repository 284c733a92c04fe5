"""Serve the explorer on this machine until it is interrupted.

In: a collection, a port. Out: nothing; the address is handed to a function once it answers.
"""

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
from builder.explore.source import open_source
from builder.extras import import_optional

HOST = "127.0.0.1"
NEAR = 100
"""Ports after a busy one that are tried for the advice."""


def serve(
    collection: Path,
    *,
    runs: Path | None = None,
    port: int = 8717,
    ready: Callable[[str], None],
) -> None:
    """Serve a collection until Ctrl-C or SIGTERM.

    Args:
        collection: A version folder, or a folder above it.
        runs: Run files, named as for `longeval evaluate`; absent: no page about systems.
        port: A port of 127.0.0.1; 0 takes a free one.
        ready: Called with the address as soon as it is bound.

    Raises:
        UsageError: no collection is there, or the port is in use; names a free one.
        MissingExtraError: the extra [explore] is not installed.
    """
    uvicorn = import_optional("uvicorn", "longeval explore", "explore")
    import_optional("starlette", "longeval explore", "explore")
    from builder.explore.application import application

    source = open_source(collection)
    try:
        if runs is not None:
            from builder.explore.runs import load_runs

            load_runs(source, runs)
        source.seal()
        with listen(port) as bound:
            number = bound.getsockname()[1]
            config = uvicorn.Config(
                application(source, number),
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
            ready(f"http://{HOST}:{number}/")
            server.capture_signals = lambda: _stopping(server, source.stop)
            logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
            server.run(sockets=[bound])
    finally:
        source.close()


def listen(port: int) -> socket.socket:
    """A socket bound to a port of this machine alone.

    Raises:
        UsageError: the port is in use, or not allowed; names a free one.
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
            f"--port: {port} is {why}; {_free(port)} is free: --port {_free(port)}, or --port 0 "
            "for any"
        ) from None
    return bound


def _free(port: int) -> int:
    """A port that nobody listens on: one of the next, or any."""
    for number in (*range(max(port, 1023) + 1, min(port + NEAR, 65_536)), 0):
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
def _stopping(server: Any, then: Callable[[], None]) -> Iterator[None]:
    """Stop the server at Ctrl-C and SIGTERM, without waiting for requests that it works on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - of signal
        server.should_exit = True
        server.force_exit = True
        then()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
