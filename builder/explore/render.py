"""Pages of the explorer: the report kit's style and parts, in a frame with navigation.

In: markup and texts. Out: a whole HTML document; every text is escaped unless it is markup.
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
"""Address and label of each section, in the navigation."""


@dataclass(frozen=True)
class Page:
    """What a route shows.

    Args:
        heading: The heading, and the title of the window.
        lead: A sentence below it.
        body: Sections.
        section: The address of `SECTIONS` that it belongs to.
        parts: Identifier and label of its sections, for links within the page.
    """

    heading: str
    lead: Content
    body: Content
    section: str
    parts: Sequence[tuple[str, str]] = field(default=())


@cache
def environment() -> Environment:
    """The templates of this package and those of the report kit."""
    return report_environment().overlay(
        loader=ChoiceLoader([PackageLoader("builder.explore"), PackageLoader("builder.reporting")])
    )


def macro(name: str, *values: Any) -> Markup:
    """What a macro of `explore.html` makes of values."""
    found = getattr(environment().get_template("explore.html").module, name)
    return Markup(found(*values))  # noqa: S704 - macros escape their values


def link(address: str, text: Content) -> Markup:
    """A link within the explorer."""
    return macro("link", address, join_markup(text))


def document(page: Page, collection: str) -> str:
    """The whole HTML document of a page."""
    return (
        environment()
        .get_template("layout.html")
        .render(
            page=page,
            lead=join_markup(page.lead),
            body=join_markup(page.body),
            sections=SECTIONS,
            collection=collection,
        )
    )


@cache
def assets() -> dict[str, tuple[str, bytes]]:
    """Style and scripts by name, each with its media type."""
    own = files(__package__).joinpath("templates")
    style, script = ((own / f"explore.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return {
        "explore.css": ("text/css", (read_template_file("report.css") + style).encode()),
        "explore.js": ("text/javascript", (read_template_file("report.js") + script).encode()),
    }
