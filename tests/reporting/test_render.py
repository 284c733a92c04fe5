"""Documents and cards: what is escaped, and what a content security policy allows."""

import base64
import hashlib
import re

import pytest
from jinja2 import UndefinedError

from builder.reporting.render import (
    join_markup,
    markdown_table,
    render_html_document,
    render_markdown,
    render_page,
)


def test_text_is_escaped_in_html_and_not_in_markdown() -> None:
    assert join_markup("<b>", None, [1, "&"]) == "&lt;b&gt;1&amp;"
    assert markdown_table(("a", "b"), ("---", "--:"), [("`<b>`", "1")]) == (
        "| a | b |\n|---|--:|\n| `<b>` | 1 |"
    )
    assert markdown_table(("a",), ("---",), []) == "| a |\n|---|"


def test_a_missing_variable_is_an_error() -> None:
    with pytest.raises(UndefinedError, match=r"^'name' is undefined$"):
        render_markdown("card.md", title="", languages=(), licence_name="", configs=())


def source_hashes(document: str, element: str) -> list[str]:
    """Sources of the inline elements of a document, as a policy names them."""
    texts = re.findall(rf"<{element}>(.*?)</{element}>", document, re.DOTALL)
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def policy(document: str) -> str:
    (found,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', document)
    return str(found).replace("&#39;", "'")


def test_a_page_allows_its_own_script_alone() -> None:
    document = render_page("<t>", "h", "s", [("a", "A")], "<p>", "f")
    (script,) = source_hashes(document, "script")
    assert policy(document) == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {script}"
    )
    assert "<title>&lt;t&gt;</title>" in document
    assert "<main>\n&lt;p&gt;\n</main>" in document
    assert '<a href="#a">A</a>' in document


def test_a_judging_page_allows_its_own_style_and_script_alone() -> None:
    document = render_html_document(
        "judge.html", "judge", "default-src 'none'; style-src {style}", title="t", pool="<"
    )
    (script,), (style,) = (source_hashes(document, name) for name in ("script", "style"))
    assert policy(document) == f"default-src 'none'; style-src {style}; script-src {script}"
    assert '<script type="application/json" id="pool">&lt;</script>' in document
