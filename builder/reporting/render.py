"""Renders the Jinja2 templates of this package: HTML pages and Markdown cards.

All HTML reports, judging pages and dataset cards are built from these templates, never by joining
strings. In HTML, text is escaped unless it is already markup. In Markdown (`*.md`), text is not
escaped, so untrusted text must be formatted as code first.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

Content: TypeAlias = "str | int | Iterable[Content] | None"
"""Content of an HTML element: markup, text, an integer, None, or an iterable of these."""


@cache
def template_environment() -> Environment:
    """Return the Jinja2 environment with the templates of this package."""
    return Environment(
        loader=PackageLoader("builder.reporting"),
        autoescape=select_autoescape(disabled_extensions=("md",), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_macro(name: str, *values: Any, **named: Any) -> Markup:
    """Call a macro of `parts.html` and return its markup."""
    macro = _get_macro("parts.html", name)
    return Markup(macro(*values, **named))  # noqa: S704 - macros escape their values


def _get_macro(template: str, name: str) -> Callable[..., str]:
    macro: Callable[..., str] = getattr(template_environment().get_template(template).module, name)
    return macro


def join_markup(*content: Content) -> Markup:
    """Escape and concatenate pieces of content, skipping None."""
    return Markup().join(_flatten_content(content))


def _flatten_content(content: Iterable[Content]) -> Iterable[Markup]:
    for item in content:
        if isinstance(item, str | int):
            yield escape(item)
        elif item is not None:
            yield from _flatten_content(item)


def render_page(
    title: str,
    heading: str,
    subtitle: str,
    table_of_contents: Sequence[tuple[str, str]],
    body: Content,
    footer: str,
) -> str:
    """Render a complete HTML document that works offline and in light and dark mode.

    A content security policy blocks all requests, and all scripts except the page's inline script.

    Args:
        title: Window title.
        heading: Page heading.
        subtitle: Line below the heading.
        table_of_contents: Identifier and label of each section, for navigation.
        body: Markup of the sections.
        footer: Text at the end of the page.
    """
    return render_html_document(
        "page.html",
        "report",
        "default-src 'none'; style-src 'unsafe-inline'",
        title=title,
        heading=heading,
        subtitle=subtitle,
        contents=table_of_contents,
        body=join_markup(body),
        footer=footer,
    )


def render_html_document(template: str, assets: str, security_policy: str, **values: Any) -> str:
    """Render a self-contained HTML document with an inline style sheet and script.

    Args:
        template: Name of a template that extends `document.html`.
        assets: Name of the style sheet and of the script, without `.css` and `.js`.
        security_policy: Content security policy, to which the hash of the inline script is added.
            `{style}` is replaced by the hash of the style sheet.
        values: Variables of the template.
    """
    style, script = (read_template_file(f"{assets}.{kind}") for kind in ("css", "js"))
    allowed = f"{security_policy.format(style=_csp_hash(style))}; script-src {_csp_hash(script)}"
    return (
        template_environment()
        .get_template(template)
        .render(
            policy=allowed,
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - a file of this package
            **values,
        )
    )


def _csp_hash(text: str) -> str:
    """Return the hash with which a content security policy permits an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def render_markdown(template: str, **values: Any) -> str:
    """Render a Markdown template, such as `card.md`, with a trailing newline."""
    return template_environment().get_template(template).render(**values) + "\n"


def markdown_table(
    columns: Sequence[str], alignments: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """Render a Markdown table without a trailing newline.

    Args:
        columns: Column headings.
        alignments: Delimiter row, which aligns the columns: `---` left, `--:` right.
        rows: Cells; untrusted text must be formatted as code.
    """
    return _get_macro("card_parts.md", "table")(columns, alignments, list(rows)).rstrip("\n")


def read_template_file(name: str) -> str:
    """Return the text of a file in the template folder, such as `report.css`."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
