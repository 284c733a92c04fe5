"""HTML and SVG by construction: every text and attribute is escaped, once, here.

`Markup` is text that is markup already; anything else that is put into an element is data and is
escaped. Nothing else in the report builds markup from strings.
"""

import html
from collections.abc import Iterable
from typing import TypeAlias

VOID = frozenset(("br", "col", "hr", "meta"))


class Markup(str):
    """Text that is markup."""

    __slots__ = ()


Content: TypeAlias = "str | int | Iterable[Content] | None"
"""What an element may hold: markup, text, numbers, nothing, or any of these in sequence."""


def element(tag: str, *content: Content, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        tag: Its name.
        content: Markup is kept; text and numbers are escaped; None is nothing.
        attributes: A trailing underscore is dropped, others become dashes (`class_`,
            `aria_label`). None leaves an attribute out, an empty string is an attribute without
            a value.
    """
    parts = [tag]
    for name, value in attributes.items():
        if value is not None:
            key = name.rstrip("_").replace("_", "-")
            parts.append(key if value == "" else f'{key}="{html.escape(str(value))}"')
    opened = f"<{' '.join(parts)}>"
    return Markup(opened if tag in VOID else f"{opened}{join(*content)}</{tag}>")


def join(*content: Content) -> Markup:
    """Content one after another."""
    return Markup("".join(_flat(content)))


def _flat(content: Iterable[Content]) -> Iterable[str]:
    for item in content:
        if isinstance(item, Markup):
            yield item
        elif isinstance(item, str):
            yield html.escape(item)
        elif isinstance(item, int):
            yield str(item)
        elif item is not None:
            yield from _flat(item)
