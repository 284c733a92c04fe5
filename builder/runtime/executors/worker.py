"""Main loop of a worker process: receives calls from its parent and sends the results.

The parent passes a connection as a file descriptor. Each message is a pair of a function and its
argument; the reply is `(True, result)` or `(False, exception)`. The process exits as soon as the
parent closes the connection or dies, even during a call.
"""

import os
import select
import signal
import traceback
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any


def serve_calls(descriptor: int) -> None:
    """Run calls received from the parent process until it closes the connection."""
    from builder.runtime.executors.frames import register_arrow_pickling

    register_arrow_pickling()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_when_parent_exits, args=(descriptor,), daemon=True).start()
    connection: Connection[Any, Any] = Connection(descriptor)
    while True:
        reply = _run_next_call(connection)
        try:
            connection.send(reply)
        except OSError:
            os._exit(1)
        except Exception as error:
            message = f"cannot pickle the result {reply[1]!r:.200}: {error}"
            connection.send((False, RuntimeError(message)))


def _exit_when_parent_exits(descriptor: int) -> None:
    """Exit the process once the parent has closed the connection."""
    poll = select.poll()
    poll.register(descriptor, 0)
    poll.poll()
    os._exit(1)


def _run_next_call(connection: "Connection[Any, Any]") -> tuple[bool, Any]:
    """Receive a call, run it, and return (True, result) or (False, exception)."""
    try:
        call, item = connection.recv()
        return True, call(item)
    except BaseException as error:
        error.add_note("".join(traceback.format_tb(error.__traceback__)))
        return False, error
