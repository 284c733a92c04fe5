"""Jinja2 templates of the package: every text is escaped unless it is markup already.

In: texts, numbers and markup. Out: markup. Nothing else in the project builds reports of strings.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

Content: TypeAlias = "str | int | Iterable[Content] | None"
"""What an element may hold: markup, text, numbers, nothing, or any of these in sequence."""


@cache
def environment() -> Environment:
    """The templates of this package."""
    return Environment(
        loader=PackageLoader("builder.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def part(name: str, *values: Any, **named: Any) -> Markup:
    """What a macro of `parts.html` makes of values."""
    macro = getattr(environment().get_template("parts.html").module, name)
    return Markup(macro(*values, **named))  # noqa: S704 - macros escape their values


def join(*content: Content) -> Markup:
    """Content one after another; None is nothing."""
    return Markup().join(_flat(content))


def _flat(content: Iterable[Content]) -> Iterable[Markup]:
    for item in content:
        if isinstance(item, str | int):
            yield escape(item)
        elif item is not None:
            yield from _flat(item)


def page(
    title: str,
    heading: str,
    subtitle: str,
    contents: Sequence[tuple[str, str]],
    body: Content,
    footer: str,
) -> str:
    """A whole HTML document that works offline, in light and dark, with sortable tables.

    A content security policy forbids every request, and every script but the page's own.

    Args:
        title: Title of the window.
        heading: Heading of the page.
        subtitle: One line below it.
        contents: Identifier and label of each section, for the navigation.
        body: Sections.
        footer: Text at the end.
    """
    script, style = (template_file(name) for name in ("report.js", "report.css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            heading=heading,
            subtitle=subtitle,
            contents=contents,
            body=join(body),
            footer=footer,
            script=Markup(script),  # noqa: S704 - a file of this package
            style=Markup(style),  # noqa: S704 - a file of this package
            policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        )
    )


def template_file(name: str) -> str:
    """A file of the templates, such as `report.css`, as text."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
