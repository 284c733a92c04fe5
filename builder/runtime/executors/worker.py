"""The program of a worker process: takes calls from its parent, and answers each.

In: the file descriptor of a socket. A message is a pair of a function and its argument; the answer
is `(True, result)` or `(False, exception)`. The process ends when its parent closes the socket or
dies, whatever it is doing.
"""

import os
import select
import signal
import traceback
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any


def serve(descriptor: int) -> None:
    """Answer calls until the parent closes the socket; Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    connection: Connection[Any, Any] = Connection(descriptor)
    while True:
        answer = _answer(connection)
        try:
            connection.send(answer)
        except OSError:
            os._exit(1)
        except Exception as error:
            what = f"{answer[1]!r:.200} cannot be sent: {error}"
            connection.send((False, RuntimeError(what)))


def _end_with_parent(descriptor: int) -> None:
    """End the process when the other end of the socket is closed."""
    closed = select.poll()
    closed.register(descriptor, 0)
    closed.poll()
    os._exit(1)


def _answer(connection: "Connection[Any, Any]") -> tuple[bool, Any]:
    """The next call's result, or its exception with the traceback as a note."""
    try:
        call, item = connection.recv()
        return True, call(item)
    except BaseException as error:
        error.add_note("".join(traceback.format_tb(error.__traceback__)))
        return False, error
