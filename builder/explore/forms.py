"""Forms of filters: their values are in the address, so that every view can be shared."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from builder.explore.asked import Asked
from builder.explore.render import macro

ALL = ("", "all")
"""The option that filters nothing."""


@dataclass(frozen=True)
class Field:
    """A field of a form.

    Args:
        name: The parameter of the address.
        label: Its label.
        value: What it is set to.
        options: Values with their texts, of which one is chosen; None for a text that is typed.
    """

    name: str
    label: str
    value: str
    options: tuple[tuple[str, str], ...] | None = None


def search(name: str, label: str, value: str) -> Field:
    """A text that is typed."""
    return Field(name, label, value)


def select(name: str, label: str, value: str, options: Iterable[tuple[str, str] | str]) -> Field:
    """A choice of options; a text is its own label."""
    pairs = ((one, one) if isinstance(one, str) else one for one in options)
    return Field(name, label, value, tuple(pairs))


def form(asked: Asked, *fields: Field, at: str = "") -> Markup:
    """A form that asks for the same page.

    Args:
        asked: The address as it is now.
        fields: Its fields.
        at: Identifier of the section to return to; other parameters are kept then.
    """
    names = {field.name for field in fields}
    kept = {n: v for n, v in asked.given.items() if at and n not in names}
    target = f"{asked.path}#{at}" if at else asked.path
    return macro("filters", target, fields, kept, bool(asked.given) and not at)
