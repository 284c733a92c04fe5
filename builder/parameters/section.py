"""Base class of the sections of a workflow definition, and number types of their fields."""

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
    """Keys that may be overridden for a single snapshot."""

    def with_overrides(self, overrides: Self) -> Self:
        """Return a copy in which the values set explicitly in `overrides` replace the old ones."""
        update = {}
        for name in overrides.model_fields_set:
            old, new = getattr(self, name), getattr(overrides, name)
            update[name] = old.with_overrides(new) if isinstance(old, Section) else new
        return self.model_copy(update=update)
