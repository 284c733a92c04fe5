"""HTML rendering of the explorer, based on the templates and styles of `builder.reporting`.

Builds complete HTML documents with a navigation bar. Text is escaped unless it is `Markup`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from builder.reporting.render import Content, join_markup, read_template_file
from builder.reporting.render import template_environment as report_environment

SECTIONS = (
    ("/", "Overview"),
    ("/queries", "Queries"),
    ("/pages", "Pages"),
    ("/changes", "Changes"),
    ("/systems", "Systems"),
    ("/rejects", "Rejects"),
    ("/terms", "Terms"),
)
"""URL path and label of each entry of the navigation bar."""


@dataclass(frozen=True)
class Page:
    """Content of an HTML page of the explorer.

    Args:
        heading: Heading, also used as the window title.
        lead: Sentence below the heading.
        body: Markup of the sections.
        section: URL path of the navigation bar entry to highlight (see `SECTIONS`).
        parts: Anchor and label of each section, for the links at the top of the page.
    """

    heading: str
    lead: Content
    body: Content
    section: str
    parts: Sequence[tuple[str, str]] = field(default=())


@cache
def template_environment() -> Environment:
    """Return the Jinja2 environment that loads the templates of the explorer and of reports."""
    return report_environment().overlay(
        loader=ChoiceLoader([PackageLoader("builder.explore"), PackageLoader("builder.reporting")])
    )


def render_macro(name: str, *arguments: Any) -> Markup:
    """Render a macro of the template `explore.html` with positional arguments."""
    template_macro = getattr(template_environment().get_template("explore.html").module, name)
    return Markup(template_macro(*arguments))  # noqa: S704 - macros escape their arguments


def link(url: str, text: Content) -> Markup:
    """Render a hyperlink to another page of the explorer."""
    return render_macro("link", url, join_markup(text))


def render_page(page: Page, collection_name: str) -> str:
    """Render a page as a complete HTML document with the collection's name in its header."""
    return (
        template_environment()
        .get_template("layout.html")
        .render(
            page=page,
            lead=join_markup(page.lead),
            body=join_markup(page.body),
            sections=SECTIONS,
            collection=collection_name,
        )
    )


@cache
def static_files() -> dict[str, tuple[str, bytes]]:
    """Return the media type and content of the style sheet and the script, by file name."""
    folder = files(__package__).joinpath("templates")
    style, script = ((folder / f"explore.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return {
        "explore.css": ("text/css", (read_template_file("report.css") + style).encode()),
        "explore.js": ("text/javascript", (read_template_file("report.js") + script).encode()),
    }
