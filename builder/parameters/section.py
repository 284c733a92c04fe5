"""Base class of the sections of a workflow definition, and number types shared by them."""

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
"""Strict, because pydantic would read `true` as 1: `min_users = true` would publish all queries."""


class Section(BaseModel):
    """Immutable base class of the sections of a workflow definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys that describe the format of raw files and do not affect which records are kept."""
    overridable: ClassVar[frozenset[str]] = frozenset()
    """Keys that may be overridden for a single snapshot."""

    def override(self, other: Self) -> Self:
        """Return a copy in which values set explicitly in `other` replace those of this section."""
        update = {}
        for name in other.model_fields_set:
            old, new = getattr(self, name), getattr(other, name)
            update[name] = old.override(new) if isinstance(old, Section) else new
        return self.model_copy(update=update)
