"""The web application: routes, and what guards them.

In: a source. Out: an ASGI application that answers GET and HEAD of known addresses, for the host
names of this machine alone. Every error is a page, and every answer forbids what is not its own.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from builder.errors import DataError, LongEvalError, UsageError
from builder.explore import (
    changes,
    documents,
    overview,
    page,
    queries,
    query,
    rejects,
    systems,
    terms,
)
from builder.explore.asked import ID, Asked
from builder.explore.render import Page, assets, document
from builder.explore.source import Source
from builder.reporting.parts import paragraph

POLICY = (
    "default-src 'none'; style-src 'self'; style-src-attr 'unsafe-inline'; script-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No script but the file of this package; attributes of style contain numbers of charts."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
HOSTS = ("127.0.0.1", "localhost", "[::1]")
MOST_ADDRESS = 2048
"""Bytes of a path with its parameters."""

View = Callable[[Source, Asked], Page]
Item = Callable[[Source, Asked, str], Page]


def application(source: Source, port: int) -> ASGIApp:
    """The application of a collection.

    Args:
        source: The collection.
        port: The port that browsers name.
    """
    lists: Mapping[str, View] = {
        "/": overview.overview,
        "/queries": queries.queries,
        "/pages": documents.pages,
        "/changes": changes.changes,
        "/systems": systems.systems,
        "/rejects": rejects.rejects,
        "/terms": terms.terms,
    }
    single: Mapping[str, Item] = {"/query/{id}": query.query, "/page/{id}": page.page}
    name = f"{source.collection.name} {source.collection.version}"
    routes = [Route(path, _listed(source, view, name)) for path, view in lists.items()]
    routes += [Route(path, _single(source, item, name)) for path, item in single.items()]
    routes.append(Route("/static/{name}", _asset))

    def failed(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of Starlette
        return _error(error, name)

    handlers: Any = dict.fromkeys((HTTPException, LongEvalError, Exception), failed)
    return Guard(Starlette(routes=routes, exception_handlers=handlers), port, name)


def _listed(source: Source, view: View, name: str) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        asked = Asked(request.url.path, request.query_params)
        return HTMLResponse(document(view(source, asked), name))

    return answer


def _single(source: Source, item: Item, name: str) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        key = request.path_params["id"]
        if not ID.fullmatch(key):
            raise HTTPException(404)
        asked = Asked(request.url.path, request.query_params)
        return HTMLResponse(document(item(source, asked, key), name))

    return answer


def _asset(request: Request) -> Response:
    found = assets().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    kind, content = found
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})


TITLES = {
    400: "This address asks for something that is not there",
    403: "This host name is not served",
    404: "There is no such page",
    405: "This server only reads",
    414: "This address is too long",
    500: "This cannot be shown",
    503: "This cannot be shown now",
}
ADVICE = {
    403: "Open the address that `longeval explore` printed.",
    404: "The collection has nothing under this address.",
    405: "Pages are asked for with GET or HEAD alone.",
    414: f"Addresses have at most {MOST_ADDRESS:,} bytes.",
    500: "An error that was not expected; the terminal has more about it.",
}


def _error(error: Exception, name: str) -> Response:
    """An error as a page."""
    if isinstance(error, HTTPException):
        status, text = error.status_code, ADVICE.get(error.status_code, "")
        if error.status_code == 404 and error.detail not in ("", "Not Found"):
            text = error.detail
    elif isinstance(error, UsageError):
        status, text = 400, str(error)
    elif isinstance(error, DataError):
        status, text = 500, str(error)
    else:
        status, text = 500, ADVICE[500]
    return _page(status, text, name)


def _page(status: int, text: str, name: str) -> Response:
    title = TITLES.get(status, "This cannot be shown")
    shown = Page(title, f"Error {status}", paragraph(text, "calm"), "")
    return HTMLResponse(document(shown, name), status_code=status)


class Guard:
    """Lets requests of this machine's browser through, and sets the headers of every answer.

    Args:
        app: The application.
        port: The port that browsers name.
        name: The collection, for pages of errors.
    """

    def __init__(self, app: ASGIApp, port: int, name: str) -> None:
        self._app = app
        self._name = name
        self._hosts = {f"{host}:{port}" for host in HOSTS} | ({*HOSTS} if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {key for key, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (k.encode(), v.encode())
                        for k, v in HEADERS.items()
                        if k.encode() not in own
                    ),
                ]
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        status = self._refused(scope)
        answer = self._app if status is None else _page(status, ADVICE[status], self._name)
        await answer(scope, receive, guarded)

    def _refused(self, scope: Scope) -> int | None:
        """The status of a request that is not let through."""
        hosts = [value for key, value in scope["headers"] if key == b"host"]
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 403
        if scope["method"] not in ("GET", "HEAD"):
            return 405
        if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_ADDRESS:
            return 414
        return None if re.fullmatch(rb"[\x21-\x7e]*", scope["raw_path"]) else 404
