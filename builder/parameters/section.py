"""What all sections of a definition are, and numbers that many of them have."""

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A frozen section of a definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    describes_input: ClassVar[frozenset[str]] = frozenset()
    """Keys that say how raw files are written, and do not decide which records are kept."""
    overridable: ClassVar[frozenset[str]] = frozenset()
    """Keys that may differ between snapshots."""

    def overridden(self, by: Self) -> Self:
        """This section with the keys that another one sets explicitly, sections in it alike."""
        update = {}
        for name in by.model_fields_set:
            mine, new = getattr(self, name), getattr(by, name)
            update[name] = mine.overridden(new) if isinstance(mine, Section) else new
        return self.model_copy(update=update)
