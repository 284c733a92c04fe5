"""The program of a worker process: takes calls from its parent, and answers each.

In: the file descriptor of a socket. A message is a pickled pair of a function and its argument; the
answer is `(True, result)` or `(False, exception)`. The process ends when its parent closes the
socket or dies, whatever it is doing.
"""

import os
import pickle
import signal
import traceback
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any


def serve(descriptor: int) -> None:
    """Answer calls until the parent closes the socket; Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(descriptor)
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(connection, messages), daemon=True).start()
    while True:
        _answer(connection, messages.get())


def _receive(connection: "Connection[Any, Any]", messages: "SimpleQueue[bytes]") -> None:
    """Queue messages; end the process when there can be no more."""
    try:
        while True:
            messages.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


def _answer(connection: "Connection[Any, Any]", message: bytes) -> None:
    try:
        call, item = pickle.loads(message)  # noqa: S301 - the parent wrote it
        answer = pickle.dumps((True, call(item)))
    except BaseException as error:
        error.add_note("".join(traceback.format_tb(error.__traceback__)))
        answer = _pickled_error(error)
    connection.send_bytes(answer)


def _pickled_error(error: BaseException) -> bytes:
    """The error, or its text where it cannot be pickled."""
    try:
        return pickle.dumps((False, error))
    except Exception:
        return pickle.dumps((False, RuntimeError(repr(error))))
