"""Ask the explorer without a socket, and read what it answers."""

import asyncio
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Message

PORT = 8717


@dataclass
class Answer:
    """What the application answers."""

    status: int
    headers: dict[str, str]
    text: str


def ask(
    app: ASGIApp,
    address: str,
    method: str = "GET",
    host: str = f"127.0.0.1:{PORT}",
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> Answer:
    """Send one request; the address may hold any character."""
    path, _, query = address.partition("?")
    raw = quote(path, safe="/%:.-_~!$&'()*+,;=@[]").encode()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw.decode()),
        "raw_path": raw,
        "query_string": quote(query, safe="=&%+").encode(),
        "headers": [(b"host", host.encode()), *headers],
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    start = sent[0]
    names = {key.decode(): value.decode() for key, value in start["headers"]}
    body = b"".join(m.get("body", b"") for m in sent[1:])
    return Answer(start["status"], names, body.decode())


@dataclass
class Table:
    """A table of a page: caption, headings, and the texts of its cells."""

    caption: str = ""
    heads: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def records(self) -> list[dict[str, str]]:
        """Rows by heading."""
        return [dict(zip(self.heads, row, strict=True)) for row in self.rows]


class Reader(HTMLParser):
    """Reads tables, links, forms of copies and elements out of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.copies: list[dict[str, str]] = []
        self.facts: dict[str, str] = {}
        self._label = ""
        self._stack: list[tuple[str, str, list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes |= given.keys()
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a":
            self.links.append(given.get("href", ""))
        if tag == "table":
            self.tables.append(Table())
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag in ("td", "th", "caption", "pre", "dt", "dd", "option"):
            self._stack.append((tag, given.get("aria-label", ""), []))

    def handle_data(self, data: str) -> None:
        if self._stack:
            self._stack[-1][2].append(data)

    def handle_endtag(self, tag: str) -> None:
        if not self._stack or self._stack[-1][0] != tag:
            return
        _, label, parts = self._stack.pop()
        text = "".join(parts)
        if tag == "caption":
            self.tables[-1].caption = text
        elif tag in ("td", "th"):
            self.tables[-1].rows[-1].append(text.strip())
        elif tag == "pre" and label:
            name, _, form = label.rpartition(" as ")
            if form == "Polars":
                self.copies.append({"caption": name})
            self.copies[-1][form] = text
        elif tag == "dt":
            self._label = text
        elif tag == "dd":
            self.facts[self._label] = text

    def table(self, caption: str) -> Table:
        """The table with a caption; its first row becomes the headings."""
        (found,) = [t for t in self.tables if t.caption == caption]
        if not found.heads:
            found.heads = found.rows.pop(0)
        return found


def number(text: str) -> Any:
    """A number of a cell; None for a dash."""
    plain = text.replace(",", "").replace("\N{MINUS SIGN}", "-").removesuffix(" %")
    return None if plain == "\N{EN DASH}" else float(plain)


def table_rows(app: ASGIApp, address: str, caption: str) -> list[list[str]]:
    """The rows of the table with a caption, and its headings before them; none without it."""
    answer = ask(app, address)
    assert answer.status == 200
    tables = [table for table in Reader(answer.text).tables if table.caption == caption]
    return tables[0].rows if tables else []
