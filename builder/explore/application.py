"""ASGI application of the explorer: routes, error pages and security checks.

Answers GET and HEAD requests whose Host header names this machine. Errors are shown as HTML pages,
and every response has a strict content security policy.
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
from builder.explore.changes import changes_page
from builder.explore.document import document_page
from builder.explore.documents import documents_page
from builder.explore.overview import overview_page
from builder.explore.page_request import ID, PageRequest
from builder.explore.queries import queries_page
from builder.explore.query import query_page
from builder.explore.rejects import rejects_page
from builder.explore.render import Page, render_page, static_files
from builder.explore.source import CollectionSource
from builder.explore.systems import systems_page
from builder.explore.terms import terms_page
from builder.reporting.parts import paragraph

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; style-src-attr 'unsafe-inline'; script-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy that allows only the explorer's own scripts, style sheets and forms."""
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""HTTP headers added to every response that does not set them itself."""
HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Host names of this machine that the Host header of a request may contain."""
MAX_URL_LENGTH = 2048
"""Maximum total length of the path and query string of a URL, in bytes."""

PageFunction = Callable[[CollectionSource, PageRequest], Page]
ItemPageFunction = Callable[[CollectionSource, PageRequest, str], Page]


def create_application(source: CollectionSource, port: int) -> ASGIApp:
    """Create the ASGI application for a collection.

    Args:
        source: Connection to the collection.
        port: Port that the Host header of every request must contain.
    """
    pages: Mapping[str, PageFunction] = {
        "/": overview_page,
        "/queries": queries_page,
        "/pages": documents_page,
        "/changes": changes_page,
        "/systems": systems_page,
        "/rejects": rejects_page,
        "/terms": terms_page,
    }
    item_pages: Mapping[str, ItemPageFunction] = {
        "/query/{id}": query_page,
        "/page/{id}": document_page,
    }
    name = f"{source.collection.name} {source.collection.version}"
    routes = [Route(path, _create_page_handler(source, page, name)) for path, page in pages.items()]
    routes += [
        Route(path, _create_item_handler(source, page, name)) for path, page in item_pages.items()
    ]
    routes.append(Route("/static/{name}", _serve_static_file))

    def handle_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - Starlette
        return _error_response(error, name)

    handlers: Any = dict.fromkeys((HTTPException, LongEvalError, Exception), handle_error)
    application = Starlette(routes=routes, exception_handlers=handlers)
    return RequestGuard(application, port, name)


def _create_page_handler(
    source: CollectionSource, build_page: PageFunction, collection_name: str
) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        page_request = PageRequest(request.url.path, request.query_params)
        return HTMLResponse(render_page(build_page(source, page_request), collection_name))

    return handle


def _create_item_handler(
    source: CollectionSource, build_page: ItemPageFunction, collection_name: str
) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        key = request.path_params["id"]
        if not ID.fullmatch(key):
            raise HTTPException(404)
        page_request = PageRequest(request.url.path, request.query_params)
        return HTMLResponse(render_page(build_page(source, page_request, key), collection_name))

    return handle


def _serve_static_file(request: Request) -> Response:
    file = static_files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    media_type, content = file
    return Response(content, media_type=media_type, headers={"cache-control": "no-cache"})


ERROR_TITLES = {
    400: "Bad request",
    403: "Unknown host name",
    404: "Page not found",
    405: "Method not allowed",
    414: "URL too long",
    500: "Internal error",
    503: "Service unavailable",
}
"""Heading of the error page for each HTTP status."""
ADVICE = {
    403: "Open the URL that `longeval explore` printed.",
    404: "The explorer has no page at this URL.",
    405: "Only GET and HEAD requests are allowed.",
    414: f"The maximum length of a URL is {MAX_URL_LENGTH:,} bytes.",
    500: "An unexpected error occurred; see the terminal for details.",
}
"""Text of the error page by HTTP status, for errors whose own message is not shown."""


def _error_response(error: Exception, collection_name: str) -> Response:
    """Return an HTML error page for an exception, with the matching HTTP status."""
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
    return _status_response(status, text, collection_name)


def _status_response(status: int, text: str, collection_name: str) -> Response:
    title = ERROR_TITLES.get(status, "Error")
    page = Page(title, f"Error {status}", paragraph(text, "calm"), "")
    return HTMLResponse(render_page(page, collection_name), status_code=status)


class RequestGuard:
    """ASGI middleware that rejects invalid requests and unknown hosts, and sets security headers.

    Args:
        app: Application to protect.
        port: Port that the Host header of every request must contain.
        collection_name: Name and version of the collection, for error pages.
    """

    def __init__(self, app: ASGIApp, port: int, collection_name: str) -> None:
        self._app = app
        self._collection_name = collection_name
        self._hosts = {f"{host}:{port}" for host in HOSTS} | ({*HOSTS} if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
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

        status = self._rejection_status(scope)
        response = self._app
        if status is not None:
            response = _status_response(status, ADVICE[status], self._collection_name)
        await response(scope, receive, send_with_headers)

    def _rejection_status(self, scope: Scope) -> int | None:
        """Return the HTTP status with which to reject a request; None to accept the request."""
        hosts = [value for key, value in scope["headers"] if key == b"host"]
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 403
        if scope["method"] not in ("GET", "HEAD"):
            return 405
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_URL_LENGTH:
            return 414
        return None if re.fullmatch(rb"[\x21-\x7e]*", scope["raw_path"]) else 404
