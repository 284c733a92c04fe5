"""Renders the Jinja2 templates of reports; text is escaped unless it is already markup.

All HTML reports of the project are built from these templates, never by joining strings.
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
"""Content of an element: markup, text, a number, None, or an iterable of these."""


@cache
def template_environment() -> Environment:
    """Return the Jinja2 environment with the templates of this package."""
    return Environment(
        loader=PackageLoader("builder.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_macro(name: str, *values: Any, **named: Any) -> Markup:
    """Call a macro of `parts.html` and return its markup."""
    macro = getattr(template_environment().get_template("parts.html").module, name)
    return Markup(macro(*values, **named))  # noqa: S704 - macros escape their values


def join_markup(*content: Content) -> Markup:
    """Escape and concatenate pieces of content; None is skipped."""
    return Markup().join(_flatten(content))


def _flatten(content: Iterable[Content]) -> Iterable[Markup]:
    for item in content:
        if isinstance(item, str | int):
            yield escape(item)
        elif item is not None:
            yield from _flatten(item)


def render_page(
    title: str,
    heading: str,
    subtitle: str,
    contents: Sequence[tuple[str, str]],
    body: Content,
    footer: str,
) -> str:
    """Render a complete HTML document that works offline and in light and dark mode.

    A content security policy blocks every request, and every script except the one of the page.

    Args:
        title: Window title.
        heading: Page heading.
        subtitle: Line below the heading.
        contents: Identifier and label of each section, for navigation.
        body: Sections.
        footer: Text at the end of the page.
    """
    script, style = (read_template_file(name) for name in ("report.js", "report.css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        template_environment()
        .get_template("page.html")
        .render(
            title=title,
            heading=heading,
            subtitle=subtitle,
            contents=contents,
            body=join_markup(body),
            footer=footer,
            script=Markup(script),  # noqa: S704 - a file of this package
            style=Markup(style),  # noqa: S704 - a file of this package
            policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        )
    )


def read_template_file(name: str) -> str:
    """Return the text of a file in the template folder, such as `report.css`."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
