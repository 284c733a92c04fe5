"""Base class for a section of a workflow definition, and numeric types for its fields."""

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
"""Positive integer; strict, because Pydantic would otherwise read `min_users = true` as 1."""


class Section(BaseModel):
    """Immutable base class of the sections of a workflow definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys that describe the format of raw files and do not affect which records are kept."""
    overridable: ClassVar[frozenset[str]] = frozenset()
    """Keys of the section whose values may be overridden for a single snapshot."""

    def with_overrides(self, overrides: Self) -> Self:
        """Return a copy of the section, updated with the values set explicitly in `overrides`."""
        update = {}
        for name in overrides.model_fields_set:
            old, new = getattr(self, name), getattr(overrides, name)
            update[name] = old.with_overrides(new) if isinstance(old, Section) else new
        return self.model_copy(update=update)
